"""A kind of streamlets without Spark: `Ticker` appends numbers to its topic, in a thread of the runner."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path

import pyarrow as pa

from blueprint.plan import StreamletPlan
from streamlets import AvroOutlet, PathParameter, Streamlet
from streamlets.channels.base import TopicResource
from streamlets.runner.events.record_events import RowsInState
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitProgressed
from streamlets.runner.hosts import HostContext
from streamlets.runner.supervision.facts import Ended, Progressed, Started
from streamlets.runner.topics import channels_of
from streamlets.spark.failure import Failure, text_of

ROWS = 10
"""The records of each tick."""

BOUNDED = 5
"""The ticks of a bounded run."""


class Ticker(Streamlet):
    """Counts, and fails as long as the directory with its data does not exist."""

    kind = "ticker"
    out = AvroOutlet(schema="number long")
    data = PathParameter("The directory of its data.")


class TickerKind:
    """Tickers run in the runner's process."""

    on_spark = False

    def host(self, context: HostContext) -> TickerHost:
        """Return the host of all tickers."""
        return TickerHost(context)


class TickerHost:
    """The tickers of a run."""

    def __init__(self, context: HostContext) -> None:
        channels = channels_of(context.plan, context.state)
        topics = {topic.id: channels[topic.channel].topic(topic) for topic in context.plan.topics}
        self.units = tuple(TickerUnit(plan, topics, context) for plan in context.plan.streamlets)

    def rows_in_state(self, rows: Mapping[UnitId, int | None]) -> Iterable[RowsInState]:
        """Return nothing: tickers have no state."""
        return ()

    def stop(self) -> None:
        """Do nothing: all units have ended."""


class TickerUnit:
    """A ticker."""

    host = "ticker"
    wall_clock = False

    def __init__(self, plan: StreamletPlan, topics: Mapping[str, TopicResource], context: HostContext) -> None:
        self.id, self.retry, self.bounded = UnitId(plan.ref), plan.settings.retry, context.bounded
        (self._outlet,) = plan.outlets
        self._topic, self._data = topics[self._outlet.topic], Path(str(plan.parameters["data"]))
        self._context = context
        self._stopping = threading.Event()

    def start(self, run: int) -> None:
        """Start in a thread."""
        self._stopping = threading.Event()
        threading.Thread(target=self._run, args=(run, self._stopping), daemon=True).start()

    def drain(self) -> None:
        """Have it end after its running tick."""
        self._stopping.set()

    def stop(self) -> None:
        """Have it end after its running tick, too: a tick is short."""
        self._stopping.set()

    def check(self) -> None:
        """Do nothing: its thread always reports its end."""

    def locate(self, batch: int, since: float) -> None:
        """Do nothing: it has no batches."""

    def _run(self, run: int, stopping: threading.Event) -> None:
        try:
            with self._topic.appender(self._outlet.contract, writer=self.id.streamlet) as appender:
                self._context.report(Started(self.id, run))
                first = 0 if appender.last is None else appender.last + 1
                for tick in islice(itertools.count(first), BOUNDED if self.bounded else None):
                    if stopping.wait(0.02):
                        break
                    if not self._data.is_dir():
                        raise FileNotFoundError(f"there is no directory `{self._data.name}`")
                    numbers = pa.array(range(tick * ROWS, (tick + 1) * ROWS), pa.int64())
                    appender.append([pa.record_batch([numbers], names=["number"])], tick)
                    progress = UnitProgressed(time.time(), self.id, None, 0, {self._outlet.name: ROWS})
                    self._context.report(Progressed(run, progress))
        except Exception as error:  # noqa: BLE001 - any failure is one of the unit
            self._context.log(self.id, text_of(error))
            self._context.report(Ended(self.id, run, Failure(f"{type(error).__name__}: {error}")))
        else:
            self._context.report(Ended(self.id, run))
