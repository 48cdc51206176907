"""Typed settings of streamlets, topics and the application. An invalid value, which the checks report, counts as not
set."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from blueprint.diagnostics import Span
from blueprint.hocon.values import ObjectValue, Scalar, Value, span_of
from blueprint.model.draft import TopicFacts
from blueprint.plan import (
    STUCK_AFTER,
    Access,
    AvailableNow,
    Isolation,
    ProcessingTime,
    RealTime,
    Retention,
    Retry,
    Trigger,
)
from blueprint.quantities import Duration
from blueprint.settings.codecs import ACCESS, BOOLEAN, DURATION, ISOLATION, POSITIVE, SIZE, STARTING, STRING, Starting
from blueprint.settings.retry import RetryOptionError, is_option, option, retry_codec


@dataclass(frozen=True, slots=True)
class InletSettings:
    """The settings of an inlet; see `InletPlan`."""

    max_records: int | None
    starting: Starting


@dataclass(frozen=True, slots=True)
class StreamletSettings:
    """The settings of a streamlet; see `StreamletPlan`."""

    trigger: Trigger | None
    retry: Retry
    retry_set: frozenset[str]
    spark: Mapping[str, str]
    queries: Mapping[str, Trigger]
    group: str | None
    source_evolution: bool
    stuck_after: Duration


def topic_facts(id: str, flow: ObjectValue) -> TopicFacts:
    """Return the settings of a topic that rules need."""
    topic = _block(flow, "topics", id)
    return TopicFacts(
        name=STRING.value(topic.get("topic", "name")) or id,
        channel=STRING.value(topic.get("channel")) or "delta",
        managed=BOOLEAN.value(topic.get("managed")) is not False,
        cluster=STRING.value(topic.get("cluster")) or STRING.value(topic.get("bootstrap", "servers")) or "",
    )


def topic_options(id: str, flow: ObjectValue) -> dict[str, object]:
    """Return a topic's settings for its channel, by the channel's own names.

    The groups `topic`, `connection-config`, `producer-config` and `consumer-config` are objects of dotted keys; every
    other option has a single value by its dotted key, such as `bootstrap.servers`.
    """
    options: dict[str, object] = {}
    for key, value in _block(flow, "topics", id).fields.items():
        if key in _GROUPS:
            options[key] = _plain_scalars(value, ())
        elif key not in ("managed", "channel", "retention"):
            options |= _plain_scalars(value, (key,))
    return options


def topic_retention(id: str, flow: ObjectValue) -> Retention:
    """Return how long a topic keeps its records."""
    retention = _block(flow, "topics", id, "retention")
    return Retention(
        time=DURATION.value(retention.get("time")),
        size=SIZE.value(retention.get("size")),
        keep_unread=BOOLEAN.value(retention.get("keep-unread")) is not False,
    )


_GROUPS = ("topic", "connection-config", "producer-config", "consumer-config")


def application_name(flow: ObjectValue) -> str | None:
    """Return the name that the settings give the application."""
    return STRING.value(flow.get("application"))


def isolation(flow: ObjectValue) -> Isolation:
    """Return whether streamlets have processes of their own."""
    return ISOLATION.value(flow.get("isolation")) or "none"


def state_access(flow: ObjectValue) -> Access:
    """Return who may read the state directory."""
    return ACCESS.value(flow.get("state-access")) or "owner"


def spark_settings(flow: ObjectValue) -> dict[str, str]:
    """Return the Spark settings of the whole application."""
    return _spark(flow.get("runtimes", "spark"))


def spark_places(flow: ObjectValue, ref: str) -> dict[str, Span]:
    """Return the spans of a streamlet's own Spark settings, by their full names."""
    scalars = _scalars(flow.get("streamlets", ref, "spark"), ())
    return {_spark_name(key): span_of(scalar) for key, scalar in scalars.items()}


def inlet_settings(flow: ObjectValue, ref: str, inlet: str) -> InletSettings:
    """Return the settings of an inlet."""
    block = _block(flow, "streamlets", ref, "inlets", inlet)
    return InletSettings(
        max_records=POSITIVE.value(block.get("max-records")),
        starting=STARTING.value(block.get("starting")) or "earliest",
    )


