"""What measures paper."""

from mill.machine import Nothing
from streamlets import AvroInlet, AvroOutlet, SparkStreamlet


class Laboratory(SparkStreamlet):
    """Grams and moisture of every roll."""

    rolls = AvroInlet(schema="../schemas/Roll.avsc")
    measured = AvroOutlet(schema="../schemas/Measured.avsc")
    Logic = Nothing


class Again(SparkStreamlet):
    """Rolls of doubtful moisture go back."""

    measured = AvroInlet(schema="../schemas/Measured.avsc")
    rolls = AvroOutlet(schema="../schemas/Roll.avsc")
    Logic = Nothing
