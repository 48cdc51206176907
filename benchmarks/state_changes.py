"""Compares the findings of `--plans --against` about changes of stateful queries with what Spark does:
`python -m benchmarks.state_changes`.

Each query is run first. Each change is classed by the comparison, and then the changed query is run on a copy of the
checkpoint. Spark must not refuse a change that is classed as safe, and a query that is the same or compatible must not
be classed as a loss of state.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from blueprint.comparison import ChangeClass, worst
from blueprint.comparison.findings import Against
from blueprint.verification.verify import verify
from streamlets import AvroInlet, SparkStreamlet, SparkStreamletLogic
from streamlets.api.context import SparkStreamletContext, StreamingWrite
from streamlets.plans import LogicChecker
from streamlets.plans.empty_ports import EmptyPorts
from streamlets.plans.places import Places
from streamlets.plans.watch import Watch
from streamlets.project.catalog import ProjectCatalog
from streamlets.project.modules import project_at
from streamlets.runner.checkpoints.state_columns import write_windows
from streamlets.runner.deployment import deployed, store_descriptor
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.spark.failure import failure_of
from streamlets.spark.session import active, child_session
from streamlets.testkit.session import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from blueprint.verification.verify import Verification

EVENT = "id long not null, at timestamp not null, key string not null, kind string not null, value double not null"
_APP = "changes"

Build = Callable[["DataFrame", "DataFrame"], "DataFrame"]
Kind = Literal["same", "compatible", "other state"]


@dataclass(frozen=True)
class Version:
    """A query.

    Arguments:
        build: returns the result from events and from other events.
        mode: the output mode.
        name: the name of the query.
    """

    build: Build
    mode: str = "append"
    name: str = "q"


@dataclass(frozen=True)
class Case:
    """A change of a query.

    Arguments:
        what: a description of the change.
        old: the name of the query.
        new: the changed query.
        kind: whether the changed query can use the old state.
    """

    what: str
    old: str
    new: Version
    kind: Kind


@dataclass(frozen=True)
class Outcome:
    """The result of a change.

    Arguments:
        case: the change.
        change_class: the worst class that the comparison reports; empty for no change.
        refused: why Spark refuses it; empty if it does not.
    """

    case: Case
    change_class: str
    refused: str

    @property
    def wrong(self) -> str:
        """Return the error of the comparison; empty if it is correct."""
        if self.refused and self.change_class in ("", ChangeClass.SAFE.value):
            return "classed as safe, but Spark refuses it"
        if self.case.kind != "other state" and self.change_class == ChangeClass.STATE_LOSS.value:
            return "classed as a loss, but its state can be used"
        return ""


def _late(rows: DataFrame, delay: str = "10 seconds") -> DataFrame:
    return rows.withWatermark("at", delay)


def _counts(length: str = "10 seconds", slide: str | None = None, delay: str = "10 seconds", key: str = "key") -> Build:
    from pyspark.sql import functions as F

    return lambda rows, _: _late(rows, delay).groupBy(F.window("at", length, slide), key).agg(F.count("*").alias("n"))


def _by(*keys: str, **columns: str) -> Build:
    """Return a query with aggregates by name: `mean="avg(value)"`."""
    from pyspark.sql import functions as F

    return lambda rows, _: rows.groupBy(*keys).agg(*(F.expr(text).alias(name) for name, text in columns.items()))


def _sessions(gap: str) -> Build:
    from pyspark.sql import functions as F

    return lambda rows, _: _late(rows).groupBy(F.session_window("at", gap), "key").agg(F.count("*").alias("n"))


def _joined(columns: str = "value", span: str = "1 minute", how: str = "inner") -> Build:
    from pyspark.sql import functions as F

    def build(rows: DataFrame, others: DataFrame) -> DataFrame:
        near = F.expr(f"a.key = b.key AND b.at BETWEEN a.at AND a.at + INTERVAL {span}")
        return _late(rows).alias("a").join(_late(others).alias("b"), near, how).select("a.id", f"b.{columns}")

    return build


def _deduplicate_and_count(rows: DataFrame, _: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return _late(rows).dropDuplicates(["id", "at"]).groupBy(F.window("at", "10 seconds")).count()


def _count_and_deduplicate(rows: DataFrame, _: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return _late(rows).groupBy(F.window("at", "10 seconds")).count().dropDuplicates(["window"])


def queries() -> dict[str, Version]:
    """Return the queries that are changed, by name."""
    return {
        "counts": Version(_counts()),
        "mean": Version(_by("key", mean="avg(value)"), "update"),
        "most": Version(_by("key", most="max(value)"), "update"),
        "once": Version(lambda rows, _: rows.dropDuplicates(["id"])),
        "within": Version(lambda rows, _: _late(rows).dropDuplicatesWithinWatermark(["id"])),
        "sessions": Version(_sessions("10 seconds")),
        "joined": Version(_joined()),
        "two": Version(_deduplicate_and_count),
        "first": Version(lambda rows, _: rows.limit(100)),
    }


def cases() -> list[Case]:
    """Return the changes, those of keys first."""
    old = queries()
    changes = [Case("nothing", name, version, "same") for name, version in old.items()]

    def case(what: str, name: str, kind: Kind, build: Build, mode: str = "", query: str = "q") -> None:
        changes.append(Case(what, name, Version(build, mode or old[name].mode, query), kind))

    mean = "avg(value)"
    case("key of another type", "mean", "other state", _by("id", mean=mean))
    case("another key of the same type", "mean", "other state", _by("kind", mean=mean))
    case("a key more", "mean", "other state", _by("key", "kind", mean=mean))
    case(
        "key renamed before", "mean", "compatible",
        lambda rows, others: _by("k", mean=mean)(rows.withColumnRenamed("key", "k"), others),
    )  # fmt: skip
    case("a key less", "counts", "other state", lambda rows, _: _count_only(rows))
    case("another aggregate", "mean", "other state", _by("key", mean="max(value)"))
    case("an aggregate more", "mean", "other state", _by("key", mean=mean, n="count(*)"))
    case("minimum for maximum", "most", "other state", _by("key", most="min(value)"))
    case("result renamed", "mean", "compatible", _by("key", average=mean))
    case("a filter before", "mean", "compatible", lambda r, o: old["mean"].build(r.where("value >= 0"), o))
    case(
        "a column after",
        "mean",
        "compatible",
        lambda r, o: old["mean"].build(r, o).selectExpr("*", "mean * 2 AS twice"),
    )
    case("update to complete", "mean", "compatible", old["mean"].build, "complete")
    case("append to update", "counts", "compatible", old["counts"].build, "update")
    case("window length", "counts", "other state", _counts("1 minute"))
    case("sliding window", "counts", "other state", _counts("10 seconds", "5 seconds"))
    case("watermark", "counts", "compatible", _counts(delay="20 seconds"))
    case("session gap", "sessions", "other state", _sessions("20 seconds"))
    case("deduplicate by more", "once", "other state", lambda rows, _: rows.dropDuplicates(["id", "key"]))
    case(
        "deduplicate within watermark", "once", "other state",
        lambda rows, _: _late(rows).dropDuplicatesWithinWatermark(["id"]),
    )  # fmt: skip
    case(
        "watermark of a deduplication", "within", "compatible",
        lambda rows, _: _late(rows, "1 minute").dropDuplicatesWithinWatermark(["id"]),
    )  # fmt: skip
    case("time range of a join", "joined", "compatible", _joined(span="2 minutes"))
    case("another column out of a join", "joined", "other state", _joined("kind"))
    case("inner to outer join", "joined", "compatible", _joined(how="leftOuter"))
    case("operators in another order", "two", "other state", _count_and_deduplicate)
    case("an operator less", "two", "other state", lambda rows, _: _count_only(rows))
    case("another limit", "first", "compatible", lambda rows, _: rows.limit(200))
    case("query renamed", "counts", "other state", old["counts"].build, query="r")
    return changes


def _count_only(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return _late(rows).groupBy(F.window("at", "10 seconds")).count()


def outcomes(spark: SparkSession, directory: Path, selected: Iterable[Case]) -> Iterator[Outcome]:
    """Compare and run each change; yield the results."""
    applications: dict[str, Application] = {}
    for number, case in enumerate(selected):
        if case.old not in applications:
            applications[case.old] = Application(spark, directory / case.old, queries()[case.old])
        yield Outcome(case, *applications[case.old].change(case.new, str(number)))


class Application:
    """An application whose only query has run; further records are in files for versions that continue."""

    def __init__(self, spark: SparkSession, directory: Path, version: Version) -> None:
        self._spark = spark
        self._directory = directory
        verification = self._verified(version, "old")
        assert verification.plan is not None, verification.diagnostics
        self._plan = verification.plan
        state = StateDirectory(directory / "old", _APP)
        for batch in (0, 1):
            self._feed(batch)
            refused = self._run(version, state)
            assert not refused, refused
        self._feed(2)
        store_descriptor(state, self._plan)
        write_windows(
            state.checkpoints / "s" / version.name, verification.queries["s"][version.name].described.windows or ()
        )

    def change(self, version: Version, name: str) -> tuple[str, str]:
        """Compare another version, and run it on a copy of the state.

        Arguments:
            version: the other version.
            name: the name of the copy.

        Returns:
            The worst class of the changes, empty for none, and why Spark refuses the version, empty if it does not.
        """
        shutil.copytree(self._directory / "old", self._directory / name)
        state = StateDirectory(self._directory / name, _APP)
        older = deployed(state)
        assert older is not None
        changes = self._verified(version, name, Against(older, "old", ChangeClass.BREAKING)).changes
        return worst(changes).value if changes else "", self._run(version, state)

    def _verified(self, version: Version, name: str, against: Against | None = None) -> Verification:
        logic = LogicChecker(self._spark, self._directory / f"logic-{name}")
        return verify(
            _blueprint(self._directory, version), catalog=ProjectCatalog(), logic=logic, against=against,
            environment=os.environ, working_directory=Path.cwd(),
        )  # fmt: skip

    def _feed(self, batch: int) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        for inlet in ("events", "others"):
            file = self._directory / "ports" / "inlets" / inlet / f"{batch}.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.Table.from_pylist(_events(batch)), file)

    def _run(self, version: Version, state: StateDirectory) -> str:
        """Run a version until it has processed all records; return why Spark refuses it, empty if it does not."""
        from pyspark.errors import StreamingQueryException

        session = child_session(self._spark, SETTINGS)
        (plan,) = self._plan.streamlets
        with active(session):
            places = Places(project_at(self._plan.directory))
            ports = EmptyPorts(plan, session, self._directory / "ports", Watch(places), places)
            context = SparkStreamletContext(
                session=session, streamlet_ref="s", config={}, volume_mounts={}, ports=ports, directory=self._directory
            )
            (write,) = _class(version)().create_logic(context).build()
            assert isinstance(write, StreamingWrite)
            writer = write.writer.option("checkpointLocation", str(state.checkpoints / "s" / version.name))
            query = writer.trigger(availableNow=True).start()
            try:
                query.awaitTermination()
            except StreamingQueryException as error:
                return failure_of(error, building=False).cause
        return ""


def _blueprint(directory: Path, version: Version) -> Path:
    """Write the blueprint of a version, and create its class."""
    globals()["Changing"] = _class(version)
    text = f"""
