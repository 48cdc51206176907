"""The terminal sink shows the first rows of each batch as a table."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from blueprint.catalog import ParameterType, SinkOption, SinkTraits
from streamlets.egress.base import SinkQuery, SinkType, SinkWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from rich.console import RenderableType


class TerminalSink(SinkType):
    """The terminal of the run."""

    traits: ClassVar[SinkTraits] = SinkTraits(
        name="terminal",
        description="The first rows of each batch as a table on standard output.",
        guarantee="at-least-once",
        options=(
            SinkOption(
                name="rows",
                description="the number of rows of a batch to show",
                type=ParameterType.INTEGER,
                default="20",
            ),
            SinkOption(name="title", description="the title of the table; default: the streamlet and the batch"),
        ),
        output_modes=("append", "update", "complete"),
    )

    def open(self, rows: DataFrame, query: SinkQuery) -> SinkWriter:
        """Return a writer that shows each batch."""
        limit, title = int(str(query.options["rows"])), str(query.options.get("title", ""))
        writer = TerminalWriter(query.name, query.report, limit, title)
        return SinkWriter(rows.writeStream.foreachBatch(writer), TerminalRecord())


class TerminalRecord:
    """The record of batches that are only shown, so that showing a batch again is harmless."""

    def may_have_written(self, id: str, batch: int) -> bool:
        """Return False: a batch is not stored."""
        return False


@dataclass(frozen=True, slots=True)
class TerminalWriter:
    """The function of the sink's `foreachBatch`.

    Arguments:
        streamlet: the name of the sink in the blueprint.
        print_line: prints a string. It gets a whole table at once, so that no other output comes between its lines.
        rows: the maximum number of rows to show.
        title: the title of the table; "" for the name of the streamlet and the batch.
    """

    streamlet: str
    print_line: Callable[[str], None]
    rows: int = 20
    title: str = ""

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Show a batch, unless it has no rows."""
        shown = rows.limit(self.rows + 1).collect()
        if not shown:
            return
        from rich.table import Table
        from rich.text import Text

        more = "" if len(shown) <= self.rows else f", the first {self.rows} rows"
        table = Table()
        for column in rows.schema.fields:
            numeric = column.dataType.typeName() in ("integer", "long", "float", "double", "decimal")
            table.add_column(column.name, justify="right" if numeric else "left")
        for row in shown[: self.rows]:
            table.add_row(*(Text("" if value is None else str(value)) for value in row))
        title = self.title or f"{self.streamlet}, batch {batch}{more}"
        self.print_line(f"{title}\n{_rendered(table)}")


def _rendered(table: RenderableType) -> str:
    """Return a table as a string that fits the width of the terminal."""
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=shutil.get_terminal_size().columns).print(table)
    return out.getvalue().rstrip("\n")
