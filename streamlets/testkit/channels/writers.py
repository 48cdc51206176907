"""What every topic does for several processes, without Spark: those that write it, and those that read it meanwhile."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Iterator

import pyarrow as pa
import pytest

from streamlets.channels.base import WriterFencedError
from streamlets.channels.small import SmallTopic
from streamlets.testkit.channels.bench import ChannelBench
from streamlets.testkit.channels.fitting import FittingTests
from streamlets.testkit.channels.processes import PROCESSES, Opening, compete, competed, processes, writer_of
from streamlets.testkit.channels.records import READING, append, batch, ids_of


class WriterTests(FittingTests):
    """Transactions of several processes, and what a process finds that has opened the topic later."""

    def test_a_transaction_that_another_process_publishes_meanwhile_is_published_once(
        self, channel_bench: ChannelBench
    ) -> None:
        """Between the beginning of an append and its publication, another process publishes the same transaction, or
        also a later one of the writer. Then the append is a repetition."""
        for id, sequences in (("same", [0]), ("later", [0, 1])):
            topic = channel_bench.topic(id)

            def meanwhile(id: str = id, sequences: list[int] = sequences) -> Iterator[pa.RecordBatch]:
                other = channel_bench.open().topic(channel_bench.plan(id))
                for sequence in sequences:
                    assert append(other, [batch([sequence])], READING, sequence)
                yield batch([100])

            assert not append(topic, meanwhile(), READING, 0)
            assert ids_of(topic.scan()) == sequences
            assert append(channel_bench.open().topic(topic.plan), [batch([2])], READING, 2)
            assert ids_of(topic.scan()) == [*sequences, 2]

    def test_a_writer_that_is_fenced_meanwhile_publishes_nothing(self, channel_bench: ChannelBench) -> None:
        """Between the beginning of an append and its publication, another process opens the writer with a higher epoch,
        which has published something or not. Then the append is an error."""
        for id, ids in (("opened", []), ("published", [0])):
            topic = channel_bench.topic(id)

            def meanwhile(id: str = id, ids: list[int] = ids) -> Iterator[pa.RecordBatch]:
                other = channel_bench.open().topic(channel_bench.plan(id))
                with other.appender(READING, writer="w", epoch=2) as newer:
                    for number in ids:
                        assert newer.append([batch([number])], number)
                yield batch([100])

            with topic.appender(READING, writer="w", epoch=1) as older, pytest.raises(WriterFencedError):
                older.append(meanwhile(), 1)
            assert ids_of(topic.scan()) == ids
            with topic.appender(READING, writer="w", epoch=2) as newer:
                assert newer.append([batch([1])], 1)
            assert ids_of(topic.scan()) == [*ids, 1]

    def test_another_process_continues_a_writer(self, channel_bench: ChannelBench) -> None:
        """It finds the last sequence and the marker that were published, and refuses an epoch that is too low."""
        topic = channel_bench.topic("in")
        with topic.appender(READING, writer="w", epoch=3) as appender:
            appender.append([batch([1])], 5, marker=b"\x00five")
        with topic.appender(READING, writer="opened", epoch=3):
            pass
        opening = Opening(channel_bench.type, channel_bench.topics, topic.plan)
        with processes() as pool:
            assert pool.submit(writer_of, opening, "w", 2).result() is None
            assert pool.submit(writer_of, opening, "opened", 2).result() is None
            assert pool.submit(writer_of, opening, "w", 4).result() == (5, b"\x00five")
            assert pool.submit(writer_of, opening, "opened", 3).result() == (None, None)
        with pytest.raises(WriterFencedError):
            channel_bench.open().topic(topic.plan).appender(READING, writer="w", epoch=3)

    def test_processes_that_write_together_publish_each_record_once(self, channel_bench: ChannelBench) -> None:
        """Two processes create a topic and append to it, some transactions as the same writer. The topic has what their
        appends reported as published, each record once. A reader sees an append completely or not at all."""
        plan = channel_bench.plan("in")
        opening = Opening(channel_bench.type, channel_bench.topics, plan)
        topic = channel_bench.channel.topic(plan)
        with processes() as pool:
            writing = [pool.submit(compete, opening, number) for number in range(1, PROCESSES + 1)]
            while not all(work.done() for work in writing):
                ids = ids_of(topic.scan()) if topic.exists() else []
                assert ids[1::2] == [id + 1 for id in ids[::2]]
            published = [id for work in writing for id in work.result()]
        assert sorted(published) == competed()
        assert sorted(ids_of(topic.scan())) == competed()

    def test_a_small_topic_that_is_created_again_is_another_one(self, channel_bench: ChannelBench) -> None:
        """A position of the deleted topic does not belong to the later one, so that a reader stops. A channel that does
        not delete topics loses them with its directory, unless a server has them. Others need no id in positions."""
        topic = channel_bench.topic("in")
        append(topic, [batch([1])], READING, 0)
        end = topic.end()
        if channel_bench.traits.deletes:
            topic.delete()
        else:
            shutil.rmtree(channel_bench.topics)
        later = channel_bench.open().topic(topic.plan)
        assert not (channel_bench.traits.deletes and later.exists())
        later.create([READING])
        if isinstance(later, SmallTopic) and ids_of(later.scan()) == []:
            append(later, [batch([2])], READING, 0)
            assert not later.owns(end)
            assert later.end() != end

    def test_a_small_topic_is_pickled(self, channel_bench: ChannelBench) -> None:
        """The tasks of Spark read a topic that was used before; so it has no connections and no locks."""
        topic = channel_bench.topic("in")
        append(topic, [batch([1])], READING, 0)
        assert ids_of(topic.scan()) == [1]
        if isinstance(topic, SmallTopic):  # others decide themselves what they send to tasks
            assert ids_of(pickle.loads(pickle.dumps(topic)).scan()) == [1]
