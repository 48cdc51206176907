"""Records for backfills, and what a plain batch of PySpark computes from them."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HERE = Path(__file__).parent
BEGIN = datetime(2026, 1, 31, tzinfo=UTC)
MINUTES = 240
"""The minutes with a commit to each topic."""

LOGICS = ("doubled", "totals", "pairs", "once")
_LATEST = 200
"""The seconds that an event is late at most; the watermarks allow five minutes."""

_DELAY = "INTERVAL 5 MINUTES"


@dataclass(frozen=True)
class Range:
    """A range in minutes after `BEGIN`."""

    logic: str
    begin: int
    end: int

    @property
    def arguments(self) -> tuple[str, ...]:
        """Return the arguments of `flow backfill`."""
        return (self.logic, "--from", _time(self.begin), "--to", _time(self.end))


def ranges(number: int, rng: random.Random) -> Iterator[Range]:
    """Yield random ranges, with all logics in turn."""
    for index in range(number):
        begin = rng.randrange(0, MINUTES - 20)
        yield Range(LOGICS[index % len(LOGICS)], begin, rng.randrange(begin + 5, MINUTES))


def write_application(directory: Path, rng: random.Random) -> Path:
    """Write the application with its topics to a directory, and the records with their commits to a file beside."""
    from blueprint.plan import TopicPlan
    from cli.application import Application
    from streamlets.channels.delta.channel import DeltaChannel
    from streamlets.contract.types import arrow_schema
    from streamlets.runner.state_directory.directory import StateDirectory

    directory.mkdir(parents=True)
    for name in ("blueprint.conf", "shop.py"):
        shutil.copy(HERE / name, directory)
    plan = Application(directory / "blueprint.conf", (), ()).verify().plan
    assert plan is not None
    state, now = StateDirectory(directory / ".flow", plan.name), BEGIN
    with state.locked():
        pass
    channel = DeltaChannel(state.topics, clock=lambda: now.timestamp())
    appenders = {}
    outlets = {outlet.topic: outlet for outlet in plan.streamlet("source").outlets}
    for name, outlet in outlets.items():
        topic = channel.topic(TopicPlan(name, name, "delta", True, (), (), {}))
        topic.create([outlet.contract])
        appenders[name] = topic.appender(outlet.contract, writer="source/out")
    kept: list[dict[str, Any]] = []
    for minute in range(MINUTES):
        now = BEGIN + timedelta(minutes=minute)
        for name, appender in appenders.items():
            rows = list(_events(rng, now, len(kept), [row for row in kept[-12:] if row["topic"] == name]))
            if rows:
                schema = arrow_schema(outlets[name].contract)
                appender.append(pa.Table.from_pylist(rows, schema=schema).to_batches(), minute)
            kept += [{**row, "topic": name, "minute": minute} for row in rows]
    for appender in appenders.values():
        appender.close()
    pq.write_table(pa.Table.from_pylist(kept), directory / "records.parquet")
    return directory


def _events(rng: random.Random, now: datetime, first: int, earlier: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the events of a commit. Some are repetitions of a recent one, and some minutes have none."""
    for number in range(rng.choice((0, 0, 1, 2, 4))):
        at = now - timedelta(seconds=rng.randrange(_LATEST))
        yield {"id": first + number, "at": at, "key": rng.choice("abc"), "value": rng.randrange(10)}
    recent = [row for row in earlier if (now - row["at"]).total_seconds() < _LATEST]
    if recent and rng.random() < 0.3:
        row = rng.choice(recent)
        yield {name: row[name] for name in ("id", "at", "key", "value")}


def truth(spark: SparkSession, application: Path, own: Range) -> list[tuple[Any, ...]]:
    """Return the sorted results of a range, by a plain batch over all records up to its end."""
    records = spark.read.parquet(str(application / "records.parquet")).where(f"minute < {own.end}")
    events, others = (records.where(f"topic = '{name}'") for name in ("events", "others"))
    return sorted(tuple(row) for row in _TRUTHS[own.logic](events, others, own.begin).collect())


def results(file: Path) -> list[tuple[Any, ...]]:
    """Return the sorted rows of a file."""
    return sorted(tuple(_plain(value) for value in row.values()) for row in pq.read_table(file).to_pylist())


def _plain(value: Any) -> Any:
    """Return a value as Spark's `collect` has it: times without a zone."""
    return value.astimezone().replace(tzinfo=None) if isinstance(value, datetime) else value


def _doubled(events: DataFrame, others: DataFrame, begin: int) -> DataFrame:
    return events.where(f"minute >= {begin} AND value % 3 != 0").selectExpr("id", "at", "key", "value * 2 AS value")


def _totals(events: DataFrame, others: DataFrame, begin: int) -> DataFrame:
    """Return the windows that are over at the end of the range, and were not at its begin."""
    from pyspark.sql import functions as F

    windows = events.groupBy(F.window("at", "10 minutes"), "key").agg(F.sum("value"), F.count("*"))
    marks = [
        rows.selectExpr(f"coalesce(max(at) - {_DELAY}, to_timestamp(0)) AS mark").first()
        for rows in (events.where(f"minute < {begin}"), events)
    ]
    before, after = (F.lit(mark.mark) for mark in marks if mark is not None)
    closed = windows.where((F.col("window.end") > before) & (F.col("window.end") <= after))
    return closed.select("window.start", "key", "sum(value)", "count(1)")


def _pairs(events: DataFrame, others: DataFrame, begin: int) -> DataFrame:
    """Return the pairs of which one is in the range."""
    from pyspark.sql import functions as F

    near = F.expr(f"l.key = r.key AND r.at BETWEEN l.at - {_DELAY} AND l.at + {_DELAY}")
    pairs = events.alias("l").join(others.alias("r"), near).where(f"l.minute >= {begin} OR r.minute >= {begin}")
    return pairs.selectExpr("l.id", "r.id", "l.key")


def _once(events: DataFrame, others: DataFrame, begin: int) -> DataFrame:
    return events.groupBy("id", "key").agg({"minute": "min"}).where(f"`min(minute)` >= {begin}").select("id", "key")


def _time(minute: int) -> str:
    return (BEGIN + timedelta(minutes=minute)).replace(tzinfo=None).isoformat()


_TRUTHS = {"doubled": _doubled, "totals": _totals, "pairs": _pairs, "once": _once}
