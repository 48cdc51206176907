"""Maintenance of topics while an application runs: log checkpoints, compaction and retention."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial

from streamlets.channels.base import Missed, Reader, TopicResource
from streamlets.runner.periodic import repeating

EVERY = 20.0
"""Seconds between two rounds over all topics; a round with nothing to do costs one check per topic."""


def maintaining(
    topics: Iterable[TopicResource],
    readers: Callable[[TopicResource], list[Reader]],
    report: Callable[[Missed], None],
    log: Callable[[TopicResource, Exception], None],
) -> AbstractContextManager[None]:
    """Maintain the managed topics of an application at intervals, in a thread, until the context is left.

    External topics whose storage deletes records by itself are only watched.

    All callbacks are called in that thread.

    Arguments:
        readers: returns the current readers of a topic.
        report: takes the records that readers missed, including those dropped while nothing ran.
        log: takes the exceptions of a topic's maintenance; the other topics are maintained all the same.
    """
    managed = [topic for topic in topics if topic.plan.managed or topic.traits.loses_records]

    def maintain(stopping: threading.Event) -> None:
        for topic in managed:
            if stopping.is_set():
                return
            try:
                topic.maintain(partial(readers, topic))
                for missed in topic.missed():
                    report(missed)
            except Exception as error:  # noqa: BLE001 - the topic works without it; the next round may succeed
                log(topic, error)

    # Without a delay: what readers missed while nothing ran is reported at once.
    return repeating(maintain, name="maintenance", interval=EVERY)
