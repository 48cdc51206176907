"""The stateful processor: deduplication of payments that were sent twice."""

from __future__ import annotations

from shop.records import Payment
from streamlets import AvroInlet, AvroOutlet, DurationParameter, Queries, SparkStreamlet, SparkStreamletLogic


class Once(SparkStreamlet):
    """Passes on the first payment of each order, and remembers it for a while."""

    payments = AvroInlet(schema=Payment)
    paid = AvroOutlet(schema=Payment)
    memory = DurationParameter("How long a payment is remembered", default="1 minute")

    class Logic(SparkStreamletLogic["Once"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            payments = self.read_stream(me.payments).withWatermark("paid_at", self.value(me.memory).sql)
            return self.write_stream(payments.dropDuplicatesWithinWatermark(["order"]), me.paid)
