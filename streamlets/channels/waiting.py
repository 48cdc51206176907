"""Waiting until the servers of topics answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from blueprint.plan import ApplicationPlan, TopicPlan
from streamlets.channels.base import TopicResource
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.checks import Check, State

if TYPE_CHECKING:
    from blueprint.avro.model import Contract

PATIENCE = 30.0
"""Seconds to wait for servers, such as those that are started together with an application."""


def patience_of(plan: ApplicationPlan) -> float:
    """Return how long a run of an application waits for servers at its start: the longest `open-timeout` of an outlet,
    in seconds, at least `PATIENCE`."""
    limits = (outlet.open_timeout.seconds for streamlet in plan.streamlets for outlet in streamlet.outlets)
    return max((PATIENCE, *limits))


def required_topics(plan: ApplicationPlan, topics: Mapping[str, TopicResource]) -> dict[str, TopicResource]:
    """Return the topics of an application that must exist when a run starts, and those that do, by id.

    A streamlet may wait for an external topic: all ports of the application at it are outlets with `open-timeout`.

    Arguments:
        plan: the application.
        topics: its topics by id.

    Raises:
        OSError: a server does not answer.
    """
    waiting = {
        f"{outlet.streamlet}.{outlet.name}"
        for streamlet in plan.streamlets
        for outlet in streamlet.outlets
        if outlet.open_timeout.nanoseconds > 0
    }

    def is_awaited(topic: TopicPlan) -> bool:
        return not topic.managed and not topic.consumers and waiting.issuperset(topic.producers)

    return {id: topic for id, topic in topics.items() if not is_awaited(topic.plan) or topic.exists()}


def refusal(topic: TopicResource, contracts: Iterable[Contract]) -> str:
    """Return why the channel of a topic does not accept records, empty if it does.

    An external topic may have been created since the run started, so it is prepared as at the start of a run.

    Arguments:
        topic: the topic.
        contracts: the contracts of its writers.
    """
    try:
        checks = CHANNEL_TYPES[topic.plan.channel].check([topic.plan])
        failed = next((check for check in checks if check.state is State.ERROR), None)
        if failed is not None:
            return f"{failed.subject}: {failed.detail}"
        if not topic.exists():
            return f"the topic `{topic.plan.name}` does not exist"
        if not topic.plan.managed:
            topic.create(contracts)
        return ""
    except Exception as error:  # noqa: BLE001 - channels of others raise what they like, and the reason is the answer
        return str(error) or type(error).__name__


_QUIET = 2.0
_PAUSE = 0.5


def await_servers(
    topics: Sequence[TopicPlan], waiting: Callable[[str], None], *, patience: float | None = None
) -> Check | None:
    """Wait until the servers of topics answer.

    Arguments:
        topics: the topics of an application.
        waiting: called once, after two seconds without an answer, with what is being waited for.
        patience: how long to wait, in seconds; None for `PATIENCE`. A check that has begun is completed.

    Returns:
        Why a server cannot be used; None if all of them answer.
    """
    failed: Future[Check | None] = Future()

    def work() -> None:
        try:
            failed.set_result(_first_failure(topics, time.monotonic() + (PATIENCE if patience is None else patience)))
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            failed.set_exception(error)

    threading.Thread(target=work, name="await-servers", daemon=True).start()
    try:
        return failed.result(_QUIET)
    except TimeoutError:
        waiting(", ".join(sorted({f"{topic.channel} {topic.location}" for topic in topics if topic.location})))
        return failed.result()


def unavailable(
    topics: Sequence[TopicPlan], waiting: Callable[[str], None], *, patience: float | None = None
) -> dict[tuple[str, str], Check]:
    """Return why the servers of topics cannot be used, by channel and location.

    For the arguments see `await_servers`.
    """
    failed: dict[tuple[str, str], Check] = {}
    for place in sorted({(topic.channel, topic.location) for topic in topics}):
        there = [topic for topic in topics if (topic.channel, topic.location) == place]
        if check := await_servers(there, waiting, patience=patience):
            failed[place] = check
    return failed


def _first_failure(topics: Sequence[TopicPlan], end: float) -> Check | None:
    while True:
        failed = next((check for check in _checks(topics) if check.state is State.ERROR), None)
        if failed is None or failed.lasting or time.monotonic() >= end:
            return failed
        time.sleep(_PAUSE)


def _checks(topics: Sequence[TopicPlan]) -> Iterator[Check]:
    for name in sorted({topic.channel for topic in topics}):
        yield from CHANNEL_TYPES[name].check([topic for topic in topics if topic.channel == name])
