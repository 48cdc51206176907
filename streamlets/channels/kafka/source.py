"""Reading a topic with Spark's Kafka source, and decoding its messages in Java.

A message that is not a record fails the query, with its topic, partition, offset and the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from blueprint.avro.model import Contract
from streamlets.channels.base import METADATA
from streamlets.channels.kafka.avro_columns import avro_record, require_readable, texts_from_bytes
from streamlets.contract.types import spark_schema
from streamlets.contract.wire.avro_formats import fingerprint_header, id_header
from streamlets.contract.wire.errors import TOMBSTONE
from streamlets.contract.wire.text_formats import require_json, single_field

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from blueprint.plan import InletPlan
    from streamlets.channels.kafka.clusters import ClusterTopic

_PARTITION, _OFFSET, _VALUE = "_streamlets_partition", "_streamlets_offset", "_streamlets_value"
_RECORD, _REASON, _CORRUPT = "_streamlets_record", "_streamlets_reason", "_streamlets_corrupt"

# The last header of a name counts, as for Kafka's own `lastHeader`: a map of Spark has a name only once.
_HEADERS = """map_from_entries(transform(
    filter(headers, (header, number) -> NOT exists(
        slice(headers, number + 2, size(headers)), later -> later.key = header.key)),
    header -> struct(header.key, header.value)))"""


def read_topic(
    topic: ClusterTopic, session: SparkSession, inlet: InletPlan, *, name: str, metadata: bool = False
) -> DataFrame:
    """Return a streaming DataFrame of the records of a topic; see `TopicResource.read`.

    Raises:
        UnreadableRecordsError: the topic has a writer whose schema the inlet's schema cannot read.
    """
    from pyspark.sql import functions as F

    reader = session.readStream.format("kafka").options(**_options(topic, inlet))
    messages = (reader.name(name) if name else reader).load().select(*_coordinates(metadata))
    decoded = _decode(messages, topic, inlet.contract)
    place = (F.lit(f"topic `{topic.name}`, partition "), F.col(_PARTITION), F.lit(", offset "), F.col(_OFFSET))
    reason = F.when(F.col(_VALUE).isNull(), F.lit(TOMBSTONE)).otherwise(F.col(_REASON))
    # Spark decodes a message again for each filter of the author that it moves before the decoding. It does not move
    # filters before an expression that is not deterministic, as this condition seems to be.
    failure = F.when(F.spark_partition_id() >= 0, F.raise_error(F.concat(*place, F.lit(": "), reason)))
    kept = [METADATA] if metadata else []
    # The record is made in a step of its own, or Spark would decode the message again for each of its fields.
    records = decoded.select(F.coalesce(F.col(f"{_RECORD}.ok"), failure).alias(_RECORD), *kept)
    writers = topic.state.contracts(topic.name, topic.settings)
    texts = {name for writer in writers for name in texts_from_bytes(writer, inlet.contract)}
    columns = {field.name: F.col(f"{_RECORD}.`{field.name}`") for field in inlet.contract.record.fields}
    valid = (F.make_valid_utf8(column).alias(name) if name in texts else column for name, column in columns.items())
    return records.select(*valid, *kept)


def _options(topic: ClusterTopic, inlet: InletPlan) -> dict[str, str]:
    settings = {f"kafka.{key}": value for key, value in topic.cluster.connections.consumer.java.items()}
    limit = {"maxOffsetsPerTrigger": str(inlet.max_records)} if inlet.max_records else {}
    return {
        **settings,
        "kafka.isolation.level": "read_committed",
        "subscribe": topic.name,
        "startingOffsets": inlet.starting,
        "failOnDataLoss": str(topic.settings.on_data_loss == "fail").lower(),
        "includeHeaders": "true",
        **limit,
    }


def _coordinates(metadata: bool) -> list[Column]:
    """Return the value of a message, its partition and offset, and the column `_meta` if requested."""
    from pyspark.sql import functions as F

    columns = [F.col("partition").alias(_PARTITION), F.col("offset").alias(_OFFSET), F.col("value").alias(_VALUE)]
    if metadata:
        meta = F.struct(
            F.col("partition").cast("string").alias("position"),
            F.col("offset").alias("sequence"),
            F.col("timestamp"),
            F.col("key"),
            F.expr(_HEADERS).alias("headers"),
        )
        columns.append(meta.alias(METADATA))
    return columns


def _decode(messages: DataFrame, topic: ClusterTopic, reader: Contract) -> DataFrame:
    """Add a struct whose field `ok` is the record, null if a message is not a record, and the reason for that."""
    from pyspark.sql import functions as F

    value = F.col(_VALUE)
    reason = F.lit("the bytes are not a record of the schema")
    match topic.settings.format:
        case "json":
            return _decode_json(messages, reader)
        case "plain-avro":
            record = avro_record(value, reader, reader)
        case "bytes":
            name, kind = single_field(reader)
            text = F.when(F.is_valid_utf8(value.cast("string")), value.cast("string")) if kind == "string" else value
            record = F.struct(F.when(text.isNotNull(), F.struct(text.alias(name))).alias("ok"))
            reason = F.lit("the bytes are not a string in UTF-8")
        case "avro":
            writers = topic.state.schemas.of(topic.name)
            headers = {fingerprint_header(fingerprint): writer for fingerprint, writer in sorted(writers.items())}
            record, reason = _by_header(value, headers, topic, reader)
        case "confluent":
            registered = topic.state.registry(topic.name, topic.settings).contracts()
            headers = {id_header(number): writer for number, writer in sorted(registered.items())}
            record, reason = _by_header(value, headers, topic, reader)
    return messages.withColumns({_RECORD: record, _REASON: reason})


def _by_header(
    value: Column, headers: dict[bytes, Contract], topic: ClusterTopic, reader: Contract
) -> tuple[Column, Column]:
    """Return the record of a message whose first bytes name the schema of its writer, and why it is not a record."""
    from pyspark.sql import functions as F

    # Without a known writer, no message has the header of the reader's schema.
    headers = headers or {fingerprint_header("0" * 16): reader}
    size = len(next(iter(headers)))
    header, data = value.substr(1, size), F.expr(f"substring({_VALUE}, {size + 1})")
    record: Column | None = None
    for first, writer in headers.items():
        require_readable(topic.name, writer, reader)
        named, decoded = header.eqNullSafe(F.lit(first)), avro_record(data, writer, reader)
        record = F.when(named, decoded) if record is None else record.when(named, decoded)
    assert record is not None
    known = header.isin([F.lit(first) for first in headers])
    unknown = F.concat(F.lit("no known schema has the header "), F.hex(header))
    reason = F.when(known, F.lit("the bytes are not a record of the schema in their header")).otherwise(unknown)
    return record, reason


def _decode_json(messages: DataFrame, reader: Contract) -> DataFrame:
    """Decode JSON objects. Members that the contract does not have are ignored."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as t

    from streamlets.contract.conform import conformance

    require_json(reader)
    schema = t.StructType([*spark_schema(reader).fields, t.StructField(_CORRUPT, t.StringType())])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    parsed = messages.select(*messages.columns, F.from_json(F.col(_VALUE).cast("string"), schema, options).alias("_"))
    flat = parsed.select(*messages.columns, "_.*")
    fit = conformance(parsed.select("_.*").drop(_CORRUPT).schema, reader)
    malformed = F.when(F.col(_CORRUPT).isNotNull(), F.lit("the message is not a JSON object of the schema"))
    reason = F.coalesce(malformed, fit.reason) if fit.reason is not None else malformed
    record = F.struct(F.when(F.col(_VALUE).isNotNull() & reason.isNull(), F.struct(*fit.columns)).alias("ok"))
    return flat.select(*messages.columns, record.alias(_RECORD), reason.alias(_REASON))
