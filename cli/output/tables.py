"""Plain tables with aligned columns, folded to the width of a terminal; nothing in them is cut."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

_FOLDED = 10
"""The width that a folded column has at least."""

_GAP = 2
"""The blanks between two columns."""


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[str] = ()) -> None:
    """Print a table; on a terminal that is too narrow, text is folded, in the first column only if needed.

    Arguments:
        columns: the headings.
        rows: the cells.
        right: the headings of right-aligned columns, such as numbers, which are not folded.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    rows = list(rows)
    console = Console()
    if not console.is_terminal:
        console = Console(width=10_000)  # A program reads it, so nothing is folded.
    headings, whole = list(columns), frozenset(range(len(columns)))
    if _least_width(headings, rows, whole) > console.width:
        headings = [column.replace(" ", "\n") if column in right else column for column in columns]
        whole = frozenset(index for index, column in enumerate(columns) if column in right)
        if _least_width(headings, rows, whole | {0}) <= console.width:
            whole |= {0}
        console.width = max(console.width, _least_width(headings, rows, whole))  # The terminal folds what is beyond.
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for index, (column, heading) in enumerate(zip(columns, headings, strict=True)):
        table.add_column(
            escape(heading),
            justify="right" if column in right else "left",
            no_wrap=index in whole,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)


def _least_width(headings: Sequence[str], rows: Sequence[Sequence[str]], whole: Collection[int]) -> int:
    """Return the width of a table in which only the columns with these indexes are not folded."""
    width = _GAP * len(headings)  # `Table` reserves one after the last column, too.
    for index, (heading, *cells) in enumerate(zip(headings, *rows, strict=True)):
        longest = max(map(len, [*(heading.split("\n") if index in whole else heading.split()), *cells]))
        width += longest if index in whole else min(longest, _FOLDED)
    return width
