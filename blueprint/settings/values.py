"""Settings of streamlets, topics and the application as typed values; what is set wrongly counts as not set here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Literal

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
from blueprint.quantities import Duration, MemorySize, duration, memory_size
from blueprint.settings.retry import RetryOptionError, is_option, option


@dataclass(frozen=True, slots=True)
class InletSettings:
    """What may be set of an inlet; see `InletPlan`."""

    max_records: int | None
    starting: Literal["earliest", "latest"]


@dataclass(frozen=True, slots=True)
class StreamletSettings:
    """What may be set of a streamlet; see `StreamletPlan`."""

    trigger: Trigger | None
    retry: Retry
    retry_set: frozenset[str]
    spark: Mapping[str, str]
    queries: Mapping[str, Trigger]
    group: str | None
    source_evolution: bool
    stuck_after: Duration


def topic_facts(id: str, flow: ObjectValue) -> TopicFacts:
    """What the settings make of a topic."""
    block = flow.get("topics", id)
    topic = block if isinstance(block, ObjectValue) else ObjectValue({}, ())
    return TopicFacts(
        name=_text(topic.get("topic", "name")) or id,
        channel=_text(topic.get("channel")) or "delta",
        managed=_truth(topic.get("managed"), True),
        cluster=_text(topic.get("cluster")) or _text(topic.get("bootstrap", "servers")) or "",
    )


def topic_options(id: str, flow: ObjectValue) -> dict[str, object]:
    """What a topic's channel wants to know, by the names the channel has for it.

    The groups `topic`, `connection-config`, `producer-config` and `consumer-config` are objects of dotted keys; all
    else is one value by its dotted key, such as `bootstrap.servers`.
    """
    block = flow.get("topics", id)
    options: dict[str, object] = {}
    for key, value in block.fields.items() if isinstance(block, ObjectValue) else ():
        if key in _GROUPS:
            options[key] = _dotted(value, ())
        elif key not in ("managed", "channel", "retention"):
            options |= _dotted(value, (key,))
    return options


def topic_retention(id: str, flow: ObjectValue) -> Retention:
    """How long a topic's records stay."""
    time, size = (_text(flow.get("topics", id, "retention", key)) for key in ("time", "size"))
    return Retention(_duration(time), _size(size), _truth(flow.get("topics", id, "retention", "keep-unread"), True))


_GROUPS = ("topic", "connection-config", "producer-config", "consumer-config")


def application_name(flow: ObjectValue) -> str | None:
    """The name that settings give the application."""
    return _text(flow.get("application"))


def isolation(flow: ObjectValue) -> Isolation:
    """Whether streamlets have processes of their own."""
    return "process" if _text(flow.get("isolation")) == "process" else "none"


def state_access(flow: ObjectValue) -> Access:
    """Return who may read the state directory."""
    return "group" if _text(flow.get("state-access")) == "group" else "owner"


def spark_settings(flow: ObjectValue) -> dict[str, str]:
    """Spark's settings for the whole application."""
    return _spark(flow.get("runtimes", "spark"))


def spark_places(flow: ObjectValue, ref: str) -> dict[str, Span]:
    """Where a streamlet's own Spark settings stand, by their full names."""
    return {_spark_name(key): span_of(one) for key, one in _scalars(flow.get("streamlets", ref, "spark"), ()).items()}


def inlet_settings(flow: ObjectValue, ref: str, inlet: str) -> InletSettings:
    """The settings of an inlet."""
    limit = _text(flow.get("streamlets", ref, "inlets", inlet, "max-records"))
    starting = _text(flow.get("streamlets", ref, "inlets", inlet, "starting"))
    most = int(limit) if limit and limit.isdecimal() else None
    return InletSettings(most, "latest" if starting == "latest" else "earliest")


def streamlet_settings(flow: ObjectValue, ref: str) -> StreamletSettings:
    """The settings of a streamlet; those of `flow.retry` and `flow.trigger` hold where it has none of its own."""
    block = flow.get("streamlets", ref)
    own = block if isinstance(block, ObjectValue) else ObjectValue({}, ())
    queries = own.get("queries")
    named = queries.fields.items() if isinstance(queries, ObjectValue) else ()
    retry, retry_set = _retry(flow, own)
    triggers = {name: _trigger(query.get("trigger")) for name, query in named if isinstance(query, ObjectValue)}
    return StreamletSettings(
        trigger=_trigger(own.get("trigger")) or _trigger(flow.get("trigger")),
        retry=retry,
        retry_set=retry_set,
        spark=_spark(own.get("spark")),
        queries={name: trigger for name, trigger in triggers.items() if trigger is not None},
        group=_text(own.get("group")),
        source_evolution=_truth(own.get("source-evolution"), True),
        stuck_after=_duration(_text(own.get("stuck-after")) or _text(flow.get("stuck-after"))) or STUCK_AFTER,
    )


