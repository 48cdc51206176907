"""Records as messages of Spark's Kafka sink, and sending them."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.avro.model import Contract
from streamlets.channels.base import RecordTooLargeError
from streamlets.channels.conformity import REASON
from streamlets.channels.dead_letters import dead_letter_columns, dead_letter_contract
from streamlets.channels.kafka.keys import key_column
from streamlets.contract.types import spark_schema
from streamlets.contract.wire.avro_formats import fingerprint_header, id_header, schema_fingerprint
from streamlets.contract.wire.text_formats import require_json, single_field

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from blueprint.plan import OutletPlan
    from streamlets.channels.kafka.clusters import ClusterTopic

MESSAGE = "_streamlets_message"

_BATCH_SIZE = "batch.size"
_DEFAULT_BATCH_SIZE = 16384
_STORED = "key binary, value binary, topic string, headers array<struct<key: string, value: binary>>"
_TOO_LARGE = re.compile(r"RecordTooLargeException: (.*)")


def message(
    topic: ClusterTopic, contract: Contract, partition_by: tuple[str, ...], *, record: Column | None = None
) -> Column:
    """Return a message as a struct of topic, key and value, under the name `MESSAGE`.

    Arguments:
        topic: the topic.
        contract: the contract that the record is written with.
        partition_by: the columns and expressions of the key.
        record: the record as a struct; default: the columns with the names of its fields.
    """
    from pyspark.sql import functions as F

    columns = spark_schema(contract)
    if record is None:
        record = F.struct(*(F.col(f"`{field.name}`") for field in columns.fields))
    key = key_column(columns, partition_by)
    parts = (F.lit(topic.name).alias("topic"), key.alias("key"), _value(topic, contract, record).alias("value"))
    return F.struct(*parts).alias(MESSAGE)


def letter(topic: ClusterTopic, outlet: OutletPlan, coordinates: str, version: str) -> Column:
    """Return the message of a dead letter.

    Arguments:
        topic: the topic of the dead letters.
        outlet, coordinates, version: as for `dead_letter_columns`.
    """
    from pyspark.sql import functions as F

    record = F.struct(*dead_letter_columns(outlet, coordinates, version))
    return message(topic, dead_letter_contract(), (), record=record)


def sink_options(topic: ClusterTopic) -> dict[str, str]:
    """Return the options of Spark's Kafka sink for a topic and its cluster.

    A batch of several records that is larger than the topic allows is split into batches of the batch size. If that is
    larger than the topic allows, too, Kafka's client splits again and again until its thread dies of a stack overflow,
    and with it the producer that all queries of this Java process share.
    """
    settings = dict(topic.cluster.connections.producer.java)
    limit = topic.state.message_limit(topic.name)
    if limit is not None and limit < int(settings.get(_BATCH_SIZE, _DEFAULT_BATCH_SIZE)):
        settings[_BATCH_SIZE] = str(limit)
    return {f"kafka.{key}": value for key, value in settings.items()}


def send(messages: DataFrame, topic: ClusterTopic) -> int:
    """Send the messages in the column `MESSAGE`; return their number."""
    from pyspark.sql import functions as F

    return _send(messages.select(f"{MESSAGE}.*"), topic, F.count(F.lit(1)).alias("sent"))["sent"]


def send_both(messages: DataFrame, topic: ClusterTopic) -> tuple[int, int]:
    """Send the messages in the column `MESSAGE`; return how many lack a reason in `REASON`, and how many have one."""
    from pyspark.sql import functions as F

    parts = messages.select(f"{MESSAGE}.*", REASON)
    counts = _send(parts, topic, F.count(F.lit(1)).alias("sent"), F.count(REASON).alias("broken"))
    return counts["sent"] - counts["broken"], counts["broken"]


def send_stored(session: SparkSession, files: Iterable[Path], topic: ClusterTopic) -> None:
    """Send stored messages, with their headers.

    Arguments:
        session: the Spark that sends.
        files: Parquet files with the columns of `transactions.py`.
        topic: the topic of messages without one.
    """
    from pyspark.sql import functions as F

    if paths := [f"file:{file.absolute()}" for file in files]:
        stored = session.read.schema(_STORED).parquet(*paths)
        to = F.coalesce("topic", F.lit(topic.name)).alias("topic")
        _save(stored.select(to, "key", "value", "headers"), topic)


def _send(messages: DataFrame, topic: ClusterTopic, *counts: Column) -> dict[str, int]:
    from pyspark.sql import Observation

    observation = Observation(f"streamlets-{uuid.uuid4().hex}")
    _save(messages.observe(observation, *counts).drop(REASON), topic)
    # Spark reports no values for a plan that it has optimized away.
    return {"sent": 0, "broken": 0} | {name: int(value) for name, value in (observation.get or {}).items()}


def _save(messages: DataFrame, topic: ClusterTopic) -> None:
    messages.sparkSession.conf.set("spark.sql.sources.useV1SourceList", "")  # Spark's older sink reports no values
    try:
        messages.write.format("kafka").options(**sink_options(topic)).mode("append").save()
    except Exception as error:
        if reason := _TOO_LARGE.search(str(error)):
            raise RecordTooLargeError(f"a record is too large for the topic `{topic.name}`: {reason[1]}") from None
        raise


def _value(topic: ClusterTopic, contract: Contract, record: Column) -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import to_avro

    from streamlets.contract.conform import WHOLE

    match topic.settings.format:
        case "avro":
            return F.concat(F.lit(fingerprint_header(schema_fingerprint(contract))), to_avro(record, contract.json))
        case "confluent":
            number = topic.state.registry(topic.name, topic.settings).id_of(contract)
            return F.concat(F.lit(id_header(number)), to_avro(record, contract.json))
        case "plain-avro":
            return to_avro(record, contract.json)
        case "json":
            require_json(contract)
            return F.to_json(record, WHOLE).cast("binary")
        case "bytes":
            name, _ = single_field(contract)
            return record[name].cast("binary")
