"""Reading a backlog in batches with Spark: a watermark drops no row because of the limit of an inlet."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from streamlets.contract.types import arrow_schema
from tests.streamlets.channels.conftest import Bench
from tests.streamlets.channels.topics import append, contract, inlet, outlet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame

pytestmark = pytest.mark.spark

EVENT = contract(("id", "long"), ("at", {"type": "long", "logicalType": "timestamp-micros"}), name="Event")
COUNT = contract(("start", {"type": "long", "logicalType": "timestamp-micros"}), ("n", "long"), name="Count")
BEGIN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def events(seconds: Iterable[int]) -> pa.RecordBatch:
    """Return an event for each second, with the second as its id."""
    rows = [{"id": second, "at": BEGIN + dt.timedelta(seconds=second)} for second in seconds]
    return pa.RecordBatch.from_pylist(rows, schema=arrow_schema(EVENT))


def dropped(query: Any) -> int:
    """Return the number of rows that the watermark of a query has dropped."""
    return sum(
        operator["numRowsDroppedByWatermark"]
        for report in query.recentProgress
        for operator in report["stateOperators"]
    )


def per_minute(rows: DataFrame) -> DataFrame:
    """Return the number of events per minute, published at the end of the minute."""
    from pyspark.sql import functions as F

    counts = rows.withWatermark("at", "1 minute").groupBy(F.window("at", "1 minute")).agg(F.count("*").alias("n"))
    return counts.select(F.col("window.start").alias("start"), "n")


def test_a_limit_makes_no_row_late(bench: Bench) -> None:
    """20,000 events in order are deduplicated on two partitions, so that each file of the commit spans the whole time.
    With any limit of the inlet, all events except those of the last two open minutes are counted."""
    bench.session.conf.set("spark.sql.shuffle.partitions", "2")
    append(bench.topic("in"), [events(range(20_000))], EVENT, 0)
    unique = bench.read(inlet("in", EVENT)).dropDuplicates(["id"])
    bench.run(bench.write(unique, outlet("unique", EVENT), query="unique"))
    for limit in (None, 4000):
        counts = per_minute(bench.read(inlet("unique", EVENT, max_records=limit)))
        query = bench.run(bench.write(counts, outlet(f"counts{limit}", COUNT), query=f"counts{limit}"))
        counted = [n for batch in bench.topic(f"counts{limit}").scan() for n in batch.column("n").to_pylist()]
        assert (sum(counted), dropped(query)) == (19_920, 0)


def test_a_small_inlet_does_not_make_a_backlog_late(bench: Bench) -> None:
    """A join of a long backlog, read in batches, with a few records in one batch, finds every match."""
    from pyspark.sql import functions as F

    bench.session.conf.set("spark.sql.shuffle.partitions", "2")
    large, small = bench.topic("large"), bench.topic("small")
    for number in range(6):
        seconds = range(number * 100, number * 100 + 100)
        append(large, [events(seconds[1::2]), events(seconds[::2])], EVENT, number)
    append(small, [events(range(0, 600, 50))], EVENT, 0)
    left = large.read(bench.session, inlet("large", EVENT, max_records=50), name="large")
    right = small.read(bench.session, inlet("small", EVENT), name="small").toDF("other", "then")
    left, right = left.withWatermark("at", "0 seconds"), right.withWatermark("then", "0 seconds")
    matches = left.join(right, F.expr("id = other AND at = then")).select("id", "at")
    query = bench.run(bench.write(matches, outlet("matches", EVENT), query="matches"))
    ids = [id for batch in bench.topic("matches").scan() for id in batch.column("id").to_pylist()]
    assert (sorted(ids), dropped(query)) == (list(range(0, 600, 50)), 0)
