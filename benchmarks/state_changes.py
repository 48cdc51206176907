"""Compares the findings of `--plans --against` about changes of stateful queries with what Spark does:
`python -m benchmarks.state_changes`.

Each query is run first. Each change is classed by the comparison. Then the changed query is run on a copy of the
checkpoint with more records, and from scratch on all records. A change that gives other results, or that Spark refuses,
must not be classed as safe; one that gives the same results should not be classed as a loss of state.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.state_change_cases import cases
from benchmarks.state_versions import Case, Version
from blueprint.comparison import ChangeClass, worst
from blueprint.comparison.findings import Against
from blueprint.verification.verify import verify
from streamlets import AvroInlet, IntegerParameter, SparkStreamlet, SparkStreamletLogic
from streamlets.api.context import SparkStreamletContext, StreamingWrite
from streamlets.plans import LogicChecker
from streamlets.plans.empty_ports import EmptyPorts
from streamlets.plans.places import Places
from streamlets.plans.watch import Watch
from streamlets.project.catalog import ProjectCatalog
from streamlets.project.modules import project_at
from streamlets.runner.checkpoints.state_columns import record_logic, write_windows
from streamlets.runner.deployment import deployed, store_descriptor
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.spark.failure import failure_of
from streamlets.spark.session import active, child_session
from streamlets.testkit.session import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from blueprint.plan import StreamletPlan
    from blueprint.verification.verify import Verification

EVENT = (
    "id long not null, at timestamp not null, seen timestamp not null, key string not null, kind string, "
    "value double not null"
)
_APP = "changes"
_QUERY = "q"
_BATCHES = 3  # the last one is for the version that continues

Rows = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Outcome:
    """The result of a change.

    Arguments:
        case: the change.
        change_class: the worst class that the comparison reports; empty for no change.
        refused: why Spark refuses it; empty if it does not.
        same: whether it gives the results that it gives from scratch on all records.
    """

    case: Case
    change_class: str
    refused: str
    same: bool

    @property
    def passed_over(self) -> bool:
        """Whether the comparison does not report that the results differ."""
        return not self.same and self.change_class in ("", ChangeClass.SAFE.value)

    @property
    def needless(self) -> bool:
        """Whether the comparison reports a loss of state that can be used."""
        return self.same and self.change_class == ChangeClass.STATE_LOSS.value


def outcomes(spark: SparkSession, directory: Path, selected: Iterable[Case]) -> Iterator[Outcome]:
    """Compare and run each change; yield the results."""
    applications: dict[str, Application] = {}
    for number, case in enumerate(selected):
        try:
            if case.family not in applications:
                applications[case.family] = Application(spark, directory / case.family.replace(" ", "-"), case.old)
            outcome = applications[case.family].change(case, f"v{number}")
        except AssertionError as error:  # a case that cannot be run proves nothing
            outcome = Outcome(case, "", f"cannot be run: {error}", same=False)
        yield outcome


class Application:
    """An application whose only query has run; the last records are in a file for versions that continue."""

    def __init__(self, spark: SparkSession, directory: Path, version: Version) -> None:
        self._spark = spark
        self._directory = directory
        verification = self._verified(version, "old")
        assert verification.plan is not None, verification.diagnostics
        self._plan = verification.plan
        state = StateDirectory(directory / "old", _APP)
        for batch in range(_BATCHES - 1):
            self._feed(batch)
        self._before, refused = self._run(version, state)
        assert not refused, refused
        self._feed(_BATCHES - 1)
        store_descriptor(state, self._plan)
        described = verification.queries["s"][_QUERY].described
        assert described.logic is not None
        write_windows(state.checkpoints / "s" / _QUERY, described.windows or ())
        record_logic(state.checkpoints / "s" / _QUERY, described.logic)

    def change(self, case: Case, name: str) -> Outcome:
        """Compare another version, run it on a copy of the state, and run it from scratch.

        Arguments:
            case: the change.
            name: the name of the copy.
        """
        shutil.copytree(self._directory / "old", self._directory / name)
        state = StateDirectory(self._directory / name, _APP)
        older = deployed(state)
        assert older is not None
        changes = self._verified(case.new, name, Against(older, "old", ChangeClass.BREAKING)).changes
        after, refused = self._run(case.new, state)
        scratch, wrong = self._run(case.new, StateDirectory(self._directory / f"{name}-scratch", _APP))
        assert not wrong, wrong
        continued = _result((*self._before, *after), case.new)
        shutil.rmtree(self._directory / name)
        same = not refused and continued == _result(scratch, case.new)
        return Outcome(case, worst(changes).value if changes else "", refused, same)

    def _verified(self, version: Version, name: str, against: Against | None = None) -> Verification:
        logic = LogicChecker(self._spark, self._directory / f"logic-{name}")
        verification = verify(
            _blueprint(self._directory, version), catalog=ProjectCatalog(), logic=logic, against=against,
            environment=os.environ, working_directory=Path.cwd(),
        )  # fmt: skip
        assert _QUERY in verification.queries.get("s", ()), verification.diagnostics
        return verification

    def _feed(self, batch: int) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        for inlet in ("events", "others"):
            file = self._directory / "ports" / "inlets" / inlet / f"{batch}.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.Table.from_pylist(_events(batch)), file)
            os.utime(file, (1_700_000_000 + batch, 1_700_000_000 + batch))  # Spark reads them in this order

    def _run(self, version: Version, state: StateDirectory) -> tuple[list[Rows], str]:
        """Run a version until it has processed all records, a file in each batch.

        Returns:
            The rows of each batch, and why Spark refuses the version, empty if it does not.
        """
        from pyspark.errors import StreamingQueryException

        session = child_session(self._spark, SETTINGS | dict(version.settings))
        (plan,) = self._plan.streamlets
        batches: dict[int, Rows] = {}
        with active(session):
            places = Places(project_at(self._plan.directory))
            ports = _Ports(plan, session, self._directory / "ports", Watch(places), places)
            context = SparkStreamletContext(
                session=session, streamlet_ref="s", config={"limit": 0, **version.parameters}, volume_mounts={},
                ports=ports, directory=self._directory,
            )  # fmt: skip
            (write,) = _class(version, batches)().create_logic(context).build()
            assert isinstance(write, StreamingWrite)
            writer = write.writer.option("checkpointLocation", str(state.checkpoints / "s" / _QUERY))
            query = writer.trigger(availableNow=True).start()
            try:
                query.awaitTermination()
            except StreamingQueryException as error:
                return [], failure_of(error, building=False).cause
        return [batches[number] for number in sorted(batches)], ""


class _Ports(EmptyPorts):
    """Ports with files, of which each batch reads one."""

    def __init__(
        self, plan: StreamletPlan, session: SparkSession, directory: Path, watch: Watch, places: Places
    ) -> None:
        super().__init__(plan, session, directory, watch, places)
        self._files = session.readStream.format("parquet").option("maxFilesPerTrigger", 1)
        self._own = plan

    def read(self, inlet: str, *, name: str, metadata: bool) -> DataFrame:
        from streamlets.contract.types import spark_schema

        contract = next(own.contract for own in self._own.inlets if own.name == inlet)
        return self._files.schema(spark_schema(contract)).name(name).load(self.directory_of(inlet))


def _result(batches: Iterable[Rows], version: Version) -> object:
    """Return what a sink has after some batches: all rows, or the last one of each key."""
    if version.mode == "complete":
        return Counter(list(batches)[-1])
    rows = [row for batch in batches for row in batch]
    return {row[: version.keys]: row for row in rows} if version.keys else Counter(rows)


def _value(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value


def _blueprint(directory: Path, version: Version) -> Path:
    """Write the blueprint of a version, and create its class."""
    globals()["Changing"] = _class(version, {})
    settings = "".join(f'flow.streamlets.s.{name} = "{value}"\n' for name, value in version.settings.items())
    settings += "".join(
        f"flow.streamlets.s.parameters.{name} = {value}\n" for name, value in version.parameters.items()
    )
    text = f"""
