"""`Publisher`: passes each event of a run, with the status after it, to the views of the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streamlets.runner.events.event import Event, fold
from streamlets.runner.events.late import LateRows
from streamlets.runner.events.status import RunStatus
from streamlets.runner.events.view import View


class Publisher:
    """The events of a run on their way to its views. The status is folded here, once for all of them.

    Arguments:
        views: take each event, in this order.
        mask: replaces the secrets in an event.

    Attributes:
        status: the current status of the run, which any thread may read.
    """

    def __init__(self, views: Sequence[View], mask: Callable[[Event], Event] = lambda event: event) -> None:
        self._views = views
        self._mask = mask
        self._late = LateRows()
        self.status = RunStatus()

    def publish(self, event: Event) -> None:
        """Publish an event, after the reports of late rows that are due before it."""
        for report in (*self._late.reports(event), event):
            shown = self._mask(report)
            self.status = fold(self.status, shown)
            for view in self._views:
                view.event(shown, self.status)
