"""`ChannelBench`: a channel with nothing in it, for one test; `QueryBench`: queries on its topics."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from blueprint.plan import TopicPlan
from streamlets.batches import BatchWritten
from streamlets.channels.base import Branch, TopicQuery
from streamlets.spark.session import active
from streamlets.testkit.channels.records import READING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pyspark.sql import DataFrame, SparkSession

    from blueprint.avro.model import Contract
    from blueprint.plan import InletPlan, OutletPlan
    from streamlets.channels.base import Channel, Position, TopicResource
    from streamlets.channels.channel_type import ChannelType


class ChannelBench:
    """A channel with nothing in it, in a directory.

    A subclass gives the suite what it cannot know: the address of a server (`settings`), and for some traits, what only
    the storage itself can do.

    Arguments:
        type: the channel.
        directory: the state of the test; topics are below it.
        request: the request of pytest, for fixtures that the channel needs; `pytest.skip` if it cannot be tested here.
    """

    def __init__(self, type: ChannelType, directory: Path, request: pytest.FixtureRequest) -> None:
        self.type = type
        self.traits = type.traits
        self.directory = directory
        self.request = request
        self._suffix = uuid.uuid4().hex[:8]
        self.channel = self.open()

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings of every topic by their keys, such as the address of a server."""
        return {}

    @property
    def topics(self) -> Path:
        """The directory for topics."""
        return self.directory / "topics"

    def open(self) -> Channel:
        """Return the channel as another process would open it."""
        return self.type.open(self.topics)

    def plan(self, id: str, *, managed: bool = True, options: Mapping[str, object] | None = None) -> TopicPlan:
        """Return the plan of a topic, whose name no other test uses.

        Arguments:
            id: the id of the topic, with which its name begins.
            managed: whether the application creates it.
            options: settings of the topic, which replace the settings of all topics.
        """
        known = {**self.settings, **(options or {})}
        return TopicPlan(id, f"{id}-{self._suffix}", self.traits.name, managed, (), (), known)

    def topic(self, id: str, *contracts: Contract, options: Mapping[str, object] | None = None) -> TopicResource:
        """Return a topic, created if it does not exist.

        Arguments:
            id: the id of the topic.
            contracts: the contracts of its writers; default: `READING`.
            options: as for `plan`.
        """
        topic = self.channel.topic(self.plan(id, options=options))
        topic.create(contracts or (READING,))
        return topic

    def add_invalid(self, topic: TopicResource) -> None:
        """Add data that is not a record to the end of a topic, for a channel with the trait `invalid_records`.

        Arguments:
            topic: the topic.
        """
        self._required("add_invalid", "invalid_records")

    def lose(self, topic: TopicResource, until: Position) -> None:
        """Delete records as the storage does by itself, for a channel with the trait `loses_records`.

        Arguments:
            topic: the topic.
            until: the position before which its records are deleted.
        """
        self._required("lose", "loses_records")

    def shown_progress(self, topic: TopicResource, group: str) -> Position | None:
        """Return a reader's position as other tools show it, for a channel with the trait `shows_progress`.

        Arguments:
            topic: the topic.
            group: the name of the reader.

        Returns:
            The position, or None if they show no position.
        """
        self._required("shown_progress", "shows_progress")

    @property
    def late_options(self) -> Mapping[str, object]:
        """Settings of an inlet of `READING` that drops late records, for a channel with the trait `late_records`."""
        self._required("late_options", "late_records")

    @property
    def altered(self) -> Mapping[str, object]:
        """Settings that an existing topic can be given, for a channel with the trait `administration`."""
        self._required("altered", "administration")

    def _required(self, method: str, trait: str) -> NoReturn:
        raise NotImplementedError(
            f"the channel `{self.traits.name}` has the trait `{trait}`: override `{method}` in its `ChannelBench`, "
            "so that the suite can test it"
        )


class QueryBench:
    """Queries on the topics of a channel.

    Arguments:
        channels: the channel.
        session: a Spark session that no other test uses.
    """

    def __init__(self, channels: ChannelBench, session: SparkSession) -> None:
        self.root = channels.directory
        self.session = session
        self.channels = channels
        self.channel = channels.channel
        with active(session):
            self.channel.prepare(session)
        self.batches: list[BatchWritten] = []

    def topic(self, name: str) -> TopicResource:
        """Return a topic, created if it does not exist.

        Arguments:
            name: the id of the topic.
        """
        topic = self.channel.topic(self.channels.plan(name))
        topic.create([READING])
        return topic

    def read(self, inlet: InletPlan, **settings: Any) -> DataFrame:
        """Return the DataFrame that an inlet reads.

        Arguments:
            inlet: the inlet.
            settings: further arguments of `TopicResource.read`.
        """
        with active(self.session):
            return self.topic(inlet.topic).read(self.session, inlet, name="in_", **settings)

    def write(
        self,
        rows: DataFrame,
        *outlets: OutletPlan | tuple[OutletPlan, Callable[[DataFrame], DataFrame]],
        query: str = "q",
        dead_letters: str | None = None,
    ) -> Any:
        """Return a writer to the topics of outlets, with its checkpoint below the root.

        Arguments:
            rows: the rows of the query.
            outlets: the outlets, each with its part of the rows; default: all rows.
            query: the name of the query.
            dead_letters: the id of the topic of its dead letters; None without one.
        """
        writer = self.channel.writer(rows, *self.target(*outlets, query=query, dead_letters=dead_letters))
        return writer.option("checkpointLocation", str(self.checkpoint(query)))

    def target(
        self,
        *outlets: OutletPlan | tuple[OutletPlan, Callable[[DataFrame], DataFrame]],
        query: str = "q",
        dead_letters: str | None = None,
    ) -> tuple[tuple[Branch[TopicResource], ...], TopicResource | None, TopicQuery]:
        """Return the branches, the dead letters and the query of a writer.

        For `outlets`, `query` and `dead_letters` see `write`.
        """
        pairs = [outlet if isinstance(outlet, tuple) else (outlet, lambda frame: frame) for outlet in outlets]
        branches = tuple(Branch(plan, rows_of, self.topic(plan.topic)) for plan, rows_of in pairs)
        dead = self.topic(dead_letters) if dead_letters else None
        return branches, dead, TopicQuery(streamlet="writer", name=query, version="1.2", on_batch=self.batches.append)

    def run(self, writer: Any) -> Any:
        """Run a query until it has processed all available data, and return it.

        Arguments:
            writer: a writer that was not started.
        """
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(600), query.status
        return query

    def checkpoint(self, query: str = "q") -> Path:
        """Return the directory of the checkpoint of a query.

        Arguments:
            query: the name of the query.
        """
        return self.root / "checkpoints" / query

    def forget_commit(self, query: str = "q") -> int:
        """Undo the last commit of Spark, as if it had been killed before, and return the number of the batch.

        Arguments:
            query: the name of the query.
        """
        commits = self.checkpoint(query) / "commits"
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        (commits / str(last)).unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)
        return last
