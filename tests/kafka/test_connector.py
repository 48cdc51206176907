"""The jars of the connector work with this PySpark: records are written to Kafka and read from it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = '{"type": "record", "name": "N", "fields": [{"name": "id", "type": "long"}]}'


@pytest.mark.spark
def test_records_go_through_kafka(spark: SparkSession, kafka_broker: str) -> None:
    """Spark's Kafka source and sink and its Avro functions are there, with all that they need."""
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro, to_avro

    topic = f"connector-{uuid.uuid4().hex}"
    admin = AdminClient({"bootstrap.servers": kafka_broker})
    admin.create_topics([NewTopic(topic, 1)])[topic].result()
    options = {"kafka.bootstrap.servers": kafka_broker}
    rows = spark.range(3).select(to_avro(F.struct("id"), SCHEMA).alias("value"))
    rows.write.format("kafka").options(**options).option("topic", topic).save()
    read = spark.read.format("kafka").options(**options).option("subscribe", topic).load()
    values = read.select(from_avro("value", SCHEMA).alias("record")).select("record.id").collect()
    assert sorted(row.id for row in values) == [0, 1, 2]
    admin.delete_topics([topic])[topic].result()
