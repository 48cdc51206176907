"""Looks after topics while they run: short logs, few files, and no more records than retention has room for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from streamlets.channels.base import Missed, Reader, TopicResource

EVERY = 20.0
"""Seconds between two rounds over all topics; a round with nothing to do costs a look per topic."""


@contextmanager
def maintaining(
    topics: Iterable[TopicResource],
    readers: Callable[[TopicResource], list[Reader]],
    tell: Callable[[Missed], None],
    log: Callable[[TopicResource, Exception], None],
) -> Iterator[None]:
    """Maintain the topics that this application manages, now and then, until left.

    Arguments:
        readers: whoever reads a topic, as of now; asked in a thread of maintenance, as the others are called in it.
        tell: takes what readers missed, also what was dropped while nothing ran.
        log: takes what went wrong.
    """
    over = threading.Event()
    managed = [topic for topic in topics if topic.plan.managed]

    def work() -> None:
        wait = 0.0  # what readers missed while nothing ran is told at once
        while not over.wait(wait):
            wait = EVERY
            for topic in managed:
                if over.is_set():
                    return
                try:
                    topic.maintain(partial(readers, topic))
                    for missed in topic.missed():
                        tell(missed)
                except Exception as error:  # noqa: BLE001 - the topic works without it; the next round may succeed
                    log(topic, error)

    thread = threading.Thread(target=work, name="maintenance", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(10)
