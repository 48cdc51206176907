"""`TopicBinding`: a streamlet's ports joined to its topics, in the runner and in the testkit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.plan import OutletPlan, StreamletPlan
from blueprint.trigger import RealTime, Trigger
from streamlets.api.context import SparkStreamletContext, TaskConnection, all_rows
from streamlets.api.errors import StreamletError
from streamlets.batches import BatchWritten
from streamlets.channels.base import Branch, Channel, TopicQuery, TopicResource
from streamlets.runner.units.returning import ReturningRows, outlet_for_others
from streamlets.spark.real_time import real_time_mode
from streamlets.triggers import trigger_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter


@dataclass(frozen=True, kw_only=True)
class TopicBinding:
    """The ports of a streamlet, joined to topics as in its plan.

    Arguments:
        plan: the plan of the streamlet.
        session: the session that opens its sources; the channels have prepared it.
        topics: the resource of each topic in the plan, by topic id, including dead letters.
        channels: the channels that store these topics, by name.
        checkpoints: the application's directory of checkpoints, with `<streamlet>/<query>` below it.
        on_batch: takes each batch that a query of the streamlet wrote to topics, or its sink to files.
        real_time: whether queries with a real-time trigger run in real-time mode; otherwise they run in batches.
        print_line: shows a line in the terminal of the run, from any thread.
    """

    plan: StreamletPlan
    session: SparkSession
    topics: Mapping[str, TopicResource]
    channels: Mapping[str, Channel]
    checkpoints: Path
    on_batch: Callable[[BatchWritten], None] | None = None
    real_time: bool = False
    print_line: Callable[[str], None] = print

    def read(self, inlet: str, *, name: str, metadata: bool) -> DataFrame:
        """Return a streaming DataFrame with the inlet's schema. Its source has the name `name` with source evolution.

        Raises:
            StreamletError: no topic is joined to the inlet.
        """
        for plan in self.plan.inlets:
            if plan.name == inlet:
                source = name if self.plan.settings.source_evolution else ""
                return self.topics[plan.topic].read(
                    self.session, plan, name=source, metadata=metadata, replicas=self.plan.settings.replicas
                )
        raise StreamletError(f"no topic is joined to the inlet `{self.plan.ref}.{inlet}`")

    def write(
        self,
        rows: DataFrame,
        branches: Mapping[str, Callable[[DataFrame], DataFrame]],
        *,
        query: str,
        output_mode: str,
        trigger: Trigger | None = None,
    ) -> DataStreamWriter:
        """Return an unstarted writer that writes rows to each outlet (by name).

        Raises:
            StreamletError: no topic is joined to an outlet, the outlets' topics or their dead letters are on several
                channels, the columns of a single outlet's rows do not conform to its schema, or the rows of an outlet
                cannot be split.
        """
        wanted = [self._branch(outlet, part) for outlet, part in branches.items()]
        for branch in wanted:
            if branch.rows is all_rows:
                _require_conformance(rows, branch.outlet)
        real_time = self.real_time and isinstance(trigger_of(self.plan, query, trigger), RealTime)
        joined = tuple(part for branch in wanted for part in self._parts(branch, branches, query, real_time=real_time))
        channels = sorted({branch.topic.plan.channel for branch in joined})
        if len(channels) > 1:
            raise StreamletError(
                f"the query `{query}` writes to topics on several channels ({', '.join(channels)}): "
                "write each outlet in a query of its own with `write_stream`"
            )
        channel, dead_letters = self.channels[channels[0]], self._dead_letters(joined)
        target = self._target(query)
        if not real_time:
            return channel.writer(rows, joined, dead_letters, target).outputMode(output_mode)
        if not channel.traits.real_time:
            raise StreamletError(
                f"the channel `{channel.name}` of the query `{query}` does not support real-time triggers"
            )
        try:
            writer = channel.real_time_writer(rows, joined, dead_letters, target)
        except ValueError as error:
            raise StreamletError(str(error)) from None
        return writer.outputMode(real_time_mode(rows, output_mode))

    def task_source(self, outlet: str) -> TaskConnection:
        """Return the connection of a batch source with this outlet.

        Raises:
            StreamletError: the streamlet has no such outlet, or no topic for tasks.
        """
        if self.plan.tasks is None:
            raise StreamletError(f"`{self.plan.ref}` has no topic for tasks")
        tasks = self.topics[self.plan.tasks].plan
        return TaskConnection(
            self._branch(outlet, all_rows).outlet, tasks, self.plan.secrets, self.plan.version,
            self.plan.settings.replicas,
        )  # fmt: skip

    def checkpoint_dir(self, name: str) -> str:
        """Return the directory of a query's checkpoint."""
        return str(self.checkpoints / self.plan.ref / name)

    def _target(self, query: str) -> TopicQuery:
        """Return the query as channels know it."""
        return TopicQuery(streamlet=self.plan.ref, name=query, version=self.plan.version, on_batch=self.on_batch)

    def _parts(
        self, branch: Branch[TopicResource], written: Collection[str], query: str, *, real_time: bool
    ) -> tuple[Branch[TopicResource], ...]:
        """Return a branch as it is; or the part that returns into a cycle, and the part that leaves it."""
        other = outlet_for_others(self.plan, branch.outlet, written, query, real_time=real_time)
        if other is None:
            return (branch,)
        parts = ReturningRows(branch.outlet, branch.rows)
        return replace(branch, rows=parts.returning), self._branch(other, parts.leaving)

    def _dead_letters(self, branches: Iterable[Branch[TopicResource]]) -> TopicResource | None:
        """Return the topic of the dead letters of a query's outlets; None if they have none."""
        sending = [branch for branch in branches if branch.outlet.on_invalid == "dead-letters"]
        if not sending or self.plan.dead_letters is None:
            return None
        topic, target = self.topics[self.plan.dead_letters], sending[0].topic
        if topic.plan.channel != target.plan.channel:
            raise StreamletError(
                f"the dead letters of `{self.plan.ref}.{sending[0].outlet.name}` are on the channel "
                f"`{topic.plan.channel}`, but its topic `{target.plan.id}` is on `{target.plan.channel}`: "
                "a query writes both to one channel"
            )
        return topic

    def _branch(self, outlet: str, rows: Callable[[DataFrame], DataFrame]) -> Branch[TopicResource]:
        for plan in self.plan.outlets:
            if plan.name == outlet:
                return Branch(plan, rows, self.topics[plan.topic])
        raise StreamletError(f"no topic is joined to the outlet `{self.plan.ref}.{outlet}`")


def _require_conformance(rows: DataFrame, outlet: OutletPlan) -> None:
    from streamlets.contract import ContractError, conformance

    try:
        conformance(rows.schema, outlet.contract, extra=outlet.extra)
    except ContractError as error:
        raise StreamletError(f"the outlet `{outlet.name}`: {error}") from None


def context_of(binding: TopicBinding) -> SparkStreamletContext:
    """Return the context of the logic of the binding's streamlet."""
    plan = binding.plan
    return SparkStreamletContext(
        session=binding.session,
        streamlet_ref=plan.ref,
        config=plan.parameters,
        volume_mounts={name: Path(directory) for name, directory in plan.volume_mounts.items()},
        ports=binding,
        directory=Path(plan.directory),
        on_batch=binding.on_batch,
        state=binding.checkpoints.parent.absolute(),
        print_line=binding.print_line,
        texts=plan.texts,
    )