def _trigger(value: Value | None) -> Trigger | None:
    if _text(value) == "available-now":
        return AvailableNow()
    if isinstance(value, ObjectValue):
        for key, make in (("processing-time", ProcessingTime), ("real-time", RealTime)):
            interval = _duration(_text(value.get(key)))
            if interval is not None:
                return make(interval)
        if _truth(value.get("available-now"), False):
            return AvailableNow()
    return None


_SPARK: tuple[str, ...] = ("runtimes", "spark")
_RETRY = ("retry",)
_AS_USUAL: tuple[Retry, frozenset[str]] = (Retry(), frozenset())


def _retry(flow: ObjectValue, own: ObjectValue) -> tuple[Retry, frozenset[str]]:
    """Later layers win: PSTL's names of the application and of the streamlet, then ours; and which of ours are set."""
    layers = ((flow, _SPARK), (flow, _RETRY), (own, _SPARK[1:]), (own, _RETRY))
    if all(layer.get(*path) is None for layer, path in layers):
        return _AS_USUAL
    defaults: dict[str, object] = {}
    for spark in (flow.get("runtimes", "spark"), own.get("spark")):
        for name, given_as in retry_options(spark):
            with contextlib.suppress(RetryOptionError):
                defaults |= (option(name, given_as.text),)
    given: dict[str, object] = {}
    for layer in (flow.get("retry"), own.get("retry")):
        for field in fields(Retry):
            text = _text(layer.get(field.name.replace("_", "-"))) if isinstance(layer, ObjectValue) else None
            value = None if text is None else _like(field.default, text)
            if value is not None:
                given[field.name] = value
    return Retry(**(defaults | given)), frozenset(given)  # type: ignore[arg-type]


def _like(default: object, text: str) -> object:
    """The text as a value of the default's type; None when it is none."""
    try:
        match default:
            case bool():
                return text in ("true", "yes", "on")
            case Duration():
                return duration(text)
            case int():
                return int(text)
            case _:
                return float(text)
    except ValueError:
        return None


def _duration(text: str | None) -> Duration | None:
    value = None if text is None else _like(Duration(0), text)
    return value if isinstance(value, Duration) else None


def _size(text: str | None) -> MemorySize | None:
    try:
        return None if text is None else memory_size(text)
    except ValueError:
        return None


def retry_options(spark: Value | None) -> Iterator[tuple[str, Scalar]]:
    """PSTL's options about retry among Spark's settings, without the leading `spark.`, and what sets them."""
    for key, value in _scalars(spark, ()).items():
        if is_option(name := key.removeprefix("spark.")):
            yield name, value


def _spark(value: Value | None) -> dict[str, str]:
    """Spark's settings by their full names; the leading `spark.` may be left out."""
    found = _scalars(value, ())
    return {_spark_name(key): one.text for key, one in found.items()}


def _spark_name(key: str) -> str:
    return key if key.startswith("spark.") else f"spark.{key}"


def _dotted(value: Value | None, path: tuple[str, ...]) -> dict[str, object]:
    return {key: one.value for key, one in _scalars(value, path).items()}


def _scalars(value: Value | None, path: tuple[str, ...]) -> dict[str, Scalar]:
    """Values by dotted keys: many settings are written with dots, which HOCON reads as nesting. Null is left out."""
    if isinstance(value, Scalar):
        return {".".join(path): value} if value.value is not None else {}
    found: dict[str, Scalar] = {}
    for key, inner in value.fields.items() if isinstance(value, ObjectValue) else ():
        found |= _scalars(inner, (*path, key))
    return found


def _text(value: Value | None) -> str | None:
    return value.text if isinstance(value, Scalar) and value.value is not None else None


def _truth(value: Value | None, default: bool) -> bool:
    text = _text(value)
    return default if text is None else text in ("true", "yes", "on")
