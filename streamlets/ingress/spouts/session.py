"""`Session`: one run of a spout, from its lease to its end: what programs and generators have in common."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Self

from blueprint.plan import StreamletPlan
from streamlets.channels.base import TopicResource
from streamlets.ingress.spouts.lease import Lease
from streamlets.ingress.spouts.report import ReportFile, report_file
from streamlets.ingress.spouts.writer import Committed, TransactionWriter
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed
from streamlets.runner.hosts import HostContext
from streamlets.runner.supervision.facts import Progressed, Seen, Started

NO_REPLICAS = "a spout does not run on Spark"
"""Why a spout has no replicas."""


class GivenUpError(Exception):
    """The spout was stopped before it had its lease."""


class Session:
    """The lease and the writer of a run of a spout. As a context manager, it ends the run.

    Arguments:
        plan: the spout.
        context: the run of the application.
        topics: the topics by id.
        run: the number of the unit's run.
        stopping: is set when the unit drains or stops.
        port: the port of its service.
    """

    def __init__(
        self, plan: StreamletPlan, context: HostContext, topics: Mapping[str, TopicResource], run: int,
        stopping: threading.Event, port: int | None = None,
    ) -> None:  # fmt: skip
        self._plan, self._context, self._topics, self._run = plan, context, topics, run
        self._stopping, self._port = stopping, port
        self._id = UnitId(plan.ref)
        self._started = self._waited = False
        self._resources = ExitStack()
        self._report = ReportFile(report_file(context.state, plan.ref))
        self.writer: TransactionWriter

    def __enter__(self) -> Self:
        """Wait for the lease, and open the topics.

        Raises:
            GivenUpError: the unit was stopped in the meantime.
            WriterFencedError, TopicLostError, TopicWriteError, OSError: a topic or the lease cannot be used.
        """
        with self._resources:
            lease = Lease(self._context.state.spouts / self._plan.ref, self._stopping.wait, self._standing_by)
            if not lease.acquire():
                raise GivenUpError
            self._resources.enter_context(lease)
            self._resources.callback(self._report.write)  # after the writer has ended its last transaction
            writer = TransactionWriter(self._plan, self._topics, lease.epoch, self._committed)
            self.writer = self._resources.enter_context(writer)
            self._report.started(lease.epoch, self._port)
            self._resources = self._resources.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def started(self) -> None:
        """Report that the spout is running."""
        if self._waited:
            self._context.report(Seen(UnitChanged(time.time(), self._id, "running")))
        elif not self._started:
            self._started = True
            self._context.report(Started(self._id, self._run))

    def _committed(self, committed: Committed) -> None:
        """Report a committed transaction."""
        self._report.committed(committed.records, committed.dead_letters)
        progress = UnitProgressed(
            time.time(), self._id, None, 0, {committed.outlet: committed.records}, dead_letters=committed.dead_letters
        )
        self._context.report(Progressed(self._run, progress))

    def _standing_by(self, owner: str) -> None:
        """Report that another instance has the lease. For the supervisor the unit is running, so that it can drain."""
        self._context.report(Started(self._id, self._run))
        self._started = self._waited = True
        waiting = f"waiting for {owner}, which runs it"
        self._context.report(Seen(UnitChanged(time.time(), self._id, "starting", waiting=waiting)))


def in_thread(name: str, run: Callable[[], None]) -> None:
    """Run a function in a daemon thread."""
    threading.Thread(target=run, name=name, daemon=True).start()
