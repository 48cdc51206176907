"""What every topic does, without Spark."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from streamlets.channels.base import METADATA, Position, TopicLostError, TopicResource, WriterFencedError
from streamlets.channels.replays import Letter, Replay, runs
from streamlets.channels.unreadable import UnreadableRecordsError
from streamlets.contract.types import arrow_schema
from streamlets.testkit.channels.bench import ChannelBench
from streamlets.testkit.channels.fitting import FittingTests
from streamlets.testkit.channels.records import READING, WIDER, append, batch, contract, ids_of

TEXTUAL = contract(("id", "string"))
EVERY_TYPE = contract(
    ("id", "long"),
    ("int", "int"),
    ("float", "float"),
    ("double", ["null", "double"]),
    ("boolean", "boolean"),
    ("bytes", "bytes"),
    ("string", "string"),
    ("fixed", {"type": "fixed", "name": "Hash", "size": 2}),
    ("enum", {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}),
    ("array", {"type": "array", "items": ["null", "int"]}),
    ("map", {"type": "map", "values": "double"}),
    ("record", {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "int"}]}),
    ("union", ["null", "int", "string"]),
    ("date", {"type": "int", "logicalType": "date"}),
    ("timestamp", {"type": "long", "logicalType": "timestamp-micros"}),
    ("local", {"type": "long", "logicalType": "local-timestamp-micros"}),
    ("decimal", {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}),
    name="EveryType",
)
VALUES = [
    {
        "id": 1,
        "int": -(2**31),
        "float": 0.5,
        "double": 1e300,
        "boolean": True,
        "bytes": bytes(range(256)),
        "string": "\u00fc\u4e2d\U0001f600",
        "fixed": b"\x00\xff",
        "enum": "BLUE",
        "array": [1, None, 3],
        "map": [("a", 0.25)],
        "record": {"x": 7},
        "union": {"member0": None, "member1": "seven"},
        "date": dt.date(1969, 12, 31),
        "timestamp": dt.datetime(2024, 2, 29, 23, 59, 59, 999999, dt.UTC),
        "local": dt.datetime(1900, 1, 1),
        "decimal": Decimal("-1234567890.12"),
    },
    {
        "id": 2**63 - 1,
        "int": 0,
        "float": -0.0,
        "double": None,
        "boolean": False,
        "bytes": b"",
        "string": "",
        "fixed": b"ab",
        "enum": "RED",
        "array": [],
        "map": [],
        "record": {"x": 0},
        "union": None,
        "date": dt.date(9999, 12, 31),
        "timestamp": dt.datetime(1, 1, 1, tzinfo=dt.UTC),
        "local": dt.datetime(9999, 12, 31, 23, 59, 59),
        "decimal": Decimal("0.00"),
    },
]


def fill(topic: TopicResource, *commits: Sequence[int]) -> list[Position]:
    """Append a commit for each sequence of ids, and return the end of the topic before the first and after each."""
    ends = [topic.end()]
    with topic.appender(READING, writer="filler") as appender:
        first = 0 if appender.last is None else appender.last + 1
        for number, ids in enumerate(commits, first):
            assert appender.append([batch(ids)], number)
            ends.append(topic.end())
    return ends


class TopicTests(FittingTests):
    """Records, writers, positions and the inspection of topics."""

    def test_records_are_scanned_in_the_order_of_their_commits(self, channel_bench: ChannelBench) -> None:
        """A scan yields all records, or those between two positions."""
        topic = channel_bench.topic("in")
        ends = fill(topic, [1, 2], [3], [4, 5])
        assert ids_of(topic.scan()) == [1, 2, 3, 4, 5]
        assert ids_of(topic.scan(after=ends[1])) == [3, 4, 5]
        assert ids_of(topic.scan(until=ends[2])) == [1, 2, 3]
        assert ids_of(topic.scan(after=ends[1], until=ends[2])) == [3]
        assert ids_of(topic.scan(after=ends[3])) == []

    def test_records_are_read_with_the_schema_of_the_reader(self, channel_bench: ChannelBench) -> None:
        """Records of several schemas are resolved to the reader's schema; one that cannot be resolved is an error."""
        topic = channel_bench.topic("in", READING, WIDER)
        append(topic, [batch([1])], READING, 0, writer="a")
        append(topic, [batch([2], WIDER)], WIDER, 0, writer="b")
        rows = [row for batch in topic.scan(READING) for row in batch.to_pylist()]
        assert sorted(row["id"] for row in rows) == [1, 2]
        assert {tuple(row) for row in rows} == {("id", "src")}
        with pytest.raises(UnreadableRecordsError):
            list(topic.scan(TEXTUAL))

    def test_records_of_every_type_are_stored_unchanged(self, channel_bench: ChannelBench) -> None:
        """A record has the same values after it was stored, read with its own schema and as it was written."""
        topic = channel_bench.topic("in", EVERY_TYPE)
        rows = pa.RecordBatch.from_pylist(VALUES, schema=arrow_schema(EVERY_TYPE))
        append(topic, [rows], EVERY_TYPE, 0)
        for reader in (EVERY_TYPE, None):
            assert [row for batch in topic.scan(reader) for row in batch.to_pylist()] == VALUES

    def test_metadata_identifies_each_record(self, channel_bench: ChannelBench) -> None:
        """Position and sequence together are unique in the topic, and the same in each scan."""
        topic = channel_bench.topic("in")
        fill(topic, [1, 2, 3], [4, 5])

        def places() -> list[tuple[Any, ...]]:
            rows = [row for rows in topic.scan(READING, metadata=True) for row in rows.to_pylist()]
            assert all(abs(row[METADATA]["timestamp"].timestamp() - time.time()) < 86_400 for row in rows)
            return [(row["id"], row[METADATA]["position"], row[METADATA]["sequence"]) for row in rows]

        assert places() == places()
        assert [id for id, _, _ in places()] == [1, 2, 3, 4, 5]
        assert len({place[1:] for place in places()}) == 5

    def test_an_append_happens_once(self, channel_bench: ChannelBench) -> None:
        """A repeated or an earlier sequence is not appended, and its records are not iterated; other writers append."""
        topic = channel_bench.topic("in")

        def unasked() -> Iterator[pa.RecordBatch]:
            raise AssertionError
            yield

        with topic.appender(READING, writer="w") as appender:
            assert (appender.last, appender.marker) == (None, None)
            assert appender.append([batch([1])], 7)
            assert appender.last == 7
            assert not appender.append(unasked(), 7)
            assert not appender.append(unasked(), 3)
        with topic.appender(READING, writer="w") as again:
            assert again.last == 7
            assert not again.append(unasked(), 7)
            assert again.append([batch([2])], 9)
        assert append(topic, [batch([3])], READING, 7, writer="another")
        assert ids_of(topic.scan()) == [1, 2, 3]

    def test_a_marker_is_committed_with_its_records(self, channel_bench: ChannelBench) -> None:
        """The last marker is kept by appends without one, found by the next appender, and belongs to its writer."""
        topic = channel_bench.topic("in")
        with topic.appender(READING, writer="w") as appender:
            appender.append([batch([1])], 0, marker=b"\x00\xff")
            appender.append([batch([2])], 1)
            assert appender.marker == b"\x00\xff"
        with topic.appender(READING, writer="w") as again:
            assert (again.last, again.marker) == (1, b"\x00\xff")
            again.append([], 2, marker=b"")
            assert (again.last, again.marker) == (2, b"")
        with topic.appender(READING, writer="w") as last, topic.appender(READING, writer="another") as another:
            assert (last.marker, another.marker) == (b"", None)
        assert ids_of(topic.scan()) == [1, 2]

    def test_a_higher_epoch_fences_the_older_writers(self, channel_bench: ChannelBench) -> None:
        """The next append of an older writer is an error and publishes nothing, as is opening with an old epoch."""
        topic = channel_bench.topic("in")
        old = topic.appender(READING, writer="w", epoch=1)
        other = topic.appender(READING, writer="other", epoch=1)
        assert old.append([batch([1])], 0)
        new = topic.appender(READING, writer="w", epoch=2)
        assert new.last == 0
        with pytest.raises(WriterFencedError):
            old.append([batch([2])], 1)
        with pytest.raises(WriterFencedError):
            topic.appender(READING, writer="w", epoch=1)
        assert new.append([batch([3])], 1)
        assert other.append([batch([4])], 0)
        assert ids_of(topic.scan()) == [1, 3, 4]
        for appender in (old, other, new):
            appender.close()

    def test_racing_writers_publish_only_what_they_report(self, channel_bench: ChannelBench) -> None:
        """Writers of one id with rising epochs append in threads: the topic has what their appends reported as
        published, and nothing of an epoch after the first record of a higher one. The highest epoch is not fenced."""
        topic = channel_bench.topic("in")
        published: list[int] = []
        barrier = threading.Barrier(3)

        def write(epoch: int) -> None:
            own = channel_bench.open().topic(channel_bench.plan("in"))
            barrier.wait(600)
            try:
                with own.appender(READING, writer="w", epoch=epoch) as appender:
                    for _ in range(10):
                        number = 0 if appender.last is None else appender.last + 1
                        if appender.append([batch([epoch * 1000 + number])], number):
                            published.append(epoch * 1000 + number)
            except WriterFencedError:
                assert epoch < 3

        threads = [threading.Thread(target=write, args=(epoch,)) for epoch in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ids = ids_of(topic.scan())
        assert sorted(ids) == sorted(published)
        assert [id // 1000 for id in ids] == sorted(id // 1000 for id in ids)
        assert sum(id // 1000 == 3 for id in ids) == 10

    def test_lag_and_count(self, channel_bench: ChannelBench) -> None:
        """The lag is the number of records after a position, 0 at the end; the count is that between two positions."""
        topic = channel_bench.topic("in")
        assert topic.lag(None).records == 0
        ends = fill(topic, range(10), range(5), range(3))
        assert [topic.lag(end).records for end in (None, *ends)] == [18, 18, 8, 3, 0]
        assert [topic.lag(end, reader="r").records for end in (None, *ends)] == [18, 18, 8, 3, 0]
        assert topic.lag(ends[-1]).seconds in (0.0, None)
        assert (topic.lag(ends[1]).seconds or 0.0) >= 0.0
        assert [topic.count(None, end) for end in ends] == [0, 10, 15, 18]
        assert topic.count(ends[1], ends[2], reader="r") == 5

    def test_a_topic_knows_its_positions(self, channel_bench: ChannelBench) -> None:
        """Positions of other topics, and what is not a position, are not its own."""
        first, second = channel_bench.topic("first"), channel_bench.topic("second")
        fill(first, [1])
        assert first.owns(first.end())
        assert not second.owns(first.end())
        assert first.shown(first.end()).isprintable()
        assert first.shown(first.end())
        assert not any(
            first.owns(Position(text)) for text in ("", "7", "{}", "[]", '{"topic": "another"}', '"x"', "null")
        )

    def test_creating_again_keeps_the_topic(self, channel_bench: ChannelBench) -> None:
        """Creating a topic that exists changes nothing."""
        topic = channel_bench.topic("in")
        fill(topic, [1])
        end = topic.end()
        again = channel_bench.open().topic(channel_bench.plan("in"))
        again.create([READING])
        assert again.end() == end
        assert ids_of(again.scan()) == [1]

    def test_an_external_topic_is_not_created(self, channel_bench: ChannelBench) -> None:
        """A topic that another application manages must exist. One that appears later can be used, however often its
        writer asks (`open-timeout`)."""
        topic = channel_bench.channel.topic(channel_bench.plan("theirs", managed=False))
        with pytest.raises(TopicLostError, match="theirs"):
            topic.create([READING])
        assert not topic.exists()
        fill(channel_bench.topic("theirs"), [1])
        for _ in range(2):
            assert topic.exists()
            topic.create([READING])
        assert ids_of(topic.scan()) == [1]

    def test_a_topic_that_does_not_exist_is_an_error_of_one_line(self, channel_bench: ChannelBench) -> None:
        """Every question about it reports this, instead of creating it or answering with nothing."""
        topic = channel_bench.channel.topic(channel_bench.plan("nowhere"))
        questions: list[Any] = [
            topic.end, lambda: list(topic.scan()), lambda: topic.lag(None), topic.summary, topic.contracts,
            lambda: list(topic.last(1)), lambda: topic.appender(READING, writer="w"),
        ]  # fmt: skip
        for question in questions:
            with pytest.raises(TopicLostError, match="nowhere") as error:
                question()
            assert "\n" not in str(error.value)

    def test_the_channel_lists_its_topics(self, channel_bench: ChannelBench) -> None:
        """A channel that stores topics in the directory of the application lists them; others know no such list."""
        assert channel_bench.channel.topics() in ((), None)
        names = sorted(channel_bench.topic(id).plan.name for id in ("b", "a"))
        assert channel_bench.open().topics() in (tuple(names), None)

    def test_inspection(self, channel_bench: ChannelBench) -> None:
        """The summary, the contracts and the last records of a topic, also of an empty one."""
        topic = channel_bench.topic("in", READING, WIDER)
        summary = topic.summary()
        assert (summary.records, summary.last_commit, topic.contracts(), list(topic.last(3))) == (0, None, (), [])
        fill(topic, [1, 2], [3])
        append(topic, [batch([4], WIDER)], WIDER, 0, writer="wider")
        summary = topic.summary()
        assert summary.records == 4
        assert summary.bytes is None or summary.bytes > 0
        assert summary.last_commit is not None
        assert abs(summary.last_commit - time.time()) < 86_400
        assert {writer.fingerprint for writer in summary.writers} == {READING.fingerprint, WIDER.fingerprint}
        assert set(topic.contracts()) == {READING, WIDER}
        assert ids_of(topic.last(2)) == [3, 4]
        assert ids_of(topic.last(100)) == [1, 2, 3, 4]
        rows = [row for batch in topic.last(2, metadata=True) for row in batch.to_pylist()]
        assert [row["id"] for row in rows] == [3, 4]
        assert all(row[METADATA]["timestamp"] is not None for row in rows)

    def test_a_replay_of_dead_letters_is_decided_once(self, channel_bench: ChannelBench) -> None:
        """The decisions are stored with the topic, under an id that is the same in each process."""
        topic = channel_bench.topic("dead")
        decision = Replay(0, "s.out", "out", READING.json, runs([Letter("x", 1), Letter("x", 2)]))
        assert topic.replays.decide(decision)
        again = channel_bench.open().topic(channel_bench.plan("dead"))
        assert not again.replays.decide(decision)
        assert list(again.replays.all()) == [decision]
        assert again.replays.topic_id == topic.replays.topic_id
        assert channel_bench.topic("other").replays.topic_id != topic.replays.topic_id
