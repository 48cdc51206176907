"""The sink `kafka`: a topic of Kafka outside of the application, through Spark's connector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from blueprint.catalog import ParameterProblem, SinkOption, SinkTraits
from streamlets.channels.kafka.client_settings import mismatches
from streamlets.channels.kafka.connector import CONNECTOR
from streamlets.egress.base import SinkQuery, SinkType, SinkWriter
from streamlets.egress.text import JSON

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

_TYPES = {
    "value": ("string", "binary"),
    "key": ("string", "binary"),
    "topic": ("string",),
    "partition": ("integer",),
    "headers": ("array",),
}
"""The columns that Spark's connector writes, and their types."""


class KafkaSink(SinkType):
    """Messages of Kafka."""

    traits: ClassVar[SinkTraits] = SinkTraits(
        name="kafka",
        description="Messages in a topic of Kafka, which is not a topic of the application.",
        guarantee="at-least-once",
        options=(
            SinkOption(
                name="kafka.bootstrap.servers", description="the servers, as `host:port,host:port`", required=True
            ),
            SinkOption(name="topic", description="the topic; default: that in the column `topic` of each record"),
            SinkOption(
                name="value",
                description="what a message has: the record as JSON, or the record's column `value` (and `key`, "
                "`headers`, `partition`, `topic`)",
                default="json",
                choices=("json", "column"),
            ),
            SinkOption(
                name="key",
                description="with `value = json`: the column that becomes the key of a message",
                columns=True,
            ),
            SinkOption(
                name="guarantee",
                description="`exactly-once`: a batch is stored, and sent in transactions, so that readers of committed "
                "messages see each message once",
                default="at-least-once",
                choices=("at-least-once", "exactly-once"),
            ),
        ),
        output_modes=("append", "update", "complete"),
        passes_on=("kafka.",),
        connector=CONNECTOR,
    )

    def open(self, rows: DataFrame, query: SinkQuery) -> SinkWriter:
        """Return Spark's writer to Kafka, or one of batches that are sent exactly once."""
        from pyspark.sql import functions as F

        once = query.options["guarantee"] == "exactly-once"

        options = {name: str(value) for name, value in query.options.items() if name.startswith("kafka.")}
        if query.options["value"] == "json":
            record = F.struct(*(F.col(f"`{name}`") for name in rows.columns))
            columns = [F.to_json(record, dict(JSON)).alias("value")]
            if "key" in query.options:
                columns.append(F.col(f"`{query.options['key']}`").cast("string").alias("key"))
            if "topic" not in query.options:
                columns.append(F.col("topic"))
            rows = rows.select(*columns)
        if once:
            from streamlets.egress.spark.kafka_batches import KafkaBatches

            if "topic" in query.options and "topic" in rows.columns:
                rows = rows.drop("topic")  # the option counts, as for Spark's connector
            batches = KafkaBatches(query)
            return SinkWriter(rows.select(*_stored(rows)).writeStream.foreachBatch(batches), batches)
        if "topic" in query.options:
            options["topic"] = str(query.options["topic"])
        return SinkWriter(rows.writeStream.format("kafka").options(**options))

    def option_problems(self, options: Mapping[str, object]) -> Iterator[ParameterProblem]:
        """Yield which options contradict each other."""
        if "key" in options and options["value"] == "column":
            message = "`key` is an option of messages as JSON; with `value = column` the column `key` is used"
            yield ParameterProblem(("options", "key"), message, ("remove `key`",), "key")
        if options["guarantee"] == "exactly-once":
            settings = {
                name.removeprefix("kafka."): str(value) for name, value in options.items() if name.startswith("kafka.")
            }
            for mismatch in mismatches(settings):
                path = ("options", f"kafka.{mismatch.key}")
                yield ParameterProblem(path, mismatch.message, (mismatch.help,), "key")

    def column_problems(self, columns: StructType, query: SinkQuery) -> Iterator[str]:
        """Yield the columns that a message cannot have. Spark would ignore them."""
        types = {field.name: field.dataType.typeName() for field in columns.fields}
        if "topic" not in query.options and types.get("topic") != "string":
            yield "the sink `kafka` requires the option `topic`, or a column `topic` of type string"
        if query.options["value"] == "json":
            return
        if "value" not in types:
            yield "with `value = column`, the sink `kafka` requires a column `value` of type string or binary"
        for name, type in types.items():
            if name not in _TYPES:
                yield f"the sink `kafka` does not write the column `{name}`: set `value = json`, or remove the column"
            elif type not in _TYPES[name]:
                expected = " or ".join(_TYPES[name])
                yield f"the column `{name}` of a message must have the type {expected}, and has the type {type}"


def _stored(rows: DataFrame) -> list[Column]:
    """Return the columns of messages as `streamlets.channels.kafka.transactions` has them."""
    from pyspark.sql import functions as F

    bytes = ("key", "value")
    return [F.col(name).cast("binary").alias(name) if name in bytes else F.col(name) for name in rows.columns]
