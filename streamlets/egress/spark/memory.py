"""The sink `memory`: a temporary view of Spark with the last rows of a query, for notebooks and tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from blueprint.catalog import ParameterProblem, ParameterType, SinkOption, SinkTraits
from streamlets.egress.base import NothingStored, SinkQuery, SinkType, SinkWriter

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class MemorySink(SinkType):
    """A temporary view of Spark.

    Spark's own sink `memory` refuses to start on the checkpoint of an earlier run, so a query with it could not be
    restarted.
    """

    traits: ClassVar[SinkTraits] = SinkTraits(
        name="memory",
        description="The last rows, in the temporary view `global_temp.<table>` of the driver.",
        guarantee="none",
        options=(
            SinkOption(name="table", description="the name of the view; default: the name of the streamlet or query"),
            SinkOption(
                name="max-rows",
                description="the number of rows that are kept; older batches are dropped",
                type=ParameterType.INTEGER,
                default="10000",
                minimum=1,
            ),
        ),
        output_modes=("append", "update", "complete"),
        write_ahead_log=False,
    )

    def option_problems(self, options: Mapping[str, object]) -> Iterator[ParameterProblem]:
        """Yield why the view cannot have the name."""
        if "table" in options and not _NAME.fullmatch(str(options["table"])):
            help = ("use letters, digits and `_`, with a letter or `_` first",)
            yield ParameterProblem(("options", "table"), f"invalid name of a view: `{options['table']}`", help)

    def open(self, rows: DataFrame, query: SinkQuery) -> SinkWriter:
        """Return a writer that keeps the last rows."""
        table = str(query.options.get("table") or re.sub(r"\W", "_", query.name))
        writer = MemoryWriter(table, int(str(query.options["max-rows"])), complete=query.output_mode == "complete")
        return SinkWriter(rows.writeStream.foreachBatch(writer), NothingStored())


@dataclass(slots=True)
class MemoryWriter:
    """The function of the sink's `foreachBatch`.

    Arguments:
        table: the name of the view.
        max_rows: the number of rows that are kept.
        complete: whether each batch has the whole result.
    """

    table: str
    max_rows: int
    complete: bool = False
    _batches: dict[int, pa.Table] = field(default_factory=dict)

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Replace the view by one that also has the rows of a batch, or only these if they are the whole result."""
        import pyarrow as pa

        if self.complete:
            self._batches.clear()
        self._batches[batch] = rows.limit(self.max_rows).toArrow()
        while sum(kept.num_rows for kept in self._batches.values()) > self.max_rows:
            del self._batches[min(self._batches)]
        kept = pa.concat_tables(self._batches.values())
        view = rows.sparkSession.createDataFrame(kept, schema=rows.schema)
        view.createOrReplaceGlobalTempView(self.table)