blueprint {{
  streamlets {{ s = benchmarks.state_changes.Changing }}
  topics {{
    events {{ consumers = [s.events], managed = no }}
    others {{ consumers = [s.others], managed = no }}
  }}
}}
flow.application = {_APP}
"""
    path = directory / "blueprint.conf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _class(version: Version) -> type[SparkStreamlet]:
    class Logic(SparkStreamletLogic[Any]):
        def build_streaming_queries(self) -> Any:
            rows, others = self.read_stream(self.streamlet.events), self.read_stream(self.streamlet.others)
            frame = version.build(rows, others)
            return self.query(version.name, frame.writeStream.format("noop").outputMode(version.mode))

    inlets = {"events": AvroInlet(schema=EVENT), "others": AvroInlet(schema=EVENT)}
    return type("Changing", (SparkStreamlet,), {**inlets, "Logic": Logic, "__module__": "benchmarks.state_changes"})


def _events(batch: int) -> list[dict[str, Any]]:
    return [
        {"id": i, "at": datetime(2024, 1, 1, 0, batch, i % 60, tzinfo=UTC), "key": "ab"[i % 2], "kind": "xy"[i % 3 % 2],
         "value": float(i)}
        for i in range(batch * 20, batch * 20 + 20)
    ]  # fmt: skip


def main() -> None:
    """Print a row for each change; the exit code is 1 if the comparison was wrong."""
    from benchmarks import state_changes  # Under its own name, by which Python finds the class.
    from streamlets.testkit import start_session

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="changes of this query")
    only = parser.parse_args().only
    directory = Path(tempfile.mkdtemp(prefix="state-changes-"))
    spark = start_session()
    wrong = 0
    count = 0
    try:
        selected = [case for case in state_changes.cases() if only in (None, case.old)]
        for outcome in state_changes.outcomes(spark, directory, selected):
            case = outcome.case
            count, wrong = count + 1, wrong + bool(outcome.wrong)
            print(f"| {case.old} | {case.what} | {case.kind} | {outcome.change_class or 'no change'} | "
                  f"{outcome.refused or 'runs'} | {outcome.wrong} |", flush=True)  # fmt: skip
    finally:
        spark.stop()
        shutil.rmtree(directory, ignore_errors=True)
    print(f"{count} changes, {wrong} classed wrongly")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
