"""A view of another package: the states of each streamlet, in a file when the run ends."""

from __future__ import annotations

from pathlib import Path

from streamlets.runner.events.event import Event
from streamlets.runner.events.status import RunStatus
from streamlets.runner.events.unit_events import UnitChanged
from streamlets.runner.events.view import View
from streamlets.runner.views import ViewContext, ViewError


class Steps:
    """Opens the view; its argument is the file, and the state whose event it fails on follows a comma."""

    def open(self, context: ViewContext) -> View:
        """Return the view."""
        if not context.argument:
            raise ViewError("write the file, as in `--view steps=steps.txt`")
        file, _, failing = context.argument.partition(",")
        return StepsView(Path(file), failing, context.plan.name)


class StepsView(View):
    """Collects the states."""

    def __init__(self, file: Path, failing: str, application: str) -> None:
        self._file, self._failing = file, failing
        self._lines = [application]

    def __exit__(self, *error: object) -> None:
        self._file.write_text("\n".join(self._lines))

    def event(self, event: Event, status: RunStatus) -> None:
        """Keep the state."""
        if not isinstance(event, UnitChanged):
            return
        if event.state == self._failing:
            raise ValueError(f"no step {event.state}")
        self._lines.append(f"{event.unit.streamlet} {event.state}")
