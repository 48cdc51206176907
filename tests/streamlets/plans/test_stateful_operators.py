"""Spark's stateful operators: the plan of a query has the operators that Spark stores in its checkpoint."""

from __future__ import annotations

import itertools
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from blueprint.comparison.stateful_operators import STATEFUL_OPERATORS, stateful_operator
from streamlets.runner.checkpoints.state_rows import Holder, operators, rows_in_state
from streamlets.runner.events.status import UnitId
from streamlets.runner.units.progress import progressed
from streamlets.spark.plan_queries import described
from streamlets.spark.plan_tree import plan_tree

Stream = Callable[[], Any]
UNIT = UnitId("shop", "out")
_SCALA_ONLY = {"flatMapGroupsWithState", "transformWithStateExec", "StatefulStreamlineAggregate"}
"""Operators that no query in Python has: those of the typed API, and one of real-time mode."""


@pytest.fixture(scope="module")
def stream(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Stream:
    """Return a function that returns a stream of twenty rows (at timestamp, k string, v long), one per second, with a
    watermark of a minute. Each stream has its own source name."""
    directory = str(tmp_path_factory.mktemp("rows") / "rows")
    times = "timestamp'2026-01-01 00:00:00' + make_interval(0, 0, 0, 0, 0, 0, id) as at"
    spark.range(20).selectExpr(times, "string(id % 3) as k", "id as v").coalesce(1).write.parquet(directory)
    schema = "at timestamp, k string, v long"
    names = (f"rows_{number}" for number in itertools.count())
    return lambda: spark.readStream.schema(schema).name(next(names)).parquet(directory).withWatermark("at", "1 minute")


def _aggregation(stream: Stream) -> Any:
    from pyspark.sql import functions as F

    return stream().groupBy(F.window("at", "5 minutes"), "k").count()


def _session_windows(stream: Stream) -> Any:
    from pyspark.sql import functions as F

    return stream().groupBy(F.session_window("at", "5 minutes"), "k").count()


def _join(stream: Stream) -> Any:
    from pyspark.sql import functions as F

    both = F.expr("a.k = b.k and a.at between b.at - interval 1 minute and b.at")
    return stream().alias("a").join(stream().alias("b"), both, "left_outer")


def _duplicates(stream: Stream) -> Any:
    return stream().dropDuplicates(["k", "at"]).dropDuplicatesWithinWatermark(["k"])


def _distinct(stream: Stream) -> Any:
    stream().createOrReplaceTempView("distinct_rows")
    return stream().sparkSession.sql("select distinct k, at from distinct_rows")


def _limit(stream: Stream) -> Any:
    return stream().limit(5)


def _pandas_state(stream: Stream) -> Any:
    from pyspark.sql.streaming.state import GroupStateTimeout

    def count(key: Any, batches: Iterator[Any], state: Any) -> Iterator[Any]:
        state.update((sum(len(batch) for batch in batches),))
        return iter(())

    grouped = stream().groupBy("k")
    return grouped.applyInPandasWithState(count, "k string", "n long", "append", GroupStateTimeout.NoTimeout)


def _processor() -> Any:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Count(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.count = handle.getValueState("n", "n long")

        def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Iterator[Any]:
            self.count.update((sum(1 for _ in rows),))
            return iter(())

        def close(self) -> None:
            pass

    return Count()


def _transform(stream: Stream) -> Any:
    return stream().groupBy("k").transformWithState(_processor(), "k string", "append", "none")


def _transform_pandas(stream: Stream) -> Any:
    return stream().groupBy("k").transformWithStateInPandas(_processor(), "k string", "append", "none")


_CASES: list[tuple[Callable[[Stream], Any], str, tuple[str, ...], list[tuple[str, int]]]] = [
    (_aggregation, "append", ("stateStoreSave",), [("aggregation", 3)]),
    (_aggregation, "update", ("stateStoreSave",), []),
    (_session_windows, "append", ("sessionWindowStateStoreSaveExec",), [("session windows", 3)]),
    (_join, "append", ("symmetricHashJoin",), [("join (left side)", 20), ("join (right side)", 20)]),
    (_duplicates, "append", ("dedupe", "dedupeWithinWatermark"), []),
    (_distinct, "append", ("stateStoreSave",), [("aggregation", 20)]),
    (_limit, "append", ("globalLimit",), []),
    (_pandas_state, "append", ("applyInPandasWithState",), []),
    (_transform, "append", ("transformWithStateInPySparkExec",), []),
    (_transform_pandas, "append", ("transformWithStateInPandasExec",), []),
]


@pytest.mark.spark
@pytest.mark.parametrize(("query", "mode", "names", "held"), _CASES, ids=lambda case: getattr(case, "__name__", None))
def test_a_plan_has_the_operators_of_the_checkpoint(
    spark: Any,
    stream: Stream,
    tmp_path: Path,
    query: Any,
    mode: str,
    names: tuple[str, ...],
    held: list[tuple[str, int]],
) -> None:
    """The analyzed plan, the progress report and the checkpoint have the same operators.

    Rows that Spark has not output yet are listed at the end of a bounded run, and counted in the progress report.
    """
    frame = query(stream)
    planned = described(plan_tree(frame), mode, named=True).operators
    running = (
        frame.writeStream.format("noop").outputMode(mode).trigger(availableNow=True)
        .option("checkpointLocation", str(tmp_path / UNIT.streamlet / UNIT.part)).start()
    )  # fmt: skip
    running.awaitTermination(120)
    assert tuple(sorted(planned)) == names
    assert tuple(sorted(name for _, name in operators(tmp_path / UNIT.streamlet / UNIT.part))) == names
    assert {stateful_operator(name) for name in names} <= set(STATEFUL_OPERATORS)

    events = list(rows_in_state(spark, {UNIT: Holder(mode)}, tmp_path, lambda: 0.0))
    assert [(event.operator, event.rows) for event in events] == held
    report = json.loads(running.lastProgress.json)
    assert (progressed(report, UNIT, 0.0, output_mode=mode, rows_out={}).pending_rows > 0) == bool(held)
    if query is _session_windows:
        assert events[0].note == "windows open from 2026-01-01 00:00:00 to 2026-01-01 00:05:19 UTC"


def test_every_operator_of_python_queries_is_run() -> None:
    """Each line of the table is tested with a query."""
    assert {name for _, _, names, _ in _CASES for name in names} == {o.name for o in STATEFUL_OPERATORS} - _SCALA_ONLY


def test_spark_has_no_other_operator() -> None:
    """The table has the names of Spark's own list, which does not contain limits."""
    import pyspark

    (library,) = (Path(pyspark.__file__).parent / "jars").glob("spark-sql_2.13-*.jar")
    with zipfile.ZipFile(library) as classes:
        lists = [name for name in classes.namelist() if name.endswith("/StatefulOperatorsUtils$.class")]
        if not lists:
            pytest.skip("this version of Spark has no list")
        constants = classes.read(lists[0]).decode("latin-1")
    known = {operator.name for operator in STATEFUL_OPERATORS if operator.name in constants}
    assert len(set(re.findall(r"[A-Z][A-Z_]+_EXEC_OP_NAME", constants))) == len(known)
    if tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 3):  # older versions have fewer
        assert known == {operator.name for operator in STATEFUL_OPERATORS} - {"globalLimit"}
