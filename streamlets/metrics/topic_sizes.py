"""`TopicSizes`: the sizes of the topics of a run, computed once in a while."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import Self

from blueprint.plan import ApplicationPlan
from streamlets.runner.periodic import repeating
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.topics import channels_of

EVERY = 60.0
"""Seconds between two looks at the topics."""


class TopicSizes:
    """Looks at the topics in a thread while it is entered; a topic that cannot be read has no size.

    Arguments:
        plan: the application.
        state: its state directory.

    Attributes:
        bytes: the sizes as of the last look, by topic.
    """

    def __init__(self, plan: ApplicationPlan, state: StateDirectory) -> None:
        self._plan, self._state = plan, state
        self._opened = ExitStack()
        self.bytes: Mapping[str, int] = {}

    def __enter__(self) -> Self:
        self._opened.enter_context(repeating(self.look, name="topic-sizes", interval=EVERY, delay=EVERY))
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def look(self, stopping: threading.Event) -> None:
        """Look at each topic once.

        Arguments:
            stopping: ends the look if it is set.
        """
        sizes: dict[str, int] = {}
        with suppress(Exception):
            channels = channels_of(self._plan, self._state)
            for topic in self._plan.topics:
                if stopping.is_set():
                    return
                with suppress(Exception):  # the topic does not exist yet, or its server does not answer
                    if (size := channels[topic.channel].topic(topic).summary().bytes) is not None:
                        sizes[topic.id] = size
        self.bytes = sizes
