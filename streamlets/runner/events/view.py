"""`View`: what shows the events of a run, such as a terminal, a file or a page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from streamlets.runner.events.event import Event
from streamlets.runner.events.status import RunStatus


class View(ABC):
    """Shows the events of a run while it is entered.

    Attributes:
        on_stdout: whether it writes to the standard output, which one view of a run can do.
        traced: whether it sends traces, whose ids the log has then, too.
    """

    on_stdout: bool = False
    traced: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:  # noqa: B027 - most views have nothing to release
        """Show no further event."""

    @abstractmethod
    def event(self, event: Event, status: RunStatus) -> None:
        """Show an event.

        Arguments:
            event: what happened.
            status: the status of the run after it.
        """

    def print_line(self, text: str) -> None:  # noqa: B027 - only a terminal has a place for it
        """Show a line that Spark prints, from any thread; by default it is not shown."""
