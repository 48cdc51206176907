"""Work that tests of a channel do in other processes, each of which opens the channel itself."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.channels.base import WriterFencedError
from streamlets.testkit.channels.records import READING, batch

if TYPE_CHECKING:
    import pyarrow as pa

    from blueprint.plan import TopicPlan
    from streamlets.channels.base import TopicResource
    from streamlets.channels.channel_type import ChannelType

PROCESSES = 2
ROUNDS = 12
LIMIT = 600
_OWN = 1_000_000

_meeting: threading.Barrier
"""Where the processes of a pool wait for each other."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What another process needs to open a topic.

    Arguments:
        type: the channel. Its class must be in a module, which the other process imports.
        directory: the directory for topics.
        plan: the plan of the topic.
    """

    type: ChannelType
    directory: Path
    plan: TopicPlan

    def topic(self) -> TopicResource:
        """Return the topic, opened by this process."""
        return self.type.open(self.directory).topic(self.plan)


def processes() -> ProcessPoolExecutor:
    """Return a pool of processes, which share nothing with this one."""
    context = multiprocessing.get_context("spawn")
    meeting = context.Barrier(PROCESSES)
    return ProcessPoolExecutor(PROCESSES, mp_context=context, initializer=_meet_at, initargs=(meeting,))


def compete(opening: Opening, number: int) -> list[int]:
    """Create a topic and append to it, at the same time as another process; return the ids that were published.

    In each round both processes append the same transaction of the same writer. Neither publishes it before both have
    begun to. Then each appends with a writer of its own.

    Arguments:
        opening: the topic, which need not exist.
        number: the number of this process.
    """
    published: list[int] = []
    try:
        topic = opening.topic()
        _meeting.wait(LIMIT)
        topic.create([READING])
        beginning = topic.end()
        _meeting.wait(LIMIT)
        assert topic.owns(beginning), "each process has created a topic of its own"
        with topic.appender(READING, writer="same") as same, topic.appender(READING, writer=f"w{number}") as own:
            for round in range(ROUNDS):
                if same.append(_together(pair(round)), round):
                    published += pair(round)
                if own.append([batch(pair(_OWN * number + round))], round):
                    published += pair(_OWN * number + round)
    except BaseException:
        _meeting.abort()  # the other process does not wait in vain
        raise
    return published


def competed() -> list[int]:
    """Return the ids that a topic has after `compete` in all processes."""
    firsts = (range(_OWN * number, _OWN * number + ROUNDS) for number in range(PROCESSES + 1))
    return [id for first in chain(*firsts) for id in pair(first)]


def pair(number: int) -> list[int]:
    """Return the ids of the two records of an append, which must be visible together."""
    return [2 * number, 2 * number + 1]


def writer_of(opening: Opening, writer: str, epoch: int) -> tuple[int | None, bytes | None] | None:
    """Return the last sequence and the marker of a writer, as this process finds them; None if it is fenced."""
    try:
        with opening.topic().appender(READING, writer=writer, epoch=epoch) as appender:
            return appender.last, appender.marker
    except WriterFencedError:
        return None


def _meet_at(meeting: threading.Barrier) -> None:
    global _meeting
    _meeting = meeting


def _together(ids: list[int]) -> Iterator[pa.RecordBatch]:
    """Yield records when the other process asks for its records, too."""
    _meeting.wait(LIMIT)
    yield batch(ids)