def streamlet_settings(flow: ObjectValue, ref: str) -> StreamletSettings:
    """Return the settings of a streamlet; `flow.retry`, `flow.trigger` and `flow.stuck-after` apply where it has none
    of its own."""
    own = _block(flow, "streamlets", ref)
    queries = own.get("queries")
    query_blocks = queries.fields.items() if isinstance(queries, ObjectValue) else ()
    retry, retry_set = _retry(flow, own)
    triggers = {name: _trigger(query.get("trigger")) for name, query in query_blocks if isinstance(query, ObjectValue)}
    return StreamletSettings(
        trigger=_trigger(own.get("trigger")) or _trigger(flow.get("trigger")),
        retry=retry,
        retry_set=retry_set,
        spark=_spark(own.get("spark")),
        queries={name: trigger for name, trigger in triggers.items() if trigger is not None},
        group=STRING.value(own.get("group")),
        source_evolution=BOOLEAN.value(own.get("source-evolution")) is not False,
        stuck_after=DURATION.value(own.get("stuck-after")) or DURATION.value(flow.get("stuck-after")) or STUCK_AFTER,
    )


def _trigger(value: Value | None) -> Trigger | None:
    if STRING.value(value) == "available-now":
        return AvailableNow()
    if isinstance(value, ObjectValue):
        for key, trigger in (("processing-time", ProcessingTime), ("real-time", RealTime)):
            interval = DURATION.value(value.get(key))
            if interval is not None:
                return trigger(interval)
        if BOOLEAN.value(value.get("available-now")):
            return AvailableNow()
    return None


_NO_BLOCK = ObjectValue({}, ())
_SPARK: tuple[str, ...] = ("runtimes", "spark")
_RETRY = ("retry",)
_DEFAULT_RETRY: tuple[Retry, frozenset[str]] = (Retry(), frozenset())


def _block(flow: ObjectValue, *path: str) -> ObjectValue:
    """Return the object at a path, an empty one where there is none."""
    value = flow.get(*path)
    return value if isinstance(value, ObjectValue) else _NO_BLOCK


def _retry(flow: ObjectValue, own: ObjectValue) -> tuple[Retry, frozenset[str]]:
    """Return the retry settings of a streamlet, and which of them are set by our names.

    Later ones win: PSTL's names of the application, PSTL's of the streamlet, ours of the application, ours of the
    streamlet.
    """
    blocks = ((flow, _SPARK), (flow, _RETRY), (own, _SPARK[1:]), (own, _RETRY))
    if all(block.get(*path) is None for block, path in blocks):
        return _DEFAULT_RETRY
    pstl: dict[str, object] = {}
    for spark in (flow.get("runtimes", "spark"), own.get("spark")):
        for name, scalar in retry_options(spark):
            with contextlib.suppress(RetryOptionError):
                pstl |= (option(name, scalar.text),)
    ours: dict[str, object] = {}
    for block in (_block(flow, "retry"), _block(own, "retry")):
        for field in fields(Retry):
            key = field.name.replace("_", "-")
            value = retry_codec(key).value(block.get(key)) if key in block.fields else None
            if value is not None:
                ours[field.name] = value
    return Retry(**(pstl | ours)), frozenset(ours)  # type: ignore[arg-type]


def retry_options(spark: Value | None) -> Iterator[tuple[str, Scalar]]:
    """Yield PSTL's retry options among Spark settings: their names without the prefix `spark.`, and their values."""
    for key, scalar in _scalars(spark, ()).items():
        if is_option(name := key.removeprefix("spark.")):
            yield name, scalar


def _spark(value: Value | None) -> dict[str, str]:
    """Return Spark settings by their full names; blueprints may omit the prefix `spark.`."""
    return {_spark_name(key): scalar.text for key, scalar in _scalars(value, ()).items()}


def _spark_name(key: str) -> str:
    return key if key.startswith("spark.") else f"spark.{key}"


def _plain_scalars(value: Value | None, path: tuple[str, ...]) -> dict[str, object]:
    return {key: scalar.value for key, scalar in _scalars(value, path).items()}


def _scalars(value: Value | None, path: tuple[str, ...]) -> dict[str, Scalar]:
    """Return values by dotted keys, without null: many options have dots in their names, which HOCON reads as
    nesting."""
    if isinstance(value, Scalar):
        return {".".join(path): value} if value.value is not None else {}
    scalars: dict[str, Scalar] = {}
    for key, inner in value.fields.items() if isinstance(value, ObjectValue) else ():
        scalars |= _scalars(inner, (*path, key))
    return scalars
