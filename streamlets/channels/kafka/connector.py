"""What Spark needs on its class path for Kafka topics: its Kafka source and sink, and its Avro functions."""

from __future__ import annotations

from blueprint.catalog import Connector

_SPARK = "org.apache.spark"

CONNECTOR = Connector(
    packages=(
        (f"{_SPARK}:spark-sql-kafka-0-10_2.13:{{spark}}", f"{_SPARK}:spark-avro_2.13:{{spark}}"),
        # Not every repository has the newest versions; these work with PySpark 4.2 and 4.3.
        (
            f"{_SPARK}:spark-sql-kafka-0-10_2.13:4.2.0",
            f"{_SPARK}:spark-token-provider-kafka-0-10_2.13:4.0.0",
            f"{_SPARK}:spark-avro_2.13:4.1.1",
        ),
    ),
    jars=(
        "spark-sql-kafka-0-10_2.13",
        "spark-token-provider-kafka-0-10_2.13",
        "spark-avro_2.13",
        "kafka-clients",
        "commons-pool2",
    ),
)
"""The connector of the kafka channel."""
