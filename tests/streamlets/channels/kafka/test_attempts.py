"""Attempts of a batch: what an earlier one has computed, or left to an abandoned task, is not mixed with a later one's.

The driver regards an executor as lost that does not answer. It may go on minutes later, in the middle of a commit, and
the rows that were kept on it are computed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from streamlets import shared_rows
from streamlets.channels.base import TopicResource
from streamlets.channels.kafka import batch as batch_module
from streamlets.channels.kafka import exactly_once, staging, transactions
from streamlets.override import override
from streamlets.testkit.channels import QueryBench
from streamlets.testkit.channels.queries import COLOURED
from tests.streamlets.channels.benches import kafka_bench
from tests.streamlets.channels.topics import add, contract, ids_of, inlet, outlet

pytestmark = [pytest.mark.spark, pytest.mark.slow]

GUARANTEES = pytest.mark.parametrize("options", [{"guarantee": "exactly-once"}, {"staged": True}], ids=str)
MARKED = contract(("id", "long"), ("chance", "double"), name="Marked")


@pytest.fixture
def bench(own_session: SparkSession, request: pytest.FixtureRequest, tmp_path: Path) -> QueryBench:
    """Return the Kafka channel with a new session."""
    return QueryBench(kafka_bench(request, tmp_path), own_session)


def ids(bench: QueryBench, *topics: str) -> list[int]:
    """Return the ids of the records of topics, sorted."""
    return sorted(id for topic in topics for id in ids_of(bench.topic(topic).scan()))


def do_at(point: str, action: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do something the first time that a batch reaches a crash point in the driver."""
    left = [point]

    def crash_point(name: str, *, run: bool = False) -> None:
        if name in left:
            left.remove(name)
            action()

    for module in (batch_module, exactly_once, staging, transactions):
        monkeypatch.setattr(module, "crash_point", crash_point)


def fail() -> None:
    """Fail the attempt."""
    raise RuntimeError("interrupted")


