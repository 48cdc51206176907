"""Creating the topics of an application, or requiring that they exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from blueprint.plan import ApplicationPlan, TopicPlan
from streamlets.channels.base import Channel, TopicResource
from streamlets.channels.waiting import patience_of, unavailable
from streamlets.runner.resources.outcome import Outcome, attempt
from streamlets.runner.state_directory.directory import StateDirectory, StateError
from streamlets.runner.topics import channels_of, contracts_of_writers

REMEDY = "create them with `flow run --resources create-only`, as a user who may, or run with `--resources keep`"


def create_topics(plan: ApplicationPlan, state: StateDirectory, waiting: Callable[[str], None]) -> Iterator[Outcome]:
    """Create the topics of an application that do not exist, and what channels store beside them.

    A topic that cannot be created does not stop the others. The servers of topics are awaited, once for each cluster.

    Arguments:
        plan: the application.
        state: its state directory.
        waiting: called with the servers that are awaited.
    """
    channels = channels_of(plan, state)
    failed = unavailable(plan.topics, waiting, patience=patience_of(plan))
    for place in sorted({(topic.channel, topic.location) for topic in plan.topics}):
        topics = [topic for topic in plan.topics if (topic.channel, topic.location) == place]
        channel, check = channels[place[0]], failed.get(place)
        if check is not None:
            for topic in topics:
                detail = f"{check.subject}: {check.detail}"
                yield Outcome("topic", topic.name, topic.channel, "failed", detail, check.help)
            continue
        for topic in topics:
            yield create_topic(plan, topic.id, channel.topic(topic))
        if channel.traits.administration:
            yield from _create_shared(channel, topics)


def create_topic(plan: ApplicationPlan, id: str, topic: TopicResource) -> Outcome:
    """Create a topic of an application if it does not exist.

    Arguments:
        plan: the application.
        id: the id of the topic.
        topic: the topic.
    """
    existed = False

    def create() -> None:
        nonlocal existed
        existed = topic.exists()
        topic.create(contracts_of_writers(plan, id))

    outcome = attempt(Outcome("topic", topic.plan.name, topic.plan.channel, "created"), create)
    return replace(outcome, result="exists") if existed and outcome.result == "created" else outcome


def _create_shared(channel: Channel, topics: list[TopicPlan]) -> Iterator[Outcome]:
    """Create the topics that others of a cluster share; yield the failure if that is not possible."""
    shared = Outcome("topic", f"for all applications, on {topics[0].location}", channel.name, "exists")
    outcome = attempt(shared, lambda: channel.create_shared(topics))
    if outcome.result == "failed":
        yield outcome


def require_topics(topics: Iterable[TopicResource]) -> None:
    """Require that all topics of an application exist.

    Raises:
        StateError: topics do not exist.
        ChannelUnavailableError: servers do not answer.
    """
    missing = [topic.plan.name for topic in topics if not topic.exists()]
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise StateError(f"`--resources skip` creates no topics, and these do not exist: {names}", REMEDY)


def require_deletable(topics: Iterable[TopicResource]) -> None:
    """Require that all topics that an application manages can be deleted.

    A topic that stays while the checkpoints of its readers are deleted would be read again from its beginning.

    Raises:
        StateError: a topic cannot be deleted.
        TopicLostError, OSError: a topic cannot be checked.
    """
    managed = [topic for topic in topics if topic.plan.managed]
    for topic in managed:
        if not topic.traits.deletes:
            raise StateError(
                f"the topic `{topic.plan.name}` cannot be deleted: the channel `{topic.plan.channel}` does not delete "
                "topics",
                "use `--resources keep`",
            )
    others = ", ".join(f"`{topic.plan.name}`" for topic in managed if topic.exists() and not topic.created)
    if others:
        raise StateError(
            f"this application has not created these topics, so it does not delete them: {others}",
            "set `managed = no` for topics that others use, too, or use `--resources keep`",
        )
