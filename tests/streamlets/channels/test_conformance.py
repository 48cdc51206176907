"""Every channel keeps the promises of its interface, as far as its traits make them: what needs no Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from blueprint.quantities import Duration
from streamlets.channels.base import METADATA, Position, Reader, TopicLostError, TopicResource, WriterFencedError
from streamlets.channels.replays import Letter, Replay, runs
from streamlets.channels.unreadable import UnreadableRecordsError
from tests.streamlets.channels.benches import ChannelBench
from tests.streamlets.channels.topics import READING, WIDER, append, batch, contract, ids_of

TEXTUAL = contract(("id", "string"))


def fill(topic: TopicResource, *commits: Sequence[int]) -> list[Position]:
    """Append a commit for each sequence of ids, and return the end of the topic before the first and after each."""
    ends = [topic.end()]
    with topic.appender(READING, writer="filler") as appender:
        first = 0 if appender.last is None else appender.last + 1
        for number, ids in enumerate(commits, first):
            assert appender.append([batch(ids)], number)
            ends.append(topic.end())
    return ends


def test_records_are_scanned_in_the_order_of_their_commits(channel_bench: ChannelBench) -> None:
    """A scan yields all records, or those between two positions."""
    topic = channel_bench.topic("in")
    ends = fill(topic, [1, 2], [3], [4, 5])
    assert ids_of(topic.scan()) == [1, 2, 3, 4, 5]
    assert ids_of(topic.scan(after=ends[1])) == [3, 4, 5]
    assert ids_of(topic.scan(until=ends[2])) == [1, 2, 3]
    assert ids_of(topic.scan(after=ends[1], until=ends[2])) == [3]
    assert ids_of(topic.scan(after=ends[3])) == []


def test_records_are_read_with_the_schema_of_the_reader(channel_bench: ChannelBench) -> None:
    """Records of several schemas are resolved to that of the reader; one that cannot be resolved is an error."""
    topic = channel_bench.topic("in", READING, WIDER)
    append(topic, [batch([1])], READING, 0, writer="a")
    append(topic, [batch([2], WIDER)], WIDER, 0, writer="b")
    rows = [row for batch in topic.scan(READING) for row in batch.to_pylist()]
    assert sorted(row["id"] for row in rows) == [1, 2]
    assert {tuple(row) for row in rows} == {("id", "src")}
    with pytest.raises(UnreadableRecordsError):
        list(topic.scan(TEXTUAL))


def test_metadata_identifies_each_record(channel_bench: ChannelBench) -> None:
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


def test_an_append_happens_once(channel_bench: ChannelBench) -> None:
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


def test_a_marker_is_committed_with_its_records(channel_bench: ChannelBench) -> None:
    """The last marker is kept by appends without one, found by the next appender, and that of its writer only."""
    topic = channel_bench.topic("in")
    with topic.appender(READING, writer="w") as appender:
        appender.append([batch([1])], 0, marker=b"\x00\xff")
        appender.append([batch([2])], 1)
        assert appender.marker == b"\x00\xff"
    with topic.appender(READING, writer="w") as again:
        assert (again.last, again.marker) == (1, b"\x00\xff")
        again.append([], 2, marker=b"")
        assert (again.last, again.marker) == (2, b"")
    assert topic.appender(READING, writer="another").marker is None
    assert ids_of(topic.scan()) == [1, 2]


def test_a_higher_epoch_fences_the_older_writers(channel_bench: ChannelBench) -> None:
    """The next append of an older writer is an error and publishes nothing; opening with an old epoch is one, too."""
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


def test_racing_writers_publish_only_what_they_report(channel_bench: ChannelBench) -> None:
    """Writers of one id with rising epochs append in threads: the topic has what their appends reported as published,
    and nothing of an epoch after the first record of a higher one. The highest epoch is not fenced."""
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


def test_lag_and_count(channel_bench: ChannelBench) -> None:
    """The lag is the number of records after a position, and 0 at the end; the count is that between two positions."""
    topic = channel_bench.topic("in")
    assert topic.lag(None).records == 0
    ends = fill(topic, range(10), range(5), range(3))
    assert [topic.lag(end).records for end in (None, *ends)] == [18, 18, 8, 3, 0]
    assert [topic.lag(end, reader="r").records for end in (None, *ends)] == [18, 18, 8, 3, 0]
    assert topic.lag(ends[-1]).seconds in (0.0, None)
    assert (topic.lag(ends[1]).seconds or 0.0) >= 0.0
    assert [topic.count(None, end) for end in ends] == [0, 10, 15, 18]
    assert topic.count(ends[1], ends[2], reader="r") == 5


def test_a_topic_knows_its_positions(channel_bench: ChannelBench) -> None:
    """Positions of other topics, and what is not a position, are not its own."""
    first, second = channel_bench.topic("first"), channel_bench.topic("second")
    fill(first, [1])
    assert first.owns(first.end())
    assert not second.owns(first.end())
    assert first.shown(first.end()).isprintable()
    assert first.shown(first.end())
    assert not any(first.owns(Position(text)) for text in ("", "7", "{}", "[]", '{"topic": "another"}', '"x"', "null"))


def test_creating_again_keeps_the_topic(channel_bench: ChannelBench) -> None:
    """Creating a topic that exists changes nothing."""
    topic = channel_bench.topic("in")
    fill(topic, [1])
    end = topic.end()
    again = channel_bench.open().topic(channel_bench.plan("in"))
    again.create([READING])
    assert again.end() == end
    assert ids_of(again.scan()) == [1]


def test_an_external_topic_is_not_created(channel_bench: ChannelBench) -> None:
    """A topic that another application manages must exist."""
    topic = channel_bench.channel.topic(channel_bench.plan("theirs", managed=False))
    with pytest.raises(TopicLostError, match="theirs"):
        topic.create([READING])
    channel_bench.topic("theirs")
    topic.create([READING])


def test_a_topic_that_does_not_exist_is_an_error_of_one_line(channel_bench: ChannelBench) -> None:
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


def test_reserved_names_are_refused(channel_bench: ChannelBench) -> None:
    """A topic whose name the channel uses itself is an error."""
    for prefix in channel_bench.traits.reserved:
        with pytest.raises(ValueError, match="name"):
            channel_bench.channel.topic(channel_bench.plan(f"{prefix}x"))


def test_the_channel_lists_its_topics(channel_bench: ChannelBench) -> None:
    """A channel that stores topics in the directory of the application lists them; others know no such list."""
    assert channel_bench.channel.topics() in ((), None)
    channel_bench.topic("b")
    channel_bench.topic("a")
    assert channel_bench.open().topics() in (("a", "b"), None)


def test_inspection(channel_bench: ChannelBench) -> None:
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


def test_purging_keeps_what_a_reader_has_not_committed(channel_bench: ChannelBench) -> None:
    """A plan drops nothing. Records that a reader has not committed are kept, unless dropping them is forced; then the
    reader's loss is reported once."""
    topic = channel_bench.topic("in")
    ends = fill(topic, range(4), range(4, 10), range(10, 12))
    readers = [Reader("fast", ends[3]), Reader("slow", ends[1])]
    planned = topic.purge(readers, dry=True)
    assert (planned.records, dict(planned.held)) == (4, {"slow": 8})
    assert ids_of(topic.scan()) == list(range(12))
    assert topic.purge(readers).records == 4
    assert ids_of(topic.scan()) == list(range(4, 12))
    assert list(topic.missed()) == []
    forced = topic.purge(readers, force=True)
    topic.sweep()
    assert (forced.records, [(m.reader, m.records) for m in forced.missed]) == (8, [("slow", 8)])
    assert ids_of(topic.scan()) == []
    assert [(m.topic, m.reader, m.records) for m in topic.missed()] == [(topic.plan.name, "slow", 8)]
    assert list(topic.missed()) == []
    fill(topic, [20])
    assert ids_of(topic.scan(after=ends[3])) == [20]


