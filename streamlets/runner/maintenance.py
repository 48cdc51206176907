"""Keeps topics cheap to follow while they run: their logs are kept short in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from streamlets.channels.base import TopicResource

EVERY = 20.0
"""Seconds between two rounds over all topics; a round with nothing to do costs a look per topic."""


@contextmanager
def maintaining(topics: Iterable[TopicResource], log: Callable[[TopicResource, Exception], None]) -> Iterator[None]:
    """Maintain the topics that this application manages, now and then, until left."""
    over = threading.Event()
    managed = [topic for topic in topics if topic.plan.managed]

    def work() -> None:
        while not over.wait(EVERY):
            for topic in managed:
                if over.is_set():
                    return
                try:
                    topic.maintain()
                except Exception as error:  # noqa: BLE001 - the topic works without it; the next round may succeed
                    log(topic, error)

    thread = threading.Thread(target=work, name="maintenance", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(10)
