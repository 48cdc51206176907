"""The terminal sink: the first rows of each batch as a table, shown where the run is watched."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from rich.console import RenderableType


class TerminalRecord:
    """What is known of batches that are only shown: showing one again does no harm."""

    def may_have_written(self, id: str, batch: int) -> bool:
        """Nothing of a batch outlives its display."""
        return False

    def forget(self, id: str) -> None:
        """Nothing is kept."""


@dataclass(frozen=True, slots=True)
class TerminalWriter:
    """The function of the sink's `foreachBatch`.

    Arguments:
        streamlet: the sink's name in the blueprint.
        print_line: shows text, a whole table at a time, so that nothing comes between its lines.
        rows: how many rows are shown at most; title: what stands above, "" for the streamlet's name and the batch.
    """

    streamlet: str
    print_line: Callable[[str], None]
    rows: int = 20
    title: str = ""

    @property
    def record(self) -> TerminalRecord:
        """What is known of its batches."""
        return TerminalRecord()

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Show a batch; one without rows is not shown."""
        found = rows.limit(self.rows + 1).collect()
        if not found:
            return
        from rich.table import Table
        from rich.text import Text

        more = "" if len(found) <= self.rows else f", the first {self.rows} rows"
        table = Table()
        for column in rows.schema.fields:
            numeric = column.dataType.typeName() in ("integer", "long", "float", "double", "decimal")
            table.add_column(column.name, justify="right" if numeric else "left")
        for row in found[: self.rows]:
            table.add_row(*(Text("" if value is None else str(value)) for value in row))
        title = self.title or f"{self.streamlet}, batch {batch}{more}"
        self.print_line(f"{title}\n{_rendered(table)}")


def _rendered(table: RenderableType) -> str:
    """The table as text that fits the terminal."""
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=shutil.get_terminal_size().columns).print(table)
    return out.getvalue().rstrip("\n")
