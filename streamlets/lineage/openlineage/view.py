"""`OpenLineage`: the view of a run that sends OpenLineage events, one job for each streamlet."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock, Thread
from typing import Self

from blueprint.wording import counted
from streamlets.lineage.openlineage.reporter import Reporter
from streamlets.lineage.planner import Planner
from streamlets.runner.events.event import Event
from streamlets.runner.events.run_events import RunEnded
from streamlets.runner.events.status import RunStatus
from streamlets.runner.events.view import View
from streamlets.runner.views import ViewContext, ViewError

LOG = "openlineage.log"
"""The file, in the directory of logs, that has what the view reports: how many events were sent, and what failed."""

_PATIENCE = 4.0
"""Seconds that events have at the end of a run; a view as a whole has five."""


class OpenLineage:
    """Opens the view; its argument is a file or a URL, or the client of OpenLineage is configured otherwise."""

    def open(self, context: ViewContext) -> View:
        """Return the view.

        Raises:
            ViewError: the package `openlineage-python` is missing, or there is no receiver.
        """
        try:
            from streamlets.lineage.openlineage.receivers import receiver_of
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("openlineage"):
                raise
            raise ViewError(
                "it requires the package `openlineage-python`: run `pip install 'streamlets[lineage]'`"
            ) from None
        return OpenLineageView(context, receiver_of(context.argument), Planner)


class OpenLineageView(View):
    """Sends events.

    Arguments:
        context: the run.
        receiver: takes the events.
        planner: starts a process that computes the lineage of the application.
    """

    def __init__(self, context: ViewContext, receiver: object, planner: Callable[..., Planner]) -> None:
        self._context, self._receiver, self._start = context, receiver, planner
        self._lock, self._planning_lock = Lock(), Lock()
        self._planner: Planner | None = None
        self._ended = False

    def __enter__(self) -> Self:
        """Start sending, and the planner in a thread."""
        from streamlets.lineage.openlineage.sender import Sender

        self._sender = Sender(self._receiver, self._log)  # type: ignore[arg-type]
        self._reporter = Reporter(self._context, self._sender.send)
        self._planning = Thread(target=self._plan, name="openlineage planner", daemon=True)
        self._planning.start()
        return self

    def __exit__(self, *error: object) -> None:
        """End what is still open, send what waits, and log what was not sent."""
        with self._lock:
            self._reporter.abort(time.time())
        with self._planning_lock:
            self._ended = True
            if self._planner is not None:
                self._planner.stop()
        left = self._sender.close(_PATIENCE)
        lost = self._sender.dropped + self._sender.refused + left
        self._log(f"{counted(self._sender.sent, 'event')} sent, {lost} not sent")

    def event(self, event: Event, status: RunStatus) -> None:
        """Report the changes of streamlets; their runs end with the run of the application."""
        with self._lock:
            self._reporter.report(event.time, status)
            if isinstance(event, RunEnded):
                self._reporter.abort(event.time)

    def _plan(self) -> None:
        try:
            with self._planning_lock:
                if self._ended:
                    return
                self._planner = self._start(self._context.plan)
            known = self._planner.result()
        except Exception as error:  # noqa: BLE001 - such as a parameter that cannot be pickled; events go on
            if not self._ended:
                self._log(f"the lineage of columns is not known: {error}")
            return
        with self._lock:
            self._reporter.learn(known, time.time())

    def _log(self, text: str) -> None:
        """Append a line to the log of the view; a log that cannot be written stops nothing."""
        from os import environ

        from blueprint.settings.secret_sources import secrets_of_process

        masked = secrets_of_process(self._context.plan, environ).masked(text)
        stamp = datetime.now(UTC).isoformat(timespec="seconds")
        path: Path = self._context.state.logs / LOG
        with suppress(OSError), path.open("a", encoding="utf-8") as file:
            file.write(f"{stamp} {masked}\n")
