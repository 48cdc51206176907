"""The sinks `terminal` and `console`, which show the first rows of each batch as a table."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from blueprint.catalog import ParameterType, SinkOption, SinkTraits
from streamlets.egress.base import NothingStored, SinkQuery, SinkType, SinkWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from rich.console import RenderableType

_CONSOLE_WIDTH = 20


class TerminalSink(SinkType):
    """The terminal of the run."""

    traits: ClassVar[SinkTraits] = SinkTraits(
        name="terminal",
        description="The first rows of each batch as a table on standard output.",
        guarantee="none",
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
        return SinkWriter(rows.writeStream.foreachBatch(writer), NothingStored())


class ConsoleSink(SinkType):
    """The terminal of the run, with the name and the options that Spark's sink `console` has.

    Spark's own would print between the lines of the progress, on the terminal of the Java process.
    """

    traits: ClassVar[SinkTraits] = SinkTraits(
        name="console",
        description="The first rows of each batch, with the options of Spark's console.",
        guarantee="none",
        options=(
            SinkOption(
                name="num-rows",
                description="the number of rows of a batch to show",
                type=ParameterType.INTEGER,
                default="20",
            ),
            SinkOption(
                name="truncate",
                description="cut strings to 20 characters",
                type=ParameterType.BOOLEAN,
                default="true",
            ),
        ),
        output_modes=("append", "update", "complete"),
    )

    def open(self, rows: DataFrame, query: SinkQuery) -> SinkWriter:
        """Return a writer that shows each batch."""
        width = _CONSOLE_WIDTH if query.options["truncate"] else None
        writer = TerminalWriter(query.name, query.report, int(str(query.options["num-rows"])), width=width)
        return SinkWriter(rows.writeStream.foreachBatch(writer), NothingStored())


@dataclass(frozen=True, slots=True)
class TerminalWriter:
    """The function of the sink's `foreachBatch`.

    Arguments:
        streamlet: the name of the sink in the blueprint.
        print_line: prints a string. It gets a whole table at once, so that no other output comes between its lines.
        rows: the maximum number of rows to show.
        title: the title of the table; "" for the name of the streamlet and the batch.
        width: the maximum length of a value in characters; None for any.
    """

    streamlet: str
    print_line: Callable[[str], None]
    rows: int = 20
    title: str = ""
    width: int | None = None

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Show a batch, unless it has no rows."""
        shown = rows.limit(self.rows + 1).collect()
        if not shown:
            return
        from rich.table import Table
        from rich.text import Text

        first = "the first row" if self.rows == 1 else f"the first {self.rows} rows"
        more = f", {first}" if len(shown) > self.rows else ""
        table = Table()
        for column in rows.schema.fields:
            numeric = column.dataType.typeName() in ("integer", "long", "float", "double", "decimal")
            table.add_column(column.name, justify="right" if numeric else "left")
        for row in shown[: self.rows]:
            table.add_row(*(Text(self._cell(value)) for value in row))
        title = self.title or f"{self.streamlet}, batch {batch}{more}"
        self.print_line(f"{title}\n{_rendered(table)}")

    def _cell(self, value: object) -> str:
        text = "" if value is None else str(value)
        return text if self.width is None or len(text) <= self.width else f"{text[: self.width - 3]}..."


def _rendered(table: RenderableType) -> str:
    """Return a table as a string that fits the width of the terminal."""
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=shutil.get_terminal_size().columns).print(table)
    return out.getvalue().rstrip("\n")
