"""The terminal sink: the first rows of each batch as a table on standard output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class TerminalWriter:
    """The function of the sink's `foreachBatch`.

    Arguments:
        streamlet: the sink's name in the blueprint.
        rows: how many rows are shown at most; title: what stands above, "" for the streamlet's name and the batch.
    """

    streamlet: str
    rows: int = 20
    title: str = ""

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Show a batch; one without rows is not shown."""
        found = rows.limit(self.rows + 1).collect()
        if not found:
            return
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        more = "" if len(found) <= self.rows else f", the first {self.rows} rows"
        table = Table()
        for column in rows.schema.fields:
            numeric = column.dataType.typeName() in ("integer", "long", "float", "double", "decimal")
            table.add_column(column.name, justify="right" if numeric else "left")
        for row in found[: self.rows]:
            table.add_row(*(Text("" if value is None else str(value)) for value in row))
        console = Console()
        console.print(Text(self.title or f"{self.streamlet}, batch {batch}{more}"), soft_wrap=True)
        console.print(table)