@GUARANTEES
def test_a_task_of_an_earlier_attempt_that_commits_late_adds_nothing(
    bench: QueryBench, options: dict[str, object], tmp_path: Path
) -> None:
    """It commits its files in the directory of its attempt while the batch is repeated."""
    stored, notes = tmp_path / "topics" / "_kafka" / "staged", tmp_path / "notes"
    notes.mkdir()

    def attempt(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        places = notes / "places"
        if (notes / "second").exists():
            if not places.exists():
                places.write_text("\n".join(str(path.parent.parent) for path in stored.rglob("_temporary/0")))
                raise RuntimeError("interrupted")
            for directory in map(Path, places.read_text().splitlines()):
                for place in (
                    directory / "part-late",
                    directory / "_temporary" / "0" / "task_1_m_000007" / "part-late",
                ):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.with_suffix(".parquet").write_bytes((notes / "content").read_bytes())
        yield from batches

    def write() -> None:
        rows = bench.read(inlet("in")).selectExpr("id", "rand() AS chance").coalesce(1)
        bench.run(
            bench.write(rows.mapInArrow(attempt, "id long, chance double"), outlet("out", MARKED, options=options))
        )

    add(bench.topic("in"), 0, range(3))
    write()
    (file,) = stored.rglob("part-*.parquet")
    (notes / "content").write_bytes(file.read_bytes())
    (notes / "second").touch()
    add(bench.topic("in"), 1, range(3, 6))
    with pytest.raises(Exception, match="interrupted"):
        write()
    assert (notes / "places").read_text()
    write()
    assert ids(bench, "out") == list(range(6))


@GUARANTEES
@pytest.mark.parametrize(
    "point", ["after-staging", "after-shared-out", pytest.param("after-topic-commit", marks=pytest.mark.full)]
)
def test_the_outlets_of_a_query_share_the_rows_of_one_attempt(
    bench: QueryBench, options: dict[str, object], point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row is in one of two outlets by chance: after an interruption none is missing, and only what is staged is
    doubled."""
    add(bench.topic("in"), 0, range(200))

    def write() -> None:
        rows = bench.read(inlet("in")).selectExpr("id", "rand() AS chance")
        few = (outlet("few", MARKED, name="few", options=options), lambda frame: frame.where("chance < 0.5"))
        many = (outlet("many", MARKED, name="many", options=options), lambda frame: frame.where("chance >= 0.5"))
        bench.run(bench.write(rows, few, many))

    do_at(point, fail, monkeypatch)
    with pytest.raises(Exception, match="interrupted"):
        write()
    write()
    few, many = ids(bench, "few"), ids(bench, "many")
    assert sorted({*few, *many}) == list(range(200))
    assert not {*few} & {*many}
    if "guarantee" in options:
        assert len(few) + len(many) == 200


@pytest.mark.parametrize("options", [{}, {"staged": True}, {"guarantee": "exactly-once"}], ids=str)
def test_an_outlet_may_get_two_parts_of_the_rows(
    bench: QueryBench, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that gets the records of two others which leave a cycle. The parts may have other columns."""
    add(bench.topic("in"), 0, range(200))

    def write() -> None:
        rows = bench.read(inlet("in")).selectExpr("id", "rand() AS chance")
        to = outlet("out", MARKED, options=options)
        few = (to, lambda frame: frame.where("chance < 0.5"))
        many = (to, lambda frame: frame.where("chance >= 0.5").selectExpr("cast(chance AS float) AS chance", "id"))
        bench.run(bench.write(rows, few, many))

    do_at("after-topic-commit", fail, monkeypatch)
    with pytest.raises(Exception, match="interrupted"):
        write()
    write()
    assert sorted({*ids(bench, "out")}) == list(range(200))
    if "guarantee" in options:
        assert len(ids(bench, "out")) == 200
        assert sum(bench.batches[-1].rows.values()) == 200


@pytest.mark.parametrize("options", [{}, {"guarantee": "exactly-once"}], ids=str)
def test_rows_that_were_lost_with_an_executor_fail_the_batch(
    bench: QueryBench, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would be others if they were computed again, so that a row could be in neither of two outlets."""
    add(bench.topic("in"), 0, range(200))
    monkeypatch.setattr(shared_rows, "on_cluster", lambda session: True)

    def lose() -> None:
        for rows in bench.session.sparkContext._jsc.getPersistentRDDs().values():
            rows.unpersist(True)

    def write() -> None:
        rows = bench.read(inlet("in")).selectExpr("id", "rand() AS chance")
        few = (outlet("few", MARKED, name="few", options=options), lambda frame: frame.where("chance < 0.5"))
        many = (outlet("many", MARKED, name="many", options=options), lambda frame: frame.where("chance >= 0.5"))
        bench.run(bench.write(rows, few, many))

    do_at("after-staging" if options else "after-topic-commit", lose, monkeypatch)
    with pytest.raises(Exception, match="Checkpoint block"):
        write()
    write()
    few, many = ids(bench, "few"), ids(bench, "many")
    assert sorted({*few, *many}) == list(range(200))
    assert not options or len(few) + len(many) == 200


class OtherCluster(QueryBench):
    """Queries whose dead letters are on what the settings call another cluster."""

    @override
    def topic(self, name: str) -> TopicResource:
        options = {"connection-config": {"client.id": "other"}} if name == "dead" else {}
        return self.channels.topic(name, options=options)


@pytest.mark.parametrize(
    "point",
    [
        "after-staging",
        pytest.param("after-shared-out", marks=pytest.mark.full),
        "after-share-commit",
        pytest.param("before-spark-commit", marks=pytest.mark.full),
    ],
)
def test_dead_letters_on_another_cluster_have_the_rows_of_one_attempt(
    request: pytest.FixtureRequest,
    own_session: SparkSession,
    tmp_path: Path,
    point: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A row that breaks the contract by chance is in the topic or in the dead letters, once."""
    bench = OtherCluster(kafka_bench(request, tmp_path), own_session)
    add(bench.topic("in"), 0, range(200))

    def write() -> None:
        rows = bench.read(inlet("in")).selectExpr("id", "IF(rand() < 0.4, 'GREEN', 'RED') AS colour")
        to = outlet("out", COLOURED, on_invalid="dead-letters", options={"guarantee": "exactly-once"})
        bench.run(bench.write(rows, to, dead_letters="dead"))

    do_at(point, fail, monkeypatch)
    with pytest.raises(Exception, match="interrupted"):
        write()
    write()
    letters = bench.topic("dead").summary().records
    assert letters
    assert len(ids(bench, "out")) + letters == 200
    assert {(batch.rows["out"], batch.dead_letters) for batch in bench.batches} == {(200 - letters, letters)}


def test_an_interrupted_batch_of_an_outlet_that_was_renamed_is_refused(
    bench: QueryBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be sent again under the new name. With the earlier name it is completed."""
    add(bench.topic("in"), 0, range(10))

    def write(name: str) -> None:
        rows = bench.read(inlet("in"))
        bench.run(bench.write(rows, outlet("out", name=name, options={"guarantee": "exactly-once"})))

    do_at("before-spark-commit", fail, monkeypatch)
    with pytest.raises(Exception, match="interrupted"):
        write("old")
    with pytest.raises(Exception, match="stored records of `old`, which is not an outlet of the query any more"):
        write("new")
    write("old")
    assert ids(bench, "out") == list(range(10))


def test_a_file_of_messages_that_was_replaced_is_reported(
    bench: QueryBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It has fewer messages than were decided."""
    add(bench.topic("in"), 0, range(10))

    def write() -> None:
        rows = bench.read(inlet("in")).coalesce(1)
        bench.run(bench.write(rows, outlet("out", options={"guarantee": "exactly-once"})))

    do_at("after-shared-out", fail, monkeypatch)
    with pytest.raises(Exception, match="interrupted"):
        write()
    (file,) = (tmp_path / "topics" / "_kafka" / "staged").rglob("part-*.parquet")
    pq.write_table(pq.read_table(file).slice(0, 4), file)
    with pytest.raises(Exception, match="the stored messages of a batch for Kafka are 4, not 10"):
        write()
    assert ids(bench, "out") == []
