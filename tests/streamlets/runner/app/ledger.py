"""An application whose records are all predictable: n, 2n, and a count and a sum for each ten numbers."""

from __future__ import annotations

from pyspark.sql import functions as F

from streamlets import (
    AvroInlet,
    AvroOutlet,
    IntegerParameter,
    SparkStreamlet,
    SparkStreamletLogic,
    StreamingWrite,
    StringParameter,
)


class Numbers(SparkStreamlet):
    """The numbers in the JSON files of a directory, one file per batch."""

    out = AvroOutlet(schema="n bigint not null")
    directory = StringParameter("Where the files are")

    class Logic(SparkStreamletLogic["Numbers"]):
        def build_streaming_queries(self) -> StreamingWrite | list[StreamingWrite]:
            rows = self.source(
                "files",
                format="json",
                schema="n bigint",
                options={"path": self.value(self.streamlet.directory), "maxFilesPerTrigger": 1},
            )
            return self.write_stream(rows, self.streamlet.out)


class Double(SparkStreamlet):
    """Twice each number, and which ten it belongs to."""

    incoming = AvroInlet("in", schema="n bigint not null")
    out = AvroOutlet(schema="n bigint not null, twice bigint not null, ten bigint not null")
    fail_at = IntegerParameter("A number that breaks it; -1 for none", default=-1)

    class Logic(SparkStreamletLogic["Double"]):
        def build_streaming_queries(self) -> StreamingWrite | list[StreamingWrite]:
            me = self.streamlet
            bad = self.value(me.fail_at)

            def twice(n: int) -> int:
                if n == bad:
                    raise ValueError(f"{n} is a bad number")
                return 2 * n

            double = F.udf(twice, "bigint") if bad >= 0 else lambda n: n * 2
            rows = self.read_stream(me.incoming).select(
                "n", double(F.col("n")).alias("twice"), F.floor(F.col("n") / 10).alias("ten")
            )
            return self.write_stream(rows, me.out)


class Sums(SparkStreamlet):
    """The count of the numbers of each ten and the sum of their doubles, updated with each batch."""

    incoming = AvroInlet("in", schema="twice bigint not null, ten bigint not null")
    out = AvroOutlet(schema="ten bigint not null, count bigint not null, total bigint not null")

    class Logic(SparkStreamletLogic["Sums"]):
        def build_streaming_queries(self) -> StreamingWrite | list[StreamingWrite]:
            me = self.streamlet
            sums = (
                self.read_stream(me.incoming)
                .groupBy("ten")
                .agg(F.count(F.lit(1)).alias("count"), F.sum("twice").alias("total"))
            )
            return self.write_stream(sums, me.out, output_mode="update")
