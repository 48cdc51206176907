"""What queries of Spark do with the topics of a channel."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from blueprint.plan import ReturnCondition
from streamlets.channels.base import METADATA, Position
from streamlets.contract.values import RecordError
from streamlets.runner.units.returning import ReturningRows
from streamlets.spark.real_time import prepare_for_real_time
from streamlets.testkit.channels.bench import QueryBench
from streamlets.testkit.channels.fitting import FittingTests, needs
from streamlets.testkit.channels.records import READING, append, batch, contract, ids_of, inlet, outlet

COLOURED = contract(
    ("id", "long"), ("colour", {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}), name="Coloured"
)


def ids_in(bench: QueryBench, topic: str) -> list[int]:
    """Return the ids of a topic, sorted."""
    return sorted(ids_of(bench.topic(topic).scan()))


def coloured(bench: QueryBench, broken: str) -> Any:
    """Return the records with a colour, which breaks the contract where `broken` is true."""
    from pyspark.sql import functions as F

    return bench.read(inlet("in")).select("id", F.when(F.expr(broken), "GREEN").otherwise("RED").alias("colour"))


class QueryTests(FittingTests):
    """Reading and writing, each batch once, and what the traits say about queries."""

    @pytest.mark.spark
    def test_bounded_runs_continue_where_the_last_one_ended(self, query_bench: QueryBench) -> None:
        """Each run processes all records that it finds, in batches within the limit of the inlet. The progress of a
        query has positions of the topic."""
        topic = query_bench.topic("in")
        for number in range(4):
            append(topic, [batch(range(number * 5, number * 5 + 5))], READING, number)
        source = inlet("in", max_records=10)
        for run in range(2):
            query = query_bench.run(query_bench.write(query_bench.read(source), outlet("out")))
            end = Position(json.dumps(json.loads(query.lastProgress["sources"][0]["endOffset"])))
            assert topic.owns(end)
            assert topic.lag(end).records == 0
            append(topic, [batch(range(20 + run * 5, 25 + run * 5))], READING, 4 + run)
        sizes = [batch.rows["out"] for batch in query_bench.batches]
        assert sum(sizes) == 25
        assert max(sizes) <= 10
        assert [batch.batch for batch in query_bench.batches] == list(range(len(sizes)))
        assert ids_in(query_bench, "out") == list(range(25))

    @pytest.mark.spark
    def test_an_outlet_may_get_two_parts_of_the_rows(self, query_bench: QueryBench) -> None:
        """As one that gets the records of two others which leave a cycle. The parts may have other columns."""
        append(query_bench.topic("in"), [batch(range(20))], READING, 0)
        few = (outlet("out"), lambda frame: frame.where("id < 5"))
        many = (outlet("out"), lambda frame: frame.where("id >= 5").selectExpr("CAST(id AS int) AS id"))
        query_bench.run(query_bench.write(query_bench.read(inlet("in")), few, many))
        assert ids_in(query_bench, "out") == list(range(20))
        assert sum(query_bench.batches[0].rows.values()) == 20

    @pytest.mark.spark
    def test_an_inlet_may_start_at_the_end(self, query_bench: QueryBench) -> None:
        """With `starting` latest, a query with a new checkpoint reads only records that are added later."""
        append(query_bench.topic("in"), [batch(range(3))], READING, 0)
        latest = inlet("in", starting="latest")
        query_bench.run(query_bench.write(query_bench.read(latest), outlet("out")))
        append(query_bench.topic("in"), [batch([77])], READING, 1)
        query_bench.run(query_bench.write(query_bench.read(latest), outlet("out")))
        assert ids_in(query_bench, "out") == [77]

    @pytest.mark.spark
    def test_a_query_reads_the_metadata_of_a_scan(self, query_bench: QueryBench) -> None:
        """Position, sequence and time of a record are the same with and without Spark."""
        topic = query_bench.topic("in")
        append(topic, [batch(range(3))], READING, 0)
        append(topic, [batch(range(3, 5))], READING, 1)
        placed = contract(
            ("id", "long"), ("position", ["null", "string"]), ("sequence", ["null", "long"]), name="Placed"
        )
        rows = query_bench.read(inlet("in"), metadata=True).select("id", f"{METADATA}.position", f"{METADATA}.sequence")
        query_bench.run(query_bench.write(rows, outlet("out", placed)))
        scanned = [row for batch in topic.scan(READING, metadata=True) for row in batch.to_pylist()]
        expected = [(row["id"], row[METADATA]["position"], row[METADATA]["sequence"]) for row in scanned]
        written = [tuple(row.values()) for batch in query_bench.topic("out").scan() for row in batch.to_pylist()]
        assert sorted(written) == expected

    @pytest.mark.spark
    def test_a_query_writes_several_topics(self, query_bench: QueryBench) -> None:
        """Each outlet gets its part of the rows of one execution; a part may have no rows."""
        append(query_bench.topic("in"), [batch(range(10))], READING, 0)
        rows = query_bench.read(inlet("in"))
        query_bench.run(
            query_bench.write(
                rows,
                (outlet("even", name="even"), lambda frame: frame.where("id % 2 = 0")),
                (outlet("odd", name="odd"), lambda frame: frame.where("id % 2 = 1")),
                (outlet("none", name="none"), lambda frame: frame.where("id < 0")),
            )
        )
        assert ids_in(query_bench, "even") == [0, 2, 4, 6, 8]
        assert ids_in(query_bench, "odd") == [1, 3, 5, 7, 9]
        assert ids_in(query_bench, "none") == []
        assert [dict(batch.rows) for batch in query_bench.batches] == [{"even": 5, "odd": 5, "none": 0}]

    @pytest.mark.spark
    def test_broken_rows_become_dead_letters(self, query_bench: QueryBench) -> None:
        """A row that breaks its contract is stored unchanged, with port, reason, coordinates and version."""
        append(query_bench.topic("in"), [batch(range(10))], READING, 0)
        plan = outlet("out", COLOURED, on_invalid="dead-letters")
        query_bench.run(query_bench.write(coloured(query_bench, "id = 3"), plan, dead_letters="dead"))
        assert ids_in(query_bench, "out") == [id for id in range(10) if id != 3]
        ((letter,),) = (batch.to_pylist() for batch in query_bench.topic("dead").scan() if batch.num_rows)
        assert letter.pop("time").year >= 2025
        reason = letter.pop("reason")
        assert "colour" in reason
        assert "GREEN" in reason
        assert letter == {
            "record": '{"id":3,"colour":"GREEN"}', "port": "writer.out", "coordinates": "q/0", "version": "1.2"
        }  # fmt: skip
        assert [(dict(b.rows), b.dead_letters) for b in query_bench.batches] == [({"out": 9}, 1)]

    @pytest.mark.spark
    def test_records_that_do_not_return_become_dead_letters(self, query_bench: QueryBench) -> None:
        """The condition of an outlet in a cycle holds for the records, also if no row can break the contract."""
        append(query_bench.topic("in"), [batch(range(10))], READING, 0)
        plan = outlet("out", on_invalid="dead-letters", returns=ReturnCondition("id < 7 AND id <> 3"))
        query_bench.run(query_bench.write(query_bench.read(inlet("in")), plan, dead_letters="dead"))
        assert ids_in(query_bench, "out") == [0, 1, 2, 4, 5, 6]
        letters = [letter for batch in query_bench.topic("dead").scan() for letter in batch.to_pylist()]
        assert {json.loads(letter["record"])["id"] for letter in letters} == {3, 7, 8, 9}
        assert {letter["reason"] for letter in letters} == {
            "the record does not return into the cycle: `id < 7 AND id <> 3` is not true"
        }

    @pytest.mark.spark
    def test_records_that_do_not_return_leave_to_another_topic(self, query_bench: QueryBench) -> None:
        """With `else` of a cycle, each record of a batch is in one of two topics, also if the condition differs between
        attempts; a batch that is repeated is written once by an exactly-once channel."""
        append(query_bench.topic("in"), [batch(range(40))], READING, 0)
        condition = ReturnCondition("id < 10 OR rand() < 0.5", otherwise="left")
        for _ in range(2):
            parts = ReturningRows(outlet("out", returns=condition), lambda frame: frame)
            query_bench.run(
                query_bench.write(
                    query_bench.read(inlet("in")),
                    (outlet("back", name="back"), parts.returning),
                    (outlet("left", name="left"), parts.leaving),
                )
            )
            query_bench.forget_commit()
        back, left = ids_in(query_bench, "back"), ids_in(query_bench, "left")
        assert set(range(10)) <= set(back)
        assert left
        assert sorted(back + left) == sorted([*range(40)] * (1 if query_bench.channels.traits.exactly_once else 2))

    @pytest.mark.spark
    def test_broken_rows_fail_a_query_without_dead_letters(self, query_bench: QueryBench) -> None:
        """The message has the outlet, the reason and a row. An exactly-once channel publishes nothing of the batch."""
        append(query_bench.topic("in"), [batch(range(10))], READING, 0)
        with pytest.raises(Exception, match=r"(?s)contract `Coloured` of `writer.out`.*GREEN"):
            query_bench.run(query_bench.write(coloured(query_bench, "id = 3"), outlet("out", COLOURED)))
        if query_bench.channels.traits.exactly_once:
            assert ids_in(query_bench, "out") == []

    @pytest.mark.spark
    def test_a_replayed_batch_is_written_once_if_the_channel_is_exactly_once(self, query_bench: QueryBench) -> None:
        """A batch that Spark repeats after a kill does not appear twice; on an at-least-once channel it may."""
        append(query_bench.topic("in"), [batch(range(10))], READING, 0)
        plan = outlet("out", COLOURED, on_invalid="dead-letters")
        for _ in range(2):
            query_bench.run(query_bench.write(coloured(query_bench, "id = 3"), plan, dead_letters="dead"))
            query_bench.forget_commit()
        assert [(b.batch, b.replayed) for b in query_bench.batches] == [(0, False), (0, True)]
        once = query_bench.channels.traits.exactly_once
        expected = sorted([id for id in range(10) if id != 3] * (1 if once else 2))
        assert ids_in(query_bench, "out") == expected
        assert query_bench.topic("dead").lag(None).records == (1 if once else 2)

    @pytest.mark.spark
    def test_replicas_share_each_batch(self, query_bench: QueryBench) -> None:
        """A batch has as many tasks as replicas; a channel that cannot split has one. Their number changes from run to
        run, also before a batch is repeated after a kill: nothing is lost, and nothing doubled by an exactly-once
        channel."""
        from pyspark.sql import functions as F

        traits = query_bench.channels.traits
        parts = contract(("id", "long"), ("part", "int"), name="Parts")
        for number, replicas in enumerate((1, 4, 2)):
            append(query_bench.topic("in"), [batch(range(number * 40, number * 40 + 40))], READING, number)
            rows = query_bench.read(inlet("in"), replicas=replicas).withColumn("part", F.spark_partition_id())
            query_bench.run(query_bench.write(rows.select("id", "part"), outlet("out", parts)))
            written = [row for batch in query_bench.topic("out").scan() for row in batch.to_pylist()][-40:]
            assert len({row["part"] for row in written}) == (replicas if traits.splits else 1)
            if replicas == 4:
                query_bench.forget_commit()
        again = [] if traits.exactly_once else range(40, 80)
        assert ids_in(query_bench, "out") == sorted([*range(120), *again])

    @pytest.mark.spark
    def test_the_channel_knows_what_a_query_may_have_written(self, query_bench: QueryBench) -> None:
        """It knows it of each batch by the id in the checkpoint, as a process that starts later."""
        append(query_bench.topic("in"), [batch(range(3))], READING, 0)
        query_bench.run(query_bench.write(query_bench.read(inlet("in")), outlet("out")))
        id = json.loads((query_bench.checkpoint() / "metadata").read_text())["id"]
        channel = query_bench.channels.open()
        assert channel.may_have_written("writer", "q", id, 0)
        assert not channel.may_have_written("writer", "q", id, 1)
        assert not channel.may_have_written("writer", "q", "another", 0)
        channel.forget("writer", "q", id)

    @pytest.mark.spark
    def test_a_new_checkpoint_reads_and_writes_everything_again(self, query_bench: QueryBench) -> None:
        """A query with a new checkpoint is another writer, with batches of its own."""
        append(query_bench.topic("in"), [batch(range(3))], READING, 0)
        for _ in range(2):
            query_bench.run(query_bench.write(query_bench.read(inlet("in")), outlet("out")))
            shutil.rmtree(query_bench.checkpoint())
        assert ids_in(query_bench, "out") == [0, 0, 1, 1, 2, 2]

    @pytest.mark.spark
    @needs("invalid_records")
    def test_invalid_data_is_omitted_and_found_again(self, query_bench: QueryBench) -> None:
        """A query with dead letters reads the records around it, and counts it. The channel returns it for the dead
        letters, the same at each call."""
        topic, port = query_bench.topic("in"), replace(inlet("in"), on_invalid="dead-letters")
        append(topic, [batch([1])], READING, 0)
        start = topic.end()
        query_bench.channels.add_invalid(topic)
        append(topic, [batch([2])], READING, 1)
        query = query_bench.run(query_bench.write(query_bench.read(port), outlet("out")))
        assert ids_in(query_bench, "out") == [1, 2]
        reports = [json.loads(report.json) for report in query.recentProgress]
        assert sum(topic.invalid_count(port, report.get("observedMetrics") or {}) for report in reports) == 1
        found = [list(topic.invalid(query_bench.session, port, None, topic.end())) for _ in range(2)]
        assert found[0] == found[1]
        (record,) = [record for records, _ in found[0] for record in records]
        assert record.coordinates
        assert record.reason
        assert found[0][-1][1] == topic.end()
        with pytest.raises(RecordError):
            topic.decoded(record.content, READING)
        assert topic.furthest(start, topic.end()) == topic.furthest(topic.end(), start) == topic.end()
        query_bench.channel.forget_inlets("reader")

    @pytest.mark.spark
    @needs("late_records")
    def test_sparks_reports_have_the_operator_that_drops_late_records(self, query_bench: QueryBench) -> None:
        """By the name that the topic returns."""
        port = inlet("in", options=query_bench.channels.late_options)
        append(query_bench.topic("in"), [batch([1])], READING, 0)
        query = query_bench.run(query_bench.write(query_bench.read(port), outlet("out")))
        names = {operator["operatorName"] for report in query.recentProgress for operator in report["stateOperators"]}
        assert query_bench.topic("in").late_operator(port) in names
        assert ids_in(query_bench, "out") == [1]

    @pytest.mark.spark
    @needs("real_time")
    def test_records_pass_in_real_time(self, query_bench: QueryBench) -> None:
        """Within a batch that lasts an hour. The source has as many tasks as the channel says."""
        topic, session = query_bench.topic("in"), query_bench.session
        prepare_for_real_time(session)
        append(topic, [batch(range(3))], READING, 0)
        rows = query_bench.read(inlet("in"))
        assert query_bench.channel.source_partitions(rows) >= 1
        writer: Any = query_bench.channel.real_time_writer(rows, *query_bench.target(outlet("out")))
        writer = writer.outputMode("update").option("checkpointLocation", str(query_bench.checkpoint()))
        query = writer.trigger(realTime="1 hour").start()
        wait_for(query, lambda: ids_in(query_bench, "out") == [0, 1, 2])
        append(topic, [batch([7])], READING, 1)
        wait_for(query, lambda: ids_in(query_bench, "out") == [0, 1, 2, 7])
        query.stop()


def wait_for(query: Any, reached: Callable[[], bool]) -> None:
    """Wait until a condition is true while a query runs."""
    end = time.monotonic() + 300
    while not reached():
        assert query.isActive, query.exception()
        assert time.monotonic() < end, "the records do not arrive"
        time.sleep(0.05)