def test_retention_drops_old_records_that_every_reader_has_committed(channel_bench: ChannelBench) -> None:
    """A channel without a setting for it keeps all records."""
    setting = "retention.time"
    limited = setting in {own.key for own in channel_bench.traits.settings}
    topic = channel_bench.topic("in", options={setting: Duration(0)} if limited else {})
    ends = fill(topic, [1, 2], [3])
    limit = time.monotonic() + 600
    while not (dropped := topic.maintain(lambda: [Reader("slow", ends[1])])).records and limited:
        assert time.monotonic() < limit, "no record expires"
    assert dropped.records == (2 if limited else 0)
    assert ids_of(topic.scan()) == ([3] if limited else [1, 2, 3])
    assert list(topic.missed()) == []


def test_a_replay_of_dead_letters_is_decided_once(channel_bench: ChannelBench) -> None:
    """The decisions are stored with the topic, under an id that is the same in each process."""
    topic = channel_bench.topic("dead")
    decision = Replay(0, "s.out", "out", READING.json, runs([Letter("x", 1), Letter("x", 2)]))
    assert topic.replays.decide(decision)
    again = channel_bench.open().topic(channel_bench.plan("dead"))
    assert not again.replays.decide(decision)
    assert list(again.replays.all()) == [decision]
    assert again.replays.topic_id == topic.replays.topic_id
    assert channel_bench.topic("other").replays.topic_id != topic.replays.topic_id


def test_a_deleted_topic_leaves_nothing_to_a_later_one_of_its_name(channel_bench: ChannelBench) -> None:
    """It does not exist, and may be deleted again. The later one has another id, no records and no writers, so that an
    append with an earlier sequence is not taken for a repetition, nor an earlier epoch for a fenced one."""
    topic = channel_bench.topic("in")
    with topic.appender(READING, writer="w", epoch=7) as appender:
        assert appender.append([batch([1, 2])], 5, marker=b"five")
    end = topic.end()
    topic.delete()
    assert not topic.exists()
    channel_bench.open().topic(topic.plan).delete()
    later = channel_bench.open().topic(topic.plan)
    later.create([READING])
    assert not later.owns(end) or channel_bench.traits.name == "kafka"  # offsets of Kafka have the name alone
    with later.appender(READING, writer="w", epoch=1) as appender:
        assert (appender.last, appender.marker) == (None, None)
        assert appender.append([batch([3])], 0)
    assert ids_of(later.scan()) == [3]