blueprint {{
  streamlets {{ s = benchmarks.state_changes.Changing }}
  topics {{
    events {{ consumers = [s.events], managed = no }}
    others {{ consumers = [s.others], managed = no }}
  }}
}}
flow.application = {_APP}
{settings}"""
    path = directory / "blueprint.conf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _class(version: Version, batches: dict[int, Rows]) -> type[SparkStreamlet]:
    def keep(batch: DataFrame, number: int) -> None:
        batches[number] = tuple(tuple(map(_value, row)) for row in batch.collect())

    class Logic(SparkStreamletLogic[Any]):
        def build_streaming_queries(self) -> Any:
            rows, others = self.read_stream(self.streamlet.events), self.read_stream(self.streamlet.others)
            parameters = {"limit": self.value(self.streamlet.limit)}
            frame = version.build(rows, others, parameters)
            return self.query(_QUERY, frame.writeStream.foreachBatch(keep).outputMode(version.mode))

    parts = {"events": AvroInlet(schema=EVENT), "others": AvroInlet(schema=EVENT),
             "limit": IntegerParameter("A number", default=0)}  # fmt: skip
    return type("Changing", (SparkStreamlet,), {**parts, "Logic": Logic, "__module__": "benchmarks.state_changes"})


def _events(batch: int) -> list[dict[str, Any]]:
    """Return 20 records of a minute; the last three are late."""
    start = datetime(2024, 1, 1, 0, batch, tzinfo=UTC)
    events = []
    for i in range(batch * 20, batch * 20 + 20):
        late = timedelta(seconds=45 if i % 20 > 16 else 0)
        at = start + timedelta(seconds=i % 60) - late
        events.append({
            "id": i, "at": at, "seen": at + timedelta(seconds=i * 7 % 90), "key": ("a", "A", "b", "Bc", "5")[i % 5],
            "kind": ("x", None, "y", "x")[i % 4], "value": float(i * 13 % 60),
        })  # fmt: skip
    return events


def main() -> None:
    """Print a row for each change; the exit code is 1 if a bar is missed."""
    from benchmarks import state_changes  # Under its own name, by which Python finds the class.
    from streamlets.testkit import start_session

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="a family of changes; repeatable")
    only = parser.parse_args().only
    directory = Path(tempfile.mkdtemp(prefix="state-changes-"))
    spark = start_session()
    results = []
    try:
        for outcome in state_changes.outcomes(spark, directory, cases(only)):
            case = outcome.case
            results.append(outcome)
            verdict = "PASSED OVER" if outcome.passed_over else "needless loss" if outcome.needless else ""
            result = outcome.refused or ("same" if outcome.same else "differs")
            print(f"| {case.family} | {case.what} | {outcome.change_class or 'no change'} | "
                  f"{result} | {verdict} |", flush=True)  # fmt: skip
    finally:
        spark.stop()
        shutil.rmtree(directory, ignore_errors=True)
    changes = [result for result in results if result.case.new is not result.case.old]
    wrong = [result for result in results if result not in changes and (result.change_class or not result.same)]
    passed, needless = (sum(flags) for flags in
                        zip(*((result.passed_over, result.needless) for result in changes), strict=True))  # fmt: skip
    same = sum(result.same for result in changes)
    print(f"{len(changes)} changes: {len(changes) - same} with other results, {passed} of them passed over; "
          f"{same} with the same, {needless} of them called a loss; "
          f"{len(results) - len(changes)} unchanged queries, {len(wrong)} of them called changed")  # fmt: skip
    raise SystemExit(bool(passed or wrong) or needless > same / 10)


if __name__ == "__main__":
    main()
