"""The table of the streamlets of a run, fitted to the width of a terminal; nothing in it is cut."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from textwrap import TextWrapper
from typing import TYPE_CHECKING

from cli.output import streamlets

if TYPE_CHECKING:
    from rich.table import Table

    from streamlets.runner.events.status import RunStatus

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

_OMITTED = ("for", "rows/s", "state rows", "time left", "oldest task", "out", "restarts", "late", "in", "backlog")
"""The columns that a narrow terminal does not show, from the first to be omitted to the last."""

_OMITTED_FIRST = 4
"""How many of these are omitted before names of streamlets are folded."""

_STATES = {"state": 18, "last state": 18}
_FOLDED = {"streamlet": 14} | _STATES
"""The columns whose cells may be folded, and the widths that they have at least."""

_NARROW = {"streamlet": 9, "state": 11, "last state": 11}
"""The same on a terminal that is narrower than any that people use."""

_GAP = 2
"""The blanks between two columns."""


def streamlet_table(status: RunStatus, now: float, width: int, *, live: bool = True, bounded: bool = False) -> Table:
    """Return the table in the first form that fits: with short numbers, then without the columns that matter least.

    Arguments:
        status: the status of the run.
        now: the time of the status in seconds since the epoch.
        width: of the terminal.
        live: whether the run is alive.
        bounded: whether it ends when all records are processed.
    """
    headings, rows = streamlets.columns(status, now, live=live, bounded=bounded)
    forms = [
        *((_OMITTED[:number], _STATES) for number in range(_OMITTED_FIRST + 1)),
        *((_OMITTED[:number], _FOLDED) for number in range(len(_OMITTED) + 1)),
        (_OMITTED, _NARROW),
    ]
    for omitted, folded in forms:
        if sum(_narrowest(headings, rows, omitted, folded)) <= width:
            break
        headings, rows = streamlets.columns(status, now, live=live, bounded=bounded, number=streamlets.short)
    return _drawn(status, headings, rows, omitted, folded, width)


class _Folding(TextWrapper):
    """Folds at spaces, hyphens and underscores, but not between a number and its unit."""

    wordsep_re = re.compile(r"((?<!\d)\s+|[^\s_-]+[_-]+)")


def _narrowest(
    headings: Sequence[str], rows: Sequence[Sequence[str]], omitted: Collection[str], folded: dict[str, int]
) -> list[int]:
    """Return the least width of each column that is shown, with the gap before it."""
    widths: list[int] = []
    for heading, *cells in zip(headings, *rows, strict=True):
        if heading not in omitted:
            width = max(map(len, [*heading.split(), *cells]))
            widths.append(min(width, folded.get(heading, width)) + (_GAP if widths else 0))
    return widths


def _drawn(
    status: RunStatus,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    omitted: Collection[str],
    folded: dict[str, int],
    width: int,
) -> Table:
    """Return a table of streamlets whose cells are not cut: long names and states are folded."""
    from rich.table import Table
    from rich.text import Text

    spare = max(0, width - sum(_narrowest(headings, rows, omitted, folded)))
    folded_at: dict[str, int] = {}
    for heading in (heading for heading in reversed(folded) if heading in headings):  # spare goes to the states first
        longest = max(len(heading), *(len(row[headings.index(heading)]) for row in rows))
        folded_at[heading] = min(longest, folded[heading] + spare)
        spare -= max(0, folded_at[heading] - folded[heading])
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for heading in headings:
        if heading not in omitted:
            left = heading in ("streamlet", *_STATES, "for")
            table.add_column(heading.replace(" ", "\n"), justify="left" if left else "right", no_wrap=True)
    for streamlet, row in zip(status.streamlets, rows, strict=True):
        cells = [
            Text(
                _Folding(folded_at[heading]).fill(cell) if heading in folded else cell,
                style=STATE_STYLES[streamlet.state] if heading in _STATES else "",
            )
            for heading, cell in zip(headings, row, strict=True)
            if heading not in omitted
        ]
        table.add_row(*cells)
    return table
