"""`GeneratorUnit`: a generator spout, as a unit of the supervisor: a thread in the runner."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, nullcontext
from itertools import chain
from typing import Any

from blueprint.plan import StreamletPlan
from streamlets.api.errors import StreamletError
from streamlets.channels.base import TopicResource
from streamlets.contract.typed_batch import typed_batch
from streamlets.ingress.spouts.codecs import Row
from streamlets.ingress.spouts.generator import SpoutOutput, SpoutTransaction
from streamlets.ingress.spouts.pulse import Pulse, WatchedEvent
from streamlets.ingress.spouts.session import NO_REPLICAS, GivenUpError, Session, in_thread
from streamlets.ingress.spouts.streamlet import GeneratorSpout
from streamlets.ingress.spouts.writer import Committed, RefusedError, TransactionWriter
from streamlets.ingress.stuck_report import StuckReport
from streamlets.runner.events.status import UnitId
from streamlets.runner.hosts import HostContext
from streamlets.runner.supervision.facts import Ended
from streamlets.spark.failure import Failure, failure_of, text_of

_SILENT = "no transaction, and no call of `out.wait` or look at `out.stopping`,"
"""The silence of a generator that is stuck."""


class GeneratorUnit:
    """A generator and its transactions. It completes when `run` returns.

    Arguments:
        plan: the spout.
        topics: the topics by id.
        context: the run of the application.
        load: returns an instance of the class.
    """

    host = "spouts"
    wall_clock = False
    unscalable = NO_REPLICAS
    bounded = True

    def __init__(
        self, plan: StreamletPlan, topics: Mapping[str, TopicResource], context: HostContext,
        load: Callable[[], GeneratorSpout],
    ) -> None:  # fmt: skip
        self.id, self.retry = UnitId(plan.ref), plan.settings.retry
        self._plan, self._topics, self._context, self._load = plan, topics, context, load
        self._pulse = Pulse()
        self._stopping: threading.Event = WatchedEvent(self._pulse)
        self._abandoned = threading.Event()
        self._number = 0
        self._thread: int | None = None
        self._stuck = StuckReport(self.id, plan.settings, context.report)

    def start(self, run: int, *, last: bool = False, replicas: int | None = None) -> None:
        """Start the generator."""
        self._pulse, self._thread = Pulse(), None
        self._number, self._stopping, self._abandoned = run, WatchedEvent(self._pulse), threading.Event()
        stopping, abandoned = self._stopping, self._abandoned
        in_thread(f"spout-{self.id}", lambda: self._run(run, stopping, abandoned))

    def drain(self) -> None:
        """Close the generator after the transaction that it is making."""
        self._stopping.set()

    def stop(self) -> None:
        """Report the end at once. A generator that hangs keeps its thread, but nothing that it yields is committed."""
        self._abandoned.set()
        self._stopping.set()
        self._context.report(Ended(self.id, self._number))

    def kill(self) -> None:
        """Do nothing: `stop` reports the end at once."""

    def check(self) -> None:
        """Report a generator that gives no sign of life; its end its thread always reports."""
        if self._thread is not None:  # else it waits for its lease or its topics
            limit = self._plan.settings.stuck_after.seconds
            self._stuck.look(self._number, _SILENT, self._pulse.silence, limit, self._thread)

    def locate(self, batch: int, since: float) -> None:
        """Do nothing: it has no batches."""

    def _run(self, run: int, stopping: threading.Event, abandoned: threading.Event) -> None:
        failure: Failure | None = None
        try:
            spout = self._load()
            with Session(self._plan, self._context, self._topics, run, stopping) as session:
                session.started()
                self._pulse.beat()
                self._thread = threading.get_ident()
                out = SpoutOutput(self._plan.parameters, stopping, bounded=self._context.bounded)
                for _ in deliver(spout, out, session.writer, stopping.is_set, abandoned.is_set):
                    pass  # the session has reported it
        except GivenUpError:
            pass
        except RefusedError as error:
            failure = Failure(str(error))
        except BaseException as error:  # noqa: BLE001 - the author's code may even exit
            self._context.log(self.id, text_of(error))
            failure = failure_of(error, building=False)
        if not abandoned.is_set():
            self._context.report(Ended(self.id, run, failure))


def deliver(
    spout: GeneratorSpout,
    out: SpoutOutput,
    writer: TransactionWriter,
    is_stopped: Callable[[], bool],
    is_abandoned: Callable[[], bool] = lambda: False,
) -> Iterator[Committed]:
    """Commit the transactions of a generator spout, and yield the commits.

    Arguments:
        spout: the spout.
        out: the first argument of `run`.
        writer: appends the transactions.
        is_stopped: whether the next transaction is not to be made.
        is_abandoned: whether the transaction that was being made is not to be committed either.

    Raises:
        RefusedError: a record breaks the contract of an outlet without dead letters.
        StreamletError: `run` yields something else.
        Exception: of the author's code.
    """
    marker = writer.marker
    transactions = spout.run(out, None if marker is None else json.loads(marker))
    if not hasattr(transactions, "__next__"):
        raise StreamletError(
            f"`run` of `{type(spout).__name__}` must be a generator, found `{type(transactions).__name__}`: use `yield`"
        )
    with closing(transactions) if isinstance(transactions, Generator) else nullcontext():
        for transaction in transactions:
            if not isinstance(transaction, SpoutTransaction):
                raise StreamletError(f"`run` must yield `out.transaction(...)`, found `{type(transaction).__name__}`")
            if is_abandoned():
                return
            yield _commit(transaction, writer)
            if is_stopped():
                return


def _commit(transaction: SpoutTransaction, writer: TransactionWriter) -> Committed:
    outlet = writer.outlet(transaction.outlet)
    marker = None if transaction.resume is None else json.dumps(transaction.resume).encode()
    records: Any = transaction.records
    if hasattr(records, "to_batches") or hasattr(records, "num_rows"):
        batches = records.to_batches() if hasattr(records, "to_batches") else [records]
        typed = [typed_batch(batch, outlet.contract) for batch in batches]
        if all(batch is not None for batch in typed):
            return writer.commit_batches(outlet, typed, marker)
        records = chain.from_iterable(batch.to_pylist(maps_as_pydicts="strict") for batch in batches)
    rows = (Row(record, f"record {number}") for number, record in enumerate(records, 1))
    return writer.commit_rows(outlet, rows, marker)
