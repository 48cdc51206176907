"""The configuration of an unstarted `DataStreamWriter`, which is private in Spark and read by reflection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_READ = ("extraOptions", "foreachBatchWriter", "foreachWriter", "outputMode", "source", "trigger")
_CONTINUOUS_TRIGGER, _CONTINUOUS_QUERY = "ContinuousTrigger", "ContinuousExecution"

NOT_CONTINUOUS = "remove it, and set `trigger { real-time = 5 minutes }` for the query, or use `real_time(...)` in code"
"""The remedy for continuous processing."""
FILES = ("parquet", "orc", "json", "csv", "text", "avro", "xml")


@dataclass(frozen=True, slots=True)
class WriterFacts:
    """The sink and output mode of a writer.

    Arguments:
        mode: `append`, `update` or `complete`; "" if this version of Spark stores it elsewhere.
        format: the format of the sink; "" for a function of batches or rows.
        options: the options by name in lower case.
        continuous: whether it has Spark's trigger for continuous processing.
        batches: whether the sink is a function of batches.
    """

    mode: str
    format: str
    options: dict[str, str]
    continuous: bool = False
    batches: bool = False

    @property
    def lacks_sink(self) -> bool:
        """Whether the sink is not configured: Spark's default are files, which need a path."""
        return self.format in FILES and "path" not in self.options


def rows_of(writer: DataStreamWriter) -> DataFrame:
    """Return the frame that a writer writes."""
    frame: DataFrame = writer._df  # noqa: SLF001 - Spark's writer has no public access to it
    return frame


def with_arguments(
    writer: DataStreamWriter, name: str, args: tuple[Any, ...], named: dict[str, Any]
) -> DataStreamWriter:
    """Return the writer with the arguments of `start(path, format, outputMode, partitionBy, queryName, **options)`."""
    known = dict(zip(("path", "format", "outputMode", "partitionBy", "queryName"), args, strict=False)) | named
    if name == "toTable":
        known = {**named, "format": named.get("format") or "table"}
        known.pop("tableName", None)
    known.pop("queryName", None)
    for key, value in known.items():
        if value is None:
            continue
        if key in ("format", "outputMode"):
            writer = getattr(writer, key)(value)
        elif key == "partitionBy":
            writer = writer.partitionBy(value) if isinstance(value, str) else writer.partitionBy(*value)
        else:
            writer = writer.option(key, value)
    return writer


def facts(writer: DataStreamWriter) -> WriterFacts:
    """Return the current configuration of a writer."""
    inner: Any = writer._jwrite  # noqa: SLF001
    fields = _fields(inner.getClass().getName(), writer._df.sparkSession._jvm)  # noqa: SLF001

    def value(name: str) -> Any:
        return fields[name].get(inner) if name in fields else None

    batches = value("foreachBatchWriter")
    function = batches or value("foreachWriter")
    mode, source, extra = value("outputMode"), value("source"), value("extraOptions")
    options = {}
    pairs = extra.iterator() if extra is not None else None
    while pairs is not None and pairs.hasNext():
        pair = pairs.next()
        options[str(pair.productElement(0)).lower()] = str(pair.productElement(1))
    trigger = value("trigger")
    return WriterFacts(
        mode=mode.toString().lower() if mode is not None else "",
        format="" if function else str(source),
        options=options,
        continuous=trigger is not None and trigger.getClass().getSimpleName() == _CONTINUOUS_TRIGGER,
        batches=bool(batches),
    )


def runs_continuously(query: StreamingQuery) -> bool:
    """Return whether a query that the author has started has a continuous trigger."""
    execution: Any = query._jsq  # noqa: SLF001
    return bool(execution.streamingQuery().getClass().getSimpleName() == _CONTINUOUS_QUERY)


@cache
def _fields(name: str, jvm: Any) -> dict[str, Any]:
    """Return the readable fields of a class in a JVM; cached, as reflection takes many calls."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    kind = jvm.java.lang.Class.forName(name, True, loader)
    fields = {field.getName(): field for field in kind.getDeclaredFields()}
    readable = {field: fields[field] for field in _READ if field in fields}
    for field in readable.values():
        field.setAccessible(True)
    return readable
