"""The table of the streamlets of a run. On a terminal it is fitted to the width, and nothing in it is cut."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import TextWrapper
from types import MappingProxyType
from typing import TYPE_CHECKING

from blueprint.wording import span
from cli.output.streamlets import short, state
from streamlets.runner.events.status import RESTING

if TYPE_CHECKING:
    from rich.table import Table

    from streamlets.runner.events.status import RunStatus, StreamletStatus

STATE_STYLES = {
    "starting": "cyan",
    "running": "green",
    "draining": "green",
    "backing-off": "yellow",
    "paused": "dim",
    "stopped": "dim",
    "completed": "bold green",
    "failed": "bold red",
}
"""The style of each state."""

_GAP = 2
"""The blanks between two columns."""


class _Folding(enum.IntEnum):
    """Which cells are folded: states only, also names, or all as on a terminal narrower than people use."""

    STATES = 0
    NAMES = 1
    ALL = 2


@dataclass(frozen=True, slots=True)
class Row:
    """A streamlet at a time.

    Arguments:
        streamlet: the streamlet.
        now: the time of the status in seconds since the epoch.
        live: whether the run is alive.
        bounded: whether it ends when all records are processed, so that the rest takes a time that can be estimated.
        number: formats a count.
        curve: the curve of its rate; "" without one.
    """

    streamlet: StreamletStatus
    now: float
    live: bool
    bounded: bool
    number: Callable[[int], str]
    curve: str = ""

    @property
    def rate(self) -> float:
        """The rows per second; 0 if nothing is processed."""
        return self.streamlet.rate(self.now) if self.live and self.streamlet.state not in RESTING else 0.0

    @property
    def busy(self) -> float:
        """The share of the last minute in batches; 0 without batches."""
        return (self.streamlet.busy(self.now) or 0.0) if self.live else 0.0

    @property
    def left(self) -> float | None:
        """The seconds until everything is processed; None if unknown."""
        backlog = self.streamlet.backlog
        return backlog / self.rate if self.bounded and backlog and self.rate else None

    @property
    def age(self) -> float | None:
        """The seconds since the streamlet is in its state; None if it is not in one."""
        return self.now - self.streamlet.since if self.live and self.streamlet.units else None

    @property
    def task_age(self) -> float | None:
        """The age of the oldest task that waits, in seconds; None without one."""
        oldest = self.streamlet.tasks.oldest if self.streamlet.tasks is not None else None
        return None if oldest is None else max(0.0, self.now - oldest)

    def count(self, count: int) -> str:
        """Return a count; "" for 0."""
        return self.number(count) if count else ""


def _time(seconds: float | None) -> str:
    return "" if seconds is None else span(seconds)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table.

    Arguments:
        heading: is shown above it.
        cell: returns the text of a streamlet.
        priority: a narrow terminal does not show the columns with the lowest priorities.
        required: whether it is shown even if all its cells are empty.
        left: whether its cells are aligned to the left.
        folded: the width at which its cells are folded at each `_Folding`; 0 if they are not; () if they never are.
        ended: the heading if the run is not alive; default: `heading`.
        is_state: whether its cells have the style of the state.
    """

    heading: str
    cell: Callable[[Row], str]
    priority: int
    required: bool = False
    left: bool = False
    folded: tuple[int, ...] = ()
    ended: str = ""
    is_state: bool = False


_LAST = 100
"""The priority of columns that are always shown."""

_BEFORE_FOLDING = 40
"""Columns up to this priority are omitted before names of streamlets are folded."""

COLUMNS = (
    Column("streamlet", lambda row: row.streamlet.ref, _LAST, required=True, left=True, folded=(0, 14, 9)),
    Column(
        "state", lambda row: state(row.streamlet, row.now), _LAST,
        required=True, left=True, folded=(18, 18, 11), ended="last state", is_state=True,
    ),
    Column("for", lambda row: _time(row.age), 10, left=True),
    Column("in", lambda row: row.number(row.streamlet.rows_in), 90, required=True),
    Column(
        "out", lambda row: row.number(sum(row.streamlet.rows_out.values())) if row.streamlet.rows_out else "", 60,
        required=True,
    ),
    Column("replicas", lambda row: row.count(row.streamlet.replicas or 0), 35),
    Column("rows/s", lambda row: row.count(round(row.rate)), 20),
    Column("last 10 minutes", lambda row: row.curve, 5, left=True),
    Column("busy", lambda row: f"{row.busy:.0%}" if row.busy >= 0.005 else "", 25),
    Column("backlog", lambda row: row.count(row.streamlet.backlog or 0), 95),
    Column("oldest task", lambda row: _time(row.task_age), 50),
    Column("time left", lambda row: _time(row.left), 40),
    Column("state rows", lambda row: row.count(row.streamlet.pending_rows), 30),
    Column("restarts", lambda row: row.count(row.streamlet.restarts), 70),
    Column("late", lambda row: row.count(row.streamlet.late), 80),
    Column("dead letters", lambda row: row.count(row.streamlet.dead_letters), _LAST),
    Column("failed tasks", lambda row: row.count(row.streamlet.tasks.failed if row.streamlet.tasks else 0), _LAST),
)  # fmt: skip
"""The columns, from the left."""


ORDERS: Mapping[str, Callable[[StreamletStatus, float], float]] = {
    "busy": lambda streamlet, now: streamlet.busy(now) or 0.0,
    "backlog": lambda streamlet, now: streamlet.backlog or 0,
    "rate": lambda streamlet, now: streamlet.rate(now),
    "state-rows": lambda streamlet, now: sum(unit.state_rows for unit in streamlet.units),
    "restarts": lambda streamlet, now: streamlet.restarts,
    "dead-letters": lambda streamlet, now: streamlet.dead_letters,
}
"""The orders of the table: the streamlets with the largest values are first."""


