"""How views of a run are opened, also views of other packages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from blueprint.plan import ApplicationPlan
from streamlets.runner.events.view import View
from streamlets.runner.state_directory.directory import StateDirectory

VIEWS_GROUP = "streamlets.views"
"""The group of the entry points of views."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewContext:
    """What a view is opened with.

    Arguments:
        plan: the application; it may have secrets, which no view shows.
        state: its state directory.
        bounded: whether the run ends when all available data has been processed.
        argument: what follows `=` in `--view NAME=ARGUMENT`; "" without it.
        warn: shows people a warning, from any thread, while the run goes on.
    """

    plan: ApplicationPlan
    state: StateDirectory
    bounded: bool = False
    argument: str = ""
    warn: Callable[[str], None] = field(default=lambda text: None, compare=False)


class ViewError(Exception):
    """A view cannot be opened; the message says why and what to do."""


class ViewType(Protocol):
    """Opens the views of a run that have its name."""

    def open(self, context: ViewContext) -> View:
        """Return a view of a run. It is entered before the first event and left after the last one.

        Raises:
            ViewError: it cannot be opened, for example because of its argument.
        """
