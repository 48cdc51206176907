"""Uses of the public API that mypy checks in strict mode, as an author's editor would. They are never run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, assert_type

from streamlets import (
    AvroInlet,
    AvroOutlet,
    BooleanParameter,
    DoubleParameter,
    Duration,
    DurationParameter,
    IntegerParameter,
    MemorySize,
    MemorySizeParameter,
    ObjectParameter,
    Queries,
    RegExpParameter,
    SparkStreamlet,
    SparkStreamletContext,
    SparkStreamletLogic,
    StreamingWrite,
    StreamletExecution,
    StreamletShape,
    StringParameter,
    VolumeMount,
    triggers,
)
from streamlets.testkit import Testkit, preview

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class Average:
    """A schema said as a dataclass."""

    src: str
    value: float | None = None


class MovingAverage(SparkStreamlet):
    """Every kind of declaration."""

    labels = ("weather",)

    readings = AvroInlet(schema="schemas/SensorReading.avsc")
    named = AvroInlet("in", schema={"type": "record", "name": "R", "fields": []})
    averages = AvroOutlet(schema=Average, partition_by="src", on_invalid="dead-letters")
    rest = AvroOutlet("rest", schema="src string, ts timestamp", partition_by=["src", "date(ts)"], extra="drop")
    limit = IntegerParameter("How many", default=5)
    title = StringParameter("What it is called", choices=["a", "b"], optional=True)
    ratio = DoubleParameter("How much", key="the-ratio")
    strict = BooleanParameter("Whether", default=True)
    zone = RegExpParameter("Where", "[A-Z]{3}", default="JFK")
    window = DurationParameter("Length of the window", default="1 minute")
    memory = MemorySizeParameter("Room", default="64 MiB")
    options = ObjectParameter("Whatever", default={"a": 1})
    models = VolumeMount(path="/models", access_mode="ReadOnlyMany")
    shape = StreamletShape.with_inlets(readings, named).with_outlets(averages, rest)

    class Logic(SparkStreamletLogic["MovingAverage"]):
        """Every kind of call."""

        def build_streaming_queries(self) -> Queries:
            """All ways to give queries."""
            me = self.streamlet
            assert_type(me, MovingAverage)
            assert_type(self.value(me.limit), int)
            assert_type(self.value(me.title, None), str | None)
            assert_type(self.value(me.ratio), float)
            assert_type(self.value(me.strict), bool)
            assert_type(self.value(me.zone), str)
            assert_type(self.value(me.window), Duration)
            assert_type(self.value(me.memory), MemorySize)
            assert_type(self.value(me.options), Mapping[str, object])
            assert_type(self.mounted_path(me.models), Path)
            assert_type(self.context, SparkStreamletContext)
            assert_type(self.context.checkpoint_dir("mine"), str)
            rows = self.read_stream(me.readings)
            again = self.read_stream(me.readings, name="again", metadata=True)
            outside = self.source("ticks", format="rate", options={"rowsPerSecond": 1})
            one = self.write_stream(rows, me.averages, output_mode="append", trigger=triggers.available_now())
            assert_type(one, StreamingWrite)
            two = self.write_streams(
                again,
                {me.averages: lambda batch: batch.where("value > 0"), me.rest: lambda batch: batch},
                trigger=triggers.processing_time("5 seconds"),
                name="split",
            )
            three = self.query("console", outside.writeStream.format("console"), triggers.real_time("5 minutes"))
            return [one, two, three]


class Single(SparkStreamlet):
    """A shape that is worked out, and one write."""

    ticks = AvroOutlet(schema="value long")

    @property
    def shape(self) -> StreamletShape:
        """The same as would be derived."""
        return StreamletShape(self.ticks)

    class Logic(SparkStreamletLogic["Single"]):
        """One write."""

        def build_streaming_queries(self) -> StreamingWrite:
            """One."""
            return self.write_stream(self.source("ticks", format="rate").select("value"), self.streamlet.ticks)


def empty() -> StreamletShape:
    """A shape's other builders."""
    return StreamletShape.empty().with_inlets(MovingAverage.readings)


def run(context: SparkStreamletContext) -> StreamletExecution:
    """Cloudflow's way to run."""
    execution = Single().run(context)
    execution.ready.result(10)
    execution.stop().result(60)
    return execution


def under_test(spark: SparkSession) -> DataFrame:
    """The testkit."""
    with Testkit(spark) as kit:
        app = kit.streamlet(MovingAverage, parameters={"window": "1 minute", "limit": 3})
        app.inlet("readings").put([{"src": "a"}])
        assert_type(app.step().rows_in, int)
        found = app.outlet("averages").take()
        found[0]["src"].upper()
    return preview(Single, spark=spark)
