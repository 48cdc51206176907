"""The available sinks: this package's, and the ones that other packages register.

A package registers a sink by an entry point of the group `streamlets.sinks`: its name is the sink's, its value a
`SinkType`, such as `my_package.sink:MySink`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from streamlets.egress.base import SinkType
from streamlets.plugins import PluginError, Plugins

SINKS: Mapping[str, SinkType] = Plugins(
    "streamlets.sinks",
    "sink",
    {
        "parquet": "streamlets.egress.files.type:ParquetSink",
        "orc": "streamlets.egress.files.type:OrcSink",
        "json": "streamlets.egress.files.type:JsonSink",
        "csv": "streamlets.egress.files.type:CsvSink",
        "text": "streamlets.egress.files.type:TextSink",
        "spark-files": "streamlets.egress.spark.formats:SparkFilesSink",
        "delta": "streamlets.egress.delta:DeltaSink",
        "iceberg": "streamlets.egress.iceberg:IcebergSink",
        "jdbc": "streamlets.egress.jdbc.type:JdbcSink",
        "kafka": "streamlets.egress.spark.kafka:KafkaSink",
        "function": "streamlets.egress.spark.authors_code:FunctionSink",
        "data-source": "streamlets.egress.spark.authors_code:DataSourceSink",
        "webhook": "streamlets.egress.webhook.type:WebhookSink",
        "terminal": "streamlets.egress.terminal:TerminalSink",
        "console": "streamlets.egress.terminal:ConsoleSink",
        "memory": "streamlets.egress.spark.memory:MemorySink",
        "noop": "streamlets.egress.spark.formats:NoopSink",
    },
    requires=("traits", "open", "files"),
)
"""The available sinks by name."""


def available_sinks() -> dict[str, SinkType]:
    """Return the sinks by name, without sinks of other packages that cannot be used."""
    sinks = {}
    for name in SINKS:
        with suppress(PluginError):
            sinks[name] = SINKS[name]
    return sinks
