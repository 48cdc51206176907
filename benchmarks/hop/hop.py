"""A streamlet that answers each request, for measurements of its latency."""

from __future__ import annotations

from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, SparkStreamletLogic, StreamingWrite


class Hop(SparkStreamlet):
    """Answers with twice the number of a request; negative numbers have no answer."""

    incoming = AvroInlet("in", schema="id bigint not null, number bigint")
    out = AvroOutlet(schema="id bigint not null, twice bigint not null")

    class Logic(SparkStreamletLogic["Hop"]):
        def build_streaming_queries(self) -> StreamingWrite:
            requests = self.read_stream(self.streamlet.incoming).where("number is null or number >= 0")
            return self.write_stream(requests.selectExpr("id", "number * 2 as twice"), self.streamlet.out)
