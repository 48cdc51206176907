"""`ChannelQuestions`: asks channels whether they accept the records of outlets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from blueprint.plan import ApplicationPlan
from streamlets.channels.base import TopicResource
from streamlets.channels.waiting import refusal
from streamlets.runner.events.status import UnitId
from streamlets.runner.supervision.facts import ChannelsAnswered, Fact
from streamlets.runner.topics import contracts_of_writers


@dataclass(frozen=True, slots=True)
class ChannelQuestions:
    """Asks the channels of topics, each time in a thread of its own: a server that is down may take long to say so.

    Arguments:
        plan: the application.
        topics: its topics by id.
        report: takes the answers, from any thread.
    """

    plan: ApplicationPlan
    topics: Mapping[str, TopicResource]
    report: Callable[[Fact], None]

    def __call__(self, unit: UnitId, topics: Collection[str]) -> None:
        """Ask whether the channels of topics accept records of a unit, without blocking."""
        threading.Thread(target=self._ask, args=(unit, topics), name=f"ask-channels-{unit}", daemon=True).start()

    def _ask(self, unit: UnitId, topics: Collection[str]) -> None:
        reasons = {topic: refusal(self.topics[topic], contracts_of_writers(self.plan, topic)) for topic in topics}
        self.report(ChannelsAnswered(unit, {topic: reason for topic, reason in reasons.items() if reason}))
