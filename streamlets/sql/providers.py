"""The providers of SQL jobs: the registered sinks, and Spark's sources of streams.

Source: Spark's guide to structured streaming ("Input sources"), and the options that each source of Spark reads.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

from blueprint.diagnostics import Diagnostic, finding
from blueprint.settings.options import typed_options
from blueprint.sql.job import Job
from blueprint.sql.registry import Providers, StreamSource
from streamlets.egress.registry import SINKS
from streamlets.plugins import Traits

_FILES = StreamSource(columns="required", required=(("path",),))

SOURCES = {
    "rate": StreamSource(columns="fixed", options=("rowsPerSecond", "rampUpTime", "numPartitions")),
    "rate-micro-batch": StreamSource(
        columns="fixed",
        required=(("rowsPerBatch",),),
        options=("numPartitions", "startTimestamp", "advanceMillisPerBatch"),
    ),
    "socket": StreamSource(columns="fixed", required=(("host",), ("port",)), options=("includeTimestamp",)),
    "kafka": StreamSource(
        columns="fixed",
        required=(("kafka.bootstrap.servers",), ("subscribe", "subscribePattern", "assign")),
        options=(
            "startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy",
            "endingOffsets", "failOnDataLoss", "kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries",
            "fetchOffset.retryIntervalMs", "maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay",
            "minPartitions", "maxRecordsPerPartition", "groupIdPrefix", "includeHeaders",
        ),
        prefixes=("kafka.",),
    ),
    "text": StreamSource(columns="optional", required=(("path",),)),
    **dict.fromkeys(("parquet", "orc", "json", "csv", "xml", "avro"), _FILES),
    "delta": StreamSource(columns="fixed"),
}  # fmt: skip
"""Spark's sources of streams by the names of their providers."""


def providers() -> Providers:
    """Return the sinks and sources that are available on this machine."""
    return Providers(sinks=Traits(SINKS), sources=SOURCES)


def missing_packages(job: Job) -> Iterator[Diagnostic]:
    """Yield a finding for each query whose sink requires a package that is not installed."""
    for query in job.queries:
        traits = Traits(SINKS).get(query.sink)
        if traits is not None and traits.package and importlib.util.find_spec(traits.package) is None:
            yield finding(
                "sql-provider",
                f"the sink `{traits.name}` requires the package `{traits.package}`, which is not installed",
                query.statement.provider.span,
                help=(f"run `pip install '{traits.install}'`",),
            )


def sink_findings(job: Job) -> Iterator[Diagnostic]:
    """Yield the findings of the sinks themselves about the options of valid queries, such as an unknown database."""
    for query in job.queries:
        if query.outlet is not None or not all(option.value.known for option in query.options.values()):
            continue
        sink, written = SINKS[query.sink], {name: option.value.text for name, option in query.options.items()}
        for problem in sink.option_problems(typed_options(sink.traits, written)):
            option = query.options.get(".".join(problem.path[1:]))
            place = query.statement.provider.span
            if option is not None:
                place = (option.key if problem.about == "key" else option.value).span
            yield finding("sql-option", problem.message, place, help=problem.help)
