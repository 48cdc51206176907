"""Versions of streamlets, for the test of what may change on a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from streamlets import AvroInlet, AvroOutlet, DurationParameter, IntegerParameter, SparkStreamlet, SparkStreamletLogic

EVENT = "id long not null, at timestamp not null, key string not null"
SOURCED = "id long not null, source string not null"


def _joined(*names: str) -> type[SparkStreamlet]:
    """Return a streamlet with the union of inlets, in an order."""
    inlets = {name: AvroInlet(schema=EVENT) for name in names}

    class Logic(SparkStreamletLogic[Any]):
        def build_streaming_queries(self) -> Any:
            me = self.streamlet
            parts = [
                self.read_stream(getattr(me, name)).select("id", F.lit(name).alias("source"))
                for name in names
                if name in inlets
            ]
            rows = parts[0]
            for part in parts[1:]:
                rows = rows.union(part)
            return self.write_stream(rows.where(F.col("id") >= self.value(me.least)), me.out)

    least = IntegerParameter("The least id that is let through", default=0)
    body = {**inlets, "out": AvroOutlet(schema=SOURCED), "least": least, "Logic": Logic, "__module__": __name__}
    return type("Joined" + "".join(names).upper(), (SparkStreamlet,), body)


JoinedAB, JoinedBCA, JoinedC = _joined("a", "b"), _joined("b", "c", "a"), _joined("c")


class Copy(SparkStreamlet):
    """Reads the united records."""

    joined = AvroInlet(schema=SOURCED)
    copied = AvroOutlet(schema=SOURCED)

    class Logic(SparkStreamletLogic["Copy"]):
        def build_streaming_queries(self) -> Any:
            return self.write_stream(self.read_stream(self.streamlet.joined), self.streamlet.copied)


_NARROW = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
_WIDE = """{"type": "record", "name": "Order", "fields": [
  {"name": "id", "type": "long"}, {"name": "note", "type": "string", "default": "none"}]}"""


class _Writer(SparkStreamlet):
    events = AvroInlet(schema=EVENT)
    orders = AvroOutlet(schema=_NARROW)

    class Logic(SparkStreamletLogic[Any]):
        def build_streaming_queries(self) -> Any:
            me = self.streamlet
            return self.write_stream(self.read_stream(me.events), me.orders)


class Writer1(_Writer):
    """Writes the narrow schema."""

    orders = AvroOutlet(schema=_NARROW, extra="drop")


class Writer2(_Writer):
    """Writes the wide schema."""

    orders = AvroOutlet(schema=_WIDE, extra="drop")

    class Logic(SparkStreamletLogic[Any]):
        def build_streaming_queries(self) -> Any:
            me = self.streamlet
            return self.write_stream(self.read_stream(me.events).withColumn("note", F.lit("said")), me.orders)


class Reader1(SparkStreamlet):
    """Reads the narrow schema."""

    orders = AvroInlet(schema=_NARROW)
    seen = AvroOutlet(schema=_WIDE)

    class Logic(SparkStreamletLogic[Any]):
        def build_streaming_queries(self) -> Any:
            me = self.streamlet
            return self.write_stream(self.read_stream(me.orders).withColumn("note", F.lit("-")), me.seen)


class Reader2(SparkStreamlet):
    """Reads the wide schema."""

    orders = AvroInlet(schema=_WIDE)
    seen = AvroOutlet(schema=_WIDE)

    class Logic(SparkStreamletLogic[Any]):
        def build_streaming_queries(self) -> Any:
            return self.write_stream(self.read_stream(self.streamlet.orders), self.streamlet.seen)


class Windows(SparkStreamlet):
    """Events of each key in ten seconds."""

    events = AvroInlet(schema=EVENT)
    counts = AvroOutlet(schema="key string, start timestamp, n long")
    late = DurationParameter("How late an event may be", default="10 seconds")

    class Logic(SparkStreamletLogic["Windows"]):
        def build_streaming_queries(self) -> Any:
            me = self.streamlet
            events = self.read_stream(me.events).withWatermark("at", self.value(me.late).sql)
            counted = events.groupBy(F.window("at", "10 seconds"), "key").agg(F.count("*").alias("n"))
            return self.write_stream(counted.select("key", F.col("window.start").alias("start"), "n"), me.counts)


class Once(SparkStreamlet):
    """Each id once."""

    events = AvroInlet(schema=EVENT)
    ids = AvroOutlet(schema="id long")

    columns: tuple[str, ...] = ("id",)

    class Logic(SparkStreamletLogic["Once"]):
        def build_streaming_queries(self) -> Any:
            me = self.streamlet
            return self.write_stream(self.read_stream(me.events).dropDuplicates([*me.columns]).select("id"), me.ids)


class OncePerKey(Once):
    """A version that is incompatible with a checkpoint of `Once`."""

    columns = ("id", "key")


class _Count(StatefulProcessor):
    def init(self, handle: Any) -> None:
        self._n = handle.getValueState("n", "n long")

    def handleInputRows(self, key: Any, rows: Iterable[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N803
        before = self._n.get()[0] if self._n.exists() else 0
        now = before + sum(1 for _ in rows)
        self._n.update((now,))
        yield Row(key=key[0], n=now)

    def close(self) -> None:
        return None


class Totals(SparkStreamlet):
    """Counts the events of each key, in custom state."""

    events = AvroInlet(schema=EVENT)
    totals = AvroOutlet(schema="key string, n long")

    class Logic(SparkStreamletLogic["Totals"]):
        def build_streaming_queries(self) -> Any:
            me = self.streamlet
            counted = (
                self.read_stream(me.events)
                .groupBy("key")
                .transformWithState(_Count(), "key string, n long", "update", "none")
            )
            return self.write_stream(counted, me.totals, output_mode="update")
