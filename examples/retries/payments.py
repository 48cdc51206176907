"""Payments, and a service that declines some of them, the first times or always."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from streamlets import (
    AvroInlet,
    AvroOutlet,
    GeneratorSpout,
    IntegerParameter,
    Queries,
    SparkStreamlet,
    SparkStreamletLogic,
    SpoutOutput,
)

PAYMENT = "id long not null, amount double not null, attempt int not null"


def accepted() -> Column:
    """Answer like a payment service: payment n succeeds at attempt n % 7 + 1, so that some need more than five."""
    return F.col("attempt") > F.col("id") % 7


class Payments(GeneratorSpout):
    """Delivers payments, ten in each transaction, and ends."""

    out = AvroOutlet(schema=PAYMENT)
    count = IntegerParameter("The number of payments", default=70)

    def run(self, out: SpoutOutput, resume: Any) -> Iterator[Any]:
        first, last = resume or 0, out.value(self.count)
        for start in range(first, last, 10):
            stop = min(start + 10, last)
            yield out.transaction([{"id": n, "amount": 9.5, "attempt": 1} for n in range(start, stop)], resume=stop)


class Charge(SparkStreamlet):
    """Charges payments with a service: they are charged, or declined."""

    payments = AvroInlet(schema=PAYMENT)
    charged = AvroOutlet(schema=PAYMENT)
    declined = AvroOutlet(schema=PAYMENT)

    class Logic(SparkStreamletLogic["Charge"]):
        def build_streaming_queries(self) -> Queries:
            return self.write_streams(
                self.read_stream(self.streamlet.payments),
                {
                    self.streamlet.charged: lambda payments: payments.where(accepted()),
                    self.streamlet.declined: lambda payments: payments.where(~accepted()),
                },
            )
