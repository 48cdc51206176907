"""What cuts paper, and what keeps the books."""

from dataclasses import dataclass

from mill.machine import Nothing
from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, VolumeMount


@dataclass
class Sheet:
    """A sheet of a roll."""

    site: str
    grams: int
    sheets: int | None = None


@dataclass
class Order:
    """What a customer wants."""

    customer: str
    sheets: int


class Press(SparkStreamlet):
    """Rolls to sheets."""

    measured = AvroInlet(schema="../schemas/Measured.avsc")
    pressed = AvroOutlet(schema=Sheet, partition_by="site")
    spool = VolumeMount(path="/var/spool/mill")
    Logic = Nothing


class Ledger(SparkStreamlet):
    """Sheets and orders."""

    pressed = AvroInlet(schema=Sheet)
    orders = AvroInlet(schema=Order)
    Logic = Nothing


class Rejects(SparkStreamlet):
    """What machines could not tell."""

    letters = AvroInlet(schema="reason string")
    Logic = Nothing
