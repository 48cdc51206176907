"""A kind of streamlets without Spark: `Ticker` appends numbers to its topic, in a thread of the runner."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path

import pyarrow as pa

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.avro.tasks import task_contract
from blueprint.catalog import Kind
from blueprint.plan import StreamletPlan
from streamlets import AvroOutlet, PathParameter, Streamlet
from streamlets.channels.base import TopicResource
from streamlets.contract.types import arrow_schema
from streamlets.ingress.batch_sources.progress import DiscoveryProgress, progress_file, write_progress
from streamlets.ingress.batch_sources.tasks import Task, payload_of, to_batch
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
    """Counts, and fails as long as the directory with its data does not exist.

    Each tick is a task. The file `refused` in the directory has the number of a tick that fails.
    """

    kind = Kind("ticker", tasks=True)
    out = AvroOutlet(schema="number long")
    data = PathParameter("The directory of its data.")


class TickerKind:
    """Tickers run in the runner's process."""

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
    unscalable = "tickers do not run on Spark"

    def __init__(self, plan: StreamletPlan, topics: Mapping[str, TopicResource], context: HostContext) -> None:
        self.id, self.retry, self.bounded = UnitId(plan.ref), plan.settings.retry, context.bounded
        self._outlet = plan.outlets[0]
        self._topic, self._data = topics[self._outlet.topic], Path(str(plan.parameters["data"]))
        assert plan.tasks is not None and plan.dead_letters is not None  # its kind has tasks
        self._tasks, self._letters = topics[plan.tasks], topics[plan.dead_letters]
        self._progress = progress_file(context.state.directory, plan.ref)
        self._context = context
        self._stopping = threading.Event()

    def start(self, run: int, *, last: bool = False, replicas: int | None = None) -> None:
        """Start in a thread."""
        self._stopping = threading.Event()
        threading.Thread(target=self._run, args=(run, self._stopping), daemon=True).start()

    def drain(self) -> None:
        """Have it end after its running tick."""
        self._stopping.set()

    def stop(self) -> None:
        """Have it end after its running tick, too: a tick is short."""
        self._stopping.set()

    def kill(self) -> None:
        """Do nothing: a tick is short."""

    def check(self) -> None:
        """Do nothing: its thread always reports its end."""

    def locate(self, batch: int, since: float) -> None:
        """Do nothing: it has no batches."""

    def _refused(self) -> int | None:
        file = self._data / "refused"
        return int(file.read_text()) if file.exists() else None

    def _run(self, run: int, stopping: threading.Event) -> None:
        try:
            me = self.id.streamlet
            with (
                self._topic.appender(self._outlet.contract, writer=me) as appender,
                self._tasks.appender(task_contract(), writer=me) as tasks,
                self._letters.appender(dead_letter_contract(), writer=me) as letters,
            ):
                self._context.report(Started(self.id, run))
                first = 0 if appender.last is None else appender.last + 1
                for tick in islice(itertools.count(first), BOUNDED if self.bounded else None):
                    if stopping.wait(0.02):
                        break
                    if not self._data.is_dir():
                        raise FileNotFoundError(f"there is no directory `{self._data.name}`")
                    tasks.append([to_batch([Task(tick, *payload_of({"tick": tick}))])], tick)
                    write_progress(self._progress, DiscoveryProgress(discovered=tick + 1))
                    if tick == self._refused():
                        letters.append([_letter(me, tick)], tick)
                        continue
                    numbers = pa.array(range(tick * ROWS, (tick + 1) * ROWS), pa.int64())
                    appender.append([pa.record_batch([numbers], names=["number"])], tick)
                    progress = UnitProgressed(time.time(), self.id, None, 0, {self._outlet.name: ROWS})
                    self._context.report(Progressed(run, progress))
        except Exception as error:  # noqa: BLE001 - any failure is one of the unit
            self._context.log(self.id, text_of(error))
            self._context.report(Ended(self.id, run, Failure(f"{type(error).__name__}: {error}")))
        else:
            self._context.report(Ended(self.id, run))


def _letter(streamlet: str, tick: int) -> pa.RecordBatch:
    """Return the dead letter of a tick that failed."""
    reason = f"tick {tick} is refused"
    record = {"task": tick, "payload": f"{tick}", "attempts": 1, "error": reason}
    letter = {
        "record": json.dumps(record), "port": f"{streamlet}.tasks", "coordinates": f"task/{tick}",
        "reason": reason, "time": int(time.time() * 1e6), "version": "",
    }  # fmt: skip
    return pa.RecordBatch.from_pylist([letter], arrow_schema(dead_letter_contract()))