def ordered(status: RunStatus, order: str, now: float) -> RunStatus:
    """Return a status with its streamlets in an order of `ORDERS`; equal ones stay as they are, producers first."""
    value = ORDERS[order]
    refs = sorted(status.order, key=lambda ref: -value(status.streamlet(ref), now))
    return replace(status, order=tuple(refs))


@dataclass(frozen=True, slots=True)
class StreamletTable:
    """The columns that are shown, with their cells.

    Arguments:
        columns: the columns.
        rows: the cells of each streamlet.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def headings(self) -> list[str]:
        """The headings of the columns."""
        return [column.heading for column in self.columns]

    def above(self, priority: int) -> StreamletTable:
        """Return the table without the columns up to a priority."""
        kept = [index for index, column in enumerate(self.columns) if column.priority > priority]
        rows = tuple(tuple(row[index] for index in kept) for row in self.rows)
        return StreamletTable(tuple(self.columns[index] for index in kept), rows)

    def width_of(self, index: int) -> int:
        """Return the width of a column whose cells are not folded."""
        return max(map(len, [*self.columns[index].heading.split(), *(row[index] for row in self.rows)]))

    def least(self, index: int, folding: _Folding) -> int:
        """Return the least width of a column."""
        width, column = self.width_of(index), self.columns[index]
        return min(width, column.folded[folding] or width) if column.folded else width

    def width(self, folding: _Folding) -> int:
        """Return the least width of the table."""
        return sum(self.least(index, folding) + _GAP for index in range(len(self.columns))) - _GAP


def streamlets_of(
    status: RunStatus,
    now: float,
    *,
    live: bool = True,
    bounded: bool = False,
    number: Callable[[int], str] = "{:,}".format,
    curves: Mapping[str, str] = MappingProxyType({}),
) -> StreamletTable:
    """Return all columns that have content.

    Arguments:
        status: the status of the run.
        now: the time of the status in seconds since the epoch.
        live: whether the run is alive.
        bounded: whether it ends when all records are processed.
        number: formats a count.
        curves: the curve of the rate of each streamlet.
    """
    rows = [
        Row(streamlet, now, live, bounded, number, curves.get(streamlet.ref, "")) for streamlet in status.streamlets
    ]
    texts = {column: [column.cell(row) for row in rows] for column in COLUMNS}
    shown = {column: cells for column, cells in texts.items() if column.required or any(cells)}
    columns = (column if live or not column.ended else replace(column, heading=column.ended) for column in shown)
    return StreamletTable(tuple(columns), tuple(zip(*shown.values(), strict=True)))


def fitted(
    status: RunStatus,
    now: float,
    width: int,
    *,
    live: bool = True,
    bounded: bool = False,
    curves: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """Return the table in the first form that fits: with short numbers, then without the columns that matter least.

    Arguments:
        status: the status of the run.
        now: the time of the status in seconds since the epoch.
        width: of the terminal.
        live: whether the run is alive.
        bounded: whether it ends when all records are processed.
        curves: the curve of the rate of each streamlet.
    """
    whole = streamlets_of(status, now, live=live, bounded=bounded, curves=curves)
    brief = streamlets_of(status, now, live=live, bounded=bounded, number=short, curves=curves)
    priorities = [0, *sorted({column.priority for column in COLUMNS} - {_LAST})]
    forms = [
        (whole, _Folding.STATES),
        *((brief.above(priority), _Folding.STATES) for priority in priorities if priority <= _BEFORE_FOLDING),
        *((brief.above(priority), _Folding.NAMES) for priority in priorities),
        (brief.above(priorities[-1]), _Folding.ALL),
    ]
    table, folding = next((form for form in forms if form[0].width(form[1]) <= width), forms[-1])
    return _drawn(table, folding, width, [streamlet.state for streamlet in status.streamlets])


class _Filler(TextWrapper):
    """Folds at spaces, hyphens and underscores, but not between a number and its unit."""

    wordsep_re = re.compile(r"((?<!\d)\s+|[^\s_-]+[_-]+)")


def _drawn(table: StreamletTable, folding: _Folding, width: int, states: Sequence[str]) -> Table:
    """Return a table whose cells are not cut: long names and states are folded."""
    from rich.table import Table
    from rich.text import Text

    spare = max(0, width - table.width(folding))
    widths: dict[int, int] = {}
    for index in (index for index, column in reversed([*enumerate(table.columns)]) if column.folded):
        least = table.columns[index].folded[folding]  # spare goes to the states first
        longest = max(len(table.columns[index].heading), *(len(row[index]) for row in table.rows))
        widths[index] = min(longest, least + spare) if least else longest
        spare -= max(0, widths[index] - least) if least else 0
    drawn = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for column in table.columns:
        heading = column.heading.replace(" ", "\n")
        drawn.add_column(heading, justify="left" if column.left else "right", no_wrap=True)
    for style, row in zip(map(STATE_STYLES.__getitem__, states), table.rows, strict=True):
        cells = [
            Text(
                _Filler(widths[index]).fill(cell) if index in widths else cell,
                style=style if column.is_state else "",
            )
            for index, (column, cell) in enumerate(zip(table.columns, row, strict=True))
        ]
        drawn.add_row(*cells)
    return drawn
