"""`Event`: the base class of everything that happens in a run.

A subclass is all that an event needs: its fields, how much it matters, its line for people, and its effect on the
status.
"""

from __future__ import annotations

import dataclasses
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Literal

from streamlets.runner.events.status import RunStatus, UnitId, UnitStatus


class Importance(IntEnum):
    """How much an event matters.

    The status and JSON have all events; each other view shows events from one of these levels on.
    """

    DATA = 0
    """Only in the status and in JSON, such as a measurement."""
    DETAIL = 1
    """Only in the log."""
    STEP = 2
    """Also a line on the terminal."""
    NOTICE = 3
    """Also above the live table."""
    WARNING = 4
    ERROR = 5


@dataclass(frozen=True, slots=True)
class Event(ABC):
    """Something that happened in a run.

    Arguments:
        time: when it happened, in seconds since the epoch.

    Attributes:
        usually: its importance, unless a subclass derives `importance` from its fields.
    """

    usually: ClassVar[Importance] = Importance.STEP

    time: float

    @property
    @abstractmethod
    def line(self) -> str:
        """The event for people, without its time; several lines if its cause has several."""

    @property
    def lines(self) -> list[str]:
        """The event for people as the lines of a terminal or a log; the first can be read alone."""
        return self.line.splitlines()

    @property
    def importance(self) -> Importance:
        """How much it matters."""
        return self.usually

    @property
    def level(self) -> Literal["info", "warning", "error"]:
        """Its level in a log."""
        if self.importance < Importance.WARNING:
            return "info"
        return "warning" if self.importance == Importance.WARNING else "error"

    def changed(self, status: RunStatus) -> RunStatus:
        """Return the status after it; by default nothing changes."""
        return status

    def data(self) -> dict[str, object]:
        """Return it as data for JSON: `event` is its class in kebab case, the rest are its fields."""
        kind = re.sub(r"(?<!^)(?=[A-Z])", "-", type(self).__name__).lower()
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if isinstance(unit := fields.pop("unit", None), UnitId):
            fields = unit.data() | fields
        return {"event": kind} | {name: _plain(value) for name, value in fields.items()}


@dataclass(frozen=True, slots=True)
class UnitEvent(Event):
    """Something that happened to a unit."""

    unit: UnitId

    def changed(self, status: RunStatus) -> RunStatus:
        """Return the status with the changed unit; an event of a unit that is not in it changes nothing."""
        unit = status.units.get(self.unit)
        return status if unit is None else status.with_unit(self.changed_unit(unit))

    def changed_unit(self, unit: UnitStatus) -> UnitStatus:
        """Return the status of the unit after the event; by default nothing changes."""
        return unit


def fold(status: RunStatus, event: Event) -> RunStatus:
    """Return the status after another event."""
    return dataclasses.replace(event.changed(status), sequence=status.sequence + 1, updated=event.time)


def json_text(data: Mapping[str, object]) -> str:
    """Return data as one line of JSON without blanks."""
    return json.dumps(data, separators=(",", ":"))


def _plain(value: object) -> object:
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value
