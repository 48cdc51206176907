"""The kind of batch sources: queries on Spark that read tasks, and a unit in the runner that discovers them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from streamlets.ingress.batch_sources.discovery import DiscoveryUnit
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitWarned
from streamlets.runner.hosts import HostContext
from streamlets.runner.topics import channels_of
from streamlets.spark.failure import text_of


class BatchSourceKind:
    """Batch sources have queries on Spark, and discover in the runner."""

    def host(self, context: HostContext) -> DiscoveryHost:
        """Return the host of the discoveries of all batch sources."""
        return DiscoveryHost(context)


class DiscoveryHost:
    """The discoveries of a run.

    Arguments:
        context: its plan has the batch sources.
    """

    def __init__(self, context: HostContext) -> None:
        self._context = context
        channels = channels_of(context.plan, context.state)
        topics = {topic.id: channels[topic.channel].topic(topic) for topic in context.plan.topics}
        run = int(time.time() * 1000)
        self.units = tuple(
            DiscoveryUnit(plan, topics[plan.tasks], context, run, letters=topics.get(plan.dead_letters or ""))
            for plan in context.plan.streamlets
            if plan.tasks is not None
        )

    def rows_in_state(self, rows: Mapping[UnitId, int | None]) -> Iterable[UnitWarned]:
        """Return no rows, as discoveries have no state, but the tasks that have failed after the discoveries ended."""
        for unit in self.units:
            try:
                yield from unit.warnings()
            except Exception as error:  # noqa: BLE001 - of a channel or the file system; `flow tasks` shows it, too
                self._context.log(unit.id, text_of(error))

    def stop(self) -> None:
        """Stop all discoveries, also one that does not end, and report which tasks are left."""
        for unit in self.units:
            unit.stop()
            try:
                unit.measure()
            except Exception as error:  # noqa: BLE001 - as above
                self._context.log(unit.id, text_of(error))
