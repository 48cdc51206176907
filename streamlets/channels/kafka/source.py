"""Reading a topic with Spark's Kafka source, and decoding its messages in Java.

A message that is not a record fails the query, with its topic, partition, offset and the reason. With dead letters at
the inlet it is counted and omitted, and `invalid_messages` reads it again.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from blueprint.avro.model import Contract, Primitive
from blueprint.avro.spark_types import optional
from streamlets.channels.base import METADATA
from streamlets.channels.kafka.avro_columns import avro_record, require_readable
from streamlets.channels.kafka.horizon import Horizon
from streamlets.channels.unreadable import UNREADABLE_RECORDS, UnreadableRecordsError
from streamlets.contract.types import spark_schema
from streamlets.contract.wire.avro_formats import MAGIC, MARKER, fingerprint_header, id_header
from streamlets.contract.wire.errors import TOMBSTONE
from streamlets.contract.wire.text_formats import require_json, single_field

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from blueprint.plan import InletPlan
    from streamlets.channels.kafka.clusters import ClusterTopic

_PARTITION, _OFFSET, _VALUE = "_streamlets_partition", "_streamlets_offset", "_streamlets_value"
_RECORD, _REASON, _PARSED = "_streamlets_record", "_streamlets_reason", "_streamlets_parsed"
_UNDECIDED, _HEADER = "_streamlets_undecided", "_streamlets_header"

_INVALID, _METRIC = "invalid", "streamlets-invalid"

_FINGERPRINT_SIZE, _ID_SIZE = len(fingerprint_header("0" * 16)), len(id_header(0))

# The last header of a name counts, as for Kafka's own `lastHeader`: a map of Spark has a name only once.
_HEADERS = """map_from_entries(transform(
    filter(headers, (header, number) -> NOT exists(
        slice(headers, number + 2, size(headers)), later -> later.key = header.key)),
    header -> struct(header.key, header.value)))"""


def read_topic(
    topic: ClusterTopic,
    session: SparkSession,
    inlet: InletPlan,
    *,
    name: str,
    metadata: bool = False,
    horizon: Horizon | None = None,
    replicas: int | None = None,
) -> DataFrame:
    """Return a streaming DataFrame of the records of a topic; see `TopicResource.read`.

    A schema that the inlet cannot read concerns only the messages that name it, because others may publish schemas.

    Arguments:
        horizon: the schemas that an inlet with dead letters knows; None for an inlet that fails.
        replicas: as for `TopicResource.read`.
    """
    from pyspark.sql import functions as F

    reader = session.readStream.format("kafka").options(**_options(topic, inlet, replicas))
    source = (reader.name(name) if name else reader).load()
    # Spark splits the partitions of a topic for `minPartitions`, but never has fewer tasks than partitions.
    shared = source if replicas is None else source.coalesce(replicas)
    messages = shared.select(*_coordinates(metadata))
    decoded = decode(_without_skipped(messages, topic), topic, inlet.contract, horizon)
    place = (F.lit(f"topic `{topic.name}`, partition "), F.col(_PARTITION), F.lit(", offset "), F.col(_OFFSET))
    # Spark decodes a message again for each filter of the author that it moves before the decoding. It does not move
    # filters before an expression that is not deterministic, as this condition seems to be.
    failing = F.spark_partition_id() >= 0
    if horizon is not None:
        failing = failing & F.col(_UNDECIDED)
    failure = F.when(failing, F.raise_error(F.concat(*place, F.lit(": "), _reason())))
    kept = [METADATA] if metadata else []
    # The record is made in a step of its own, or Spark would decode the message again for each of its fields.
    records = decoded.select(F.coalesce(F.col(f"{_RECORD}.ok"), failure).alias(_RECORD), *kept)
    if horizon is not None:
        invalid = F.count(F.when(F.col(_RECORD).isNull(), 1)).alias(_INVALID)
        records = records.observe(_metric(inlet), invalid).where(F.col(_RECORD).isNotNull())
    fields = inlet.contract.record.fields
    columns = {field.name: F.col(f"{_RECORD}.`{field.name}`") for field in fields}
    # Bytes of a writer that are a string of the reader need not be UTF-8: Avro replaces those that are not.
    texts = {
        f.name
        for f in fields
        if isinstance(held := optional(f.schema, inlet.contract)[0], Primitive) and held.type == "string"
    }
    valid = (
        F.make_valid_utf8(column).alias(name) if name in texts else column.alias(name)
        for name, column in columns.items()
    )
    return records.select(*valid, *kept)


def invalid_count(inlet: InletPlan, observed: Mapping[str, Mapping[str, Any]]) -> int:
    """Return how many messages a batch has omitted, from the observed metrics in its progress report.

    An inlet that a query reads twice counts them twice.
    """
    return sum(
        int(values.get(_INVALID) or 0)
        for name, values in observed.items()
        if name.rpartition(":")[0] == f"{_METRIC}:{inlet.name}"
    )


def invalid_messages(
    topic: ClusterTopic,
    session: SparkSession,
    inlet: InletPlan,
    ranges: Mapping[int, tuple[int, int]],
    horizon: Horizon,
) -> Iterator[Any]:
    """Yield the messages that an inlet with dead letters omits as rows, by partition and offset.

    A row has `partition`, `offset`, `timestamp`, `key`, `value`, `headers`, `reason` and `header` (of an unknown
    schema).

    Arguments:
        ranges: the first offset and the one after the last, by partition.
        horizon: the schemas that the inlet knows.
    """
    from pyspark.sql import functions as F

    if not ranges:
        return
    sides = [{topic.name: {str(number): part[side] for number, part in ranges.items()}} for side in (0, 1)]
    options = {
        **_connection(topic),
        "assign": json.dumps({topic.name: sorted(ranges)}),
        "startingOffsets": json.dumps(sides[0]),
        "endingOffsets": json.dumps(sides[1]),
        "failOnDataLoss": "false",
        "includeHeaders": "true",
    }
    raw = ["partition", "offset", "timestamp", "key", "value", "headers"]
    messages = session.read.format("kafka").options(**options).load().select(*raw, *_coordinates(metadata=False))
    decoded = decode(_without_skipped(messages, topic), topic, inlet.contract, horizon)
    chosen = decoded.where(F.col(f"{_RECORD}.ok").isNull())
    yield from chosen.select(*raw, _reason().alias("reason"), F.col(_HEADER).alias("header")).toLocalIterator()


def _metric(inlet: InletPlan) -> str:
    """Return a name for the metric of a source: the names in a query must differ."""
    return f"{_METRIC}:{inlet.name}:{uuid.uuid4().hex}"


def _without_skipped(messages: DataFrame, topic: ClusterTopic) -> DataFrame:
    from pyspark.sql import functions as F

    return messages.where(F.col(_VALUE).isNotNull()) if topic.settings.tombstones == "skip" else messages


def _reason() -> Column:
    """Return why a message is not a record."""
    from pyspark.sql import functions as F

    return F.when(F.col(_VALUE).isNull(), F.lit(TOMBSTONE)).otherwise(F.col(_REASON))


def _connection(topic: ClusterTopic) -> dict[str, str]:
    settings = {f"kafka.{key}": value for key, value in topic.cluster.connections.consumer.java.items()}
    return {**settings, "kafka.isolation.level": "read_committed"}


def _options(topic: ClusterTopic, inlet: InletPlan, replicas: int | None) -> dict[str, str]:
    limit = {"maxOffsetsPerTrigger": str(inlet.settings.max_records)} if inlet.settings.max_records else {}
    limit |= {"minPartitions": str(replicas)} if replicas is not None else {}
    return {
        **_connection(topic),
        "subscribe": topic.name,
        "startingOffsets": inlet.settings.starting,
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


def decode(messages: DataFrame, topic: ClusterTopic, reader: Contract, horizon: Horizon | None) -> DataFrame:
    """Add a struct with the record as `ok`, null if a message is not a record, and the reason for that.

    With a horizon, also add whether the schema of the message may have been published since, and the header of an
    unknown one.
    """
    from pyspark.sql import functions as F

    value = F.col(_VALUE)
    reason = F.lit("the bytes are not a record of the schema")
    undecided, header = F.lit(False), F.lit(None).cast("string")
    match topic.settings.format:
        case "json":
            messages = messages.withColumns({_UNDECIDED: undecided, _HEADER: header})
            return _decode_json(messages, topic, reader)
        case "plain-avro":
            record = avro_record(value, reader, reader)
        case "bytes":
            name, kind = single_field(reader)
            text = F.when(F.is_valid_utf8(value.cast("string")), value.cast("string")) if kind == "string" else value
            record = F.struct(F.when(text.isNotNull(), F.struct(text.alias(name))).alias("ok"))
            reason = F.lit("the bytes are not a string in UTF-8")
        case "avro":
            record, reason = _by_header(value, topic, reader, horizon)
            undecided, header = _unknown(value, MARKER, _FINGERPRINT_SIZE, horizon)
        case "confluent":
            record, reason = _by_header(value, topic, reader, horizon)
            undecided, header = _unknown(value, MAGIC, _ID_SIZE, horizon)
    return messages.withColumns({_RECORD: record, _REASON: reason, _UNDECIDED: undecided, _HEADER: header})


def headers_of(topic: ClusterTopic) -> dict[bytes, Contract]:
    """Return the contracts of the writers of a topic by the first bytes of their messages.

    Formats whose messages do not name their schema have none.
    """
    match topic.settings.format:
        case "avro":
            writers = topic.state.schemas.of(topic.name)
            return {fingerprint_header(fingerprint): writer for fingerprint, writer in sorted(writers.items())}
        case "confluent":
            registered = topic.state.registry(topic.name, topic.settings).contracts()
            return {id_header(number): writer for number, writer in sorted(registered.items())}
    return {}


def _by_header(value: Column, topic: ClusterTopic, reader: Contract, horizon: Horizon | None) -> tuple[Column, Column]:
    """Return the record of a message whose first bytes name the schema of its writer, and why it is not a record."""
    from pyspark.sql import functions as F

    headers = headers_of(topic)
    if horizon is not None:  # a schema that was published since is not decided yet
        headers = {first: writer for first, writer in headers.items() if first.hex() in horizon.known}
    size = _FINGERPRINT_SIZE if topic.settings.format == "avro" else _ID_SIZE
    header, data = value.substr(1, size), F.expr(f"substring({_VALUE}, {size + 1})")
    record = F.lit(None).cast(f"struct<ok:{spark_schema(reader).simpleString()}>")
    reason = F.concat(F.lit("no known schema has the header "), F.hex(header))
    if topic.settings.format == "confluent":
        number = F.conv(F.hex(header.substr(len(MAGIC) + 1, _ID_SIZE)), 16, 10)
        named_id = header.substr(1, len(MAGIC)).eqNullSafe(F.lit(MAGIC)) & (F.length(header) == _ID_SIZE)
        reason = F.when(named_id, F.concat(reason, F.lit(", the id "), number)).otherwise(reason)
    for first, writer in headers.items():
        named = header.eqNullSafe(F.lit(first))
        if since := horizon.known.get(first.hex()) if horizon is not None else None:
            named = named & _from(since)
        try:
            require_readable(topic.name, writer, reader)
        except UnreadableRecordsError as error:
            text = f"[{UNREADABLE_RECORDS}] {error}" if horizon is None else str(error)
            reason = F.when(named, F.lit(text)).otherwise(reason)
            continue
        record = F.when(named, avro_record(data, writer, reader)).otherwise(record)
        broken = F.lit("the bytes are not a record of the schema in their header")
        reason = F.when(named, broken).otherwise(reason)
    return record, reason


def _unknown(value: Column, start: bytes, size: int, horizon: Horizon | None) -> tuple[Column, Column]:
    """Return whether a message's schema may have been published since, and the header of an unknown schema.

    Arguments:
        start: the bytes with which a header begins.
        size: the number of bytes of a header.
        horizon: the schemas that the inlet knows; None for an inlet that fails.
    """
    from pyspark.sql import functions as F

    header = F.lower(F.hex(value.substr(1, size)))
    named = (value.substr(1, len(start)) == F.lit(start)) & (F.length(value) >= size)
    if horizon is None:
        return F.lit(False), F.lit(None).cast("string")
    unknown = named & ~header.isin(sorted(horizon.known) or [""])
    undecided = unknown & ~header.isin(sorted(horizon.unknown) or [""]) & _from(horizon.ends)
    return F.coalesce(undecided, F.lit(False)), F.when(unknown, header)


def _from(offsets: Mapping[int, int]) -> Column:
    """Return whether a message is at or after its partition's offset; messages of other partitions are."""
    from pyspark.sql import functions as F

    first = F.lit(0).cast("bigint")
    for partition, at in sorted(offsets.items()):
        first = F.when(F.col(_PARTITION) == partition, F.lit(at).cast("bigint")).otherwise(first)
    return F.col(_OFFSET) >= first


def _decode_json(messages: DataFrame, topic: ClusterTopic, reader: Contract) -> DataFrame:
    """Decode JSON objects. Members that the contract does not have are ignored."""
    from pyspark.sql import functions as F

    from streamlets.channels.kafka.json_columns import json_record, parsed_message

    require_json(reader)
    read = json_record(F.col(_PARSED), reader, topic.settings.numeric_times)
    record = F.struct(F.when(F.col(_VALUE).isNotNull() & read.reason.isNull(), read.value).alias("ok"))
    parsed = messages.withColumn(_PARSED, parsed_message(F.col(_VALUE)))
    return parsed.withColumns({_RECORD: record, _REASON: read.reason}).drop(_PARSED)
