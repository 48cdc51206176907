"""Writing in real-time mode: through Spark's Kafka sink for streams, without batches.

The rows that break the contract are sent to the dead letters by the same sink, or fail the query.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from blueprint.catalog import OutletSettings
from streamlets.channels.conformity import ORIGINAL, REASON, outlet_conformance, with_reasons
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.channels.kafka.cluster import SERVERS
from streamlets.channels.kafka.outlet_problems import outlet_problems
from streamlets.channels.kafka.sending import MESSAGE, letter, message, sink_options

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from blueprint.plan import OutletPlan
    from streamlets.channels.base import Branch, TopicQuery
    from streamlets.channels.kafka.topic import KafkaTopic

_SHOWN = 500


def real_time_writer(
    rows: DataFrame,
    branches: tuple[Branch[KafkaTopic], ...],
    dead_letters: KafkaTopic | None,
    query: TopicQuery,
) -> DataStreamWriter:
    """Return a writer that sends each row as soon as it is processed; see `Channel.real_time_writer`.

    Raises:
        ValueError: the query writes several outlets, or its dead letters are on another cluster.
    """
    if len(branches) > 1:
        raise ValueError(
            f"the query `{query.name}` has a real-time trigger and writes several outlets: "
            "write each outlet in a query of its own with `write_stream`"
        )
    (branch,) = branches
    outlet, topic = branch.outlet, branch.topic
    for problem in outlet_problems(OutletSettings(query.streamlet, outlet.name, outlet.options, real_time=True)):
        raise ValueError(f"{problem.message}: {problem.causes[0]}; {', or '.join(problem.help)}")
    if outlet.on_invalid != "dead-letters":
        dead_letters = None
    if dead_letters is not None and dead_letters.cluster is not topic.cluster:
        raise ValueError(
            f"the query `{query.name}` has a real-time trigger, and its dead letters are on another Kafka cluster than "
            f"the topic `{topic.name}`: keep both on one cluster"
        )
    topic.require()
    topic.publish([outlet.contract])
    if dead_letters is not None:
        dead_letters.require()
        dead_letters.publish([dead_letter_contract()])
    messages = _messages(branch.rows(rows), outlet, topic, dead_letters, query)
    return messages.writeStream.format("kafka").options(**sink_options(topic.stored))


def source_partitions(rows: DataFrame, topics: Mapping[tuple[str, str], KafkaTopic]) -> int:
    """Return the number of partitions that the Kafka sources of a query read, of topics that are known.

    Arguments:
        rows: the rows of the query.
        topics: the topics by the servers of their cluster and their name.
    """
    leaves: Any = rows._jdf.queryExecution().analyzed().collectLeaves().iterator()  # noqa: SLF001 - no public way
    partitions = 0
    while leaves.hasNext():
        leaf = leaves.next()
        if leaf.getClass().getSimpleName() == "StreamingRelationV2":
            options = leaf.extraOptions()
            topic = topics.get((str(options.get(f"kafka.{SERVERS}")), str(options.get("subscribe"))))
            partitions += topic.cluster.existing(topic.name).partitions if topic is not None else 0
    return partitions


def _messages(
    rows: DataFrame,
    outlet: OutletPlan,
    topic: KafkaTopic,
    dead_letters: KafkaTopic | None,
    query: TopicQuery,
) -> DataFrame:
    """Return a message for each row."""
    from pyspark.sql import functions as F

    fit = outlet_conformance(rows.schema, outlet)
    record = message(topic.stored, outlet.contract, outlet.partition_by)
    if not fit.refuses:
        return rows.select(*fit.columns).select(record).select(f"{MESSAGE}.*")
    if dead_letters is None:
        broken = _failure(outlet)
    else:
        broken = letter(dead_letters.stored, outlet, query.name, query.version)
    chosen = F.when(F.col(REASON).isNull(), record).otherwise(broken)
    return with_reasons(rows, fit).select(chosen.alias(MESSAGE)).select(f"{MESSAGE}.*")


def _failure(outlet: OutletPlan) -> Column:
    from pyspark.sql import functions as F

    name = f"`{outlet.contract.record.name}` of `{outlet.streamlet}.{outlet.name}`"
    row = F.substring(ORIGINAL, 1, _SHOWN)
    return F.raise_error(F.concat(F.lit(f"a row breaks the contract {name}: "), REASON, F.lit(", in the row "), row))
