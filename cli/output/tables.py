"""Plain tables with aligned columns, cut to the width of a terminal; in files and pipes they are complete."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[str] = ()) -> None:
    """Print a table.

    Arguments:
        columns: the headings.
        rows: the cells.
        right: the headings of right-aligned columns, such as numbers.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        console = Console(width=10_000)  # A program reads it, so nothing is cut or wrapped.
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(escape(column), justify="right" if column in right else "left")
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)
