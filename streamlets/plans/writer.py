"""What an unstarted `DataStreamWriter` has been told; Spark keeps it to itself, so it is read by reflection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_FILES = ("parquet", "orc", "json", "csv", "text", "avro", "xml")


@dataclass(frozen=True, slots=True)
class WriterFacts:
    """A writer's sink and mode.

    Arguments:
        mode: `append`, `update` or `complete`; "" when this version of Spark keeps it elsewhere.
        format: the sink's, "" when a function takes the batches or the rows.
        options: by name, in lower case.
    """

    mode: str
    format: str
    options: dict[str, str]

    @property
    def lacks_sink(self) -> bool:
        """Whether nobody said where the rows go: Spark's default are files, and they need a path."""
        return self.format in _FILES and "path" not in self.options


def rows_of(writer: DataStreamWriter) -> DataFrame:
    """What a writer writes."""
    frame: DataFrame = writer._df  # noqa: SLF001 - Spark's writer does not tell
    return frame


def facts(writer: DataStreamWriter) -> WriterFacts:
    """What a writer has been told so far."""
    inner: Any = writer._jwrite  # noqa: SLF001
    fields = {field.getName(): field for field in inner.getClass().getDeclaredFields()}

    def value(name: str) -> Any:
        if name not in fields:
            return None
        fields[name].setAccessible(True)
        return fields[name].get(inner)

    called = value("foreachBatchWriter") or value("foreachWriter")
    mode, source, given = value("outputMode"), value("source"), value("extraOptions")
    options = {}
    pairs = given.iterator() if given is not None else None
    while pairs is not None and pairs.hasNext():
        pair = pairs.next()
        options[str(pair.productElement(0)).lower()] = str(pair.productElement(1))
    return WriterFacts(mode.toString().lower() if mode is not None else "", "" if called else str(source), options)
