"""The delta channel, which stores topics as Delta tables in a directory."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.plan import OutletPlan, TopicPlan
from streamlets.channels.base import Branch, Channel, TopicQuery, TopicResource
from streamlets.channels.delta.batch import BatchWriter
from streamlets.channels.delta.clock_steps import elapsed
from streamlets.channels.delta.inspection import topics_in
from streamlets.channels.delta.layout import layout
from streamlets.channels.delta.manifest import STAGED, Manifests, writer_id
from streamlets.channels.delta.table import LOG, open_table
from streamlets.channels.delta.topic import DELETED, DeltaTopic
from streamlets.channels.delta.traits import TRAITS
from streamlets.override import override

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter


class DeltaChannel(Channel):
    """A channel that stores topics as Delta tables.

    Arguments:
        root: the directory with a subdirectory per topic.
        clock: returns the time in seconds since the epoch; default: the clock of the machine.
        timer: a clock that is never set, in seconds; default: the machine's monotonic clock, or `clock` if given.
    """

    traits = TRAITS

    def __init__(
        self, root: Path, *, clock: Callable[[], float] | None = None, timer: Callable[[], float] | None = None
    ) -> None:
        self.root = root.absolute()
        self.clock = clock or time.time
        self._timer = timer or clock or elapsed

    @override
    def topics(self) -> tuple[str, ...]:
        return tuple(path.name for path in topics_in(self.root))

    @override
    def topic(self, plan: TopicPlan) -> DeltaTopic:
        if plan.name.startswith((".", "_")) or "/" in plan.name:
            raise ValueError(
                f"invalid topic name `{plan.name}`: on the delta channel a name must not begin with `.` or `_`, or "
                "contain `/`"
            )
        return DeltaTopic(self.root, plan, self.clock, self._timer)

    @override
    def prepare(self, session: SparkSession) -> None:
        from streamlets.channels.delta.native import KIND, NativePlanner
        from streamlets.channels.delta.source import TopicSource
        from streamlets.planned.planners import register

        register(session, KIND, NativePlanner)
        session.dataSource.register(TopicSource)  # a child session does not inherit it

    @override
    def writer(
        self,
        rows: DataFrame,
        branches: tuple[Branch[TopicResource], ...],
        dead_letters: TopicResource | None,
        query: TopicQuery,
    ) -> DataStreamWriter:
        batches = BatchWriter(
            root=self.root,
            branches=tuple(Branch(_with_layout(b.outlet), b.rows, self._directory(b.topic)) for b in branches),
            dead_letters=self._directory(dead_letters) if dead_letters is not None else None,
            query=query,
            clock=self.clock,
        )
        return rows.writeStream.foreachBatch(batches)

    @override
    def forget(self, streamlet: str, query: str, id: str) -> None:
        shutil.rmtree(self.root / STAGED / writer_id(streamlet, query, id), ignore_errors=True)

    @override
    def forget_all(self) -> None:
        for name in (STAGED, DELETED):
            shutil.rmtree(self.root / name, ignore_errors=True)

    @override
    def may_have_written(self, streamlet: str, query: str, id: str, batch: int) -> bool:
        writer = writer_id(streamlet, query, id)
        if Manifests(self.root / STAGED / writer).find(batch) is not None:
            return True
        tables = (path.parent.parent for path in self.root.glob(f"*/*/{LOG}/{0:020}.json"))
        return any(open_table(path, files=False).sequence(writer) >= batch for path in tables)

    def _directory(self, topic: TopicResource) -> Path:
        if not isinstance(topic, DeltaTopic):
            raise TypeError(
                f"a query can write to one channel only, but the topic `{topic.plan.id}` is on `{topic.plan.channel}`"
            )
        return topic.path


def _with_layout(outlet: OutletPlan) -> OutletPlan:
    """Return an outlet whose `partition_by` has only the columns that partition its files."""
    return replace(outlet, partition_by=layout(outlet.contract, outlet.partition_by))
