"""Plain tables on the terminal: aligned columns, cut to its width there and never anywhere else."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[str] = ()) -> None:
    """Print rows below a line of headings.

    Arguments:
        right: the columns that stand to the right, as numbers do.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        console = Console(width=10_000)  # a program reads it: nothing is cut or wrapped
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(escape(column), justify="right" if column in right else "left")
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)
