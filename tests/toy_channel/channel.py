"""A channel that stores topics in databases of SQLite; every process on the machine can use it."""

from __future__ import annotations

from pathlib import Path

from blueprint.plan import TopicPlan
from streamlets.channels.channel_type import ChannelType
from streamlets.channels.small import SmallChannel, query_writers
from streamlets.override import override
from tests.toy_channel.topic import DATABASE, TRAITS, ToyTopic


class ToyChannelType(ChannelType):
    """The registration of the channel."""

    traits = TRAITS

    @override
    def open(self, directory: Path) -> ToyChannel:
        return ToyChannel(directory / "_toy")


class ToyChannel(SmallChannel):
    """The topics below a directory."""

    traits = TRAITS

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    @override
    def topics(self) -> tuple[str, ...]:
        return tuple(sorted(database.parent.name for database in self.root.glob(f"*/{DATABASE}")))

    @override
    def topic(self, plan: TopicPlan) -> ToyTopic:
        if plan.name.startswith("_") or "/" in plan.name:
            raise ValueError(f"invalid topic name `{plan.name}`: on the toy channel it must not begin with `_`")
        return ToyTopic(self.root / plan.name, plan)

    @override
    def may_have_written(self, streamlet: str, query: str, id: str, batch: int) -> bool:
        topics = (self.topic(TopicPlan(name, name, self.name, True, (), (), {})) for name in self.topics())
        written = (topic.query("SELECT writer FROM writers WHERE sequence >= ?", batch) for topic in topics)
        writers = query_writers(streamlet, query, id)
        return any(writer.startswith(writers) for rows in written for (writer,) in rows)
