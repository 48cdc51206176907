"""`Detached`: a view in a thread of its own, which can neither delay a run nor end it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Full, Queue
from typing import Self

from streamlets.runner.events.event import Event
from streamlets.runner.events.status import RunStatus
from streamlets.runner.events.view import View

_MOST_WAITING = 10_000
"""Events that wait for a slow view. Further ones are dropped: the status that comes with the next one includes them."""

_PATIENCE = 5.0
"""Seconds that a view has at the end of a run for the events that still wait."""


class Detached(View):
    """Passes events to a view in its thread, until the view fails.

    Arguments:
        view: entered and left in the thread of the run, so that it can refuse to be opened.
        failed: takes the exception of the view.
    """

    def __init__(self, view: View, failed: Callable[[Exception], None]) -> None:
        self._view, self._failed = view, failed
        self.traced = view.traced
        self._waiting: Queue[tuple[Event, RunStatus] | None] = Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._show, name=type(view).__name__, daemon=True)

    def __enter__(self) -> Self:
        self._view.__enter__()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Wait for the view, but not for long."""
        with suppress(Full):
            self._waiting.put(None, timeout=_PATIENCE)
        self._thread.join(_PATIENCE)
        self._view.__exit__(*error)

    def event(self, event: Event, status: RunStatus) -> None:
        """Let the thread show the event."""
        if self._thread.is_alive():
            with suppress(Full):
                self._waiting.put_nowait((event, status))

    def _show(self) -> None:
        try:
            while (shown := self._waiting.get()) is not None:
                self._view.event(*shown)
        except Exception as error:  # noqa: BLE001 - the code of a package; the run goes on without the view
            self._failed(error)
