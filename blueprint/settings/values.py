"""Typed settings of streamlets, topics and the application. An invalid value, which the checks report, counts as not
set."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from blueprint.catalog import ChannelTraits, SparkArtifacts, TopicSettings
from blueprint.diagnostics import Span
from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value, is_null, plain, span_of
from blueprint.plan import (
    STUCK_AFTER,
    Access,
    AvailableNow,
    Isolation,
    ProcessingTime,
    RealTime,
    Retry,
    Trigger,
)
from blueprint.quantities import Duration
from blueprint.setting import Scope, Setting
from blueprint.setting_types import BOOLEAN, DURATION, POSITIVE, STRING, Codec, Structure
from blueprint.settings.known_settings import channel_settings
from blueprint.settings.parameters import path_start
from blueprint.settings.retry import RetryOptionError, is_option, option, retry_codec
from blueprint.settings.secrets import Secret
from blueprint.settings.table import ACCESS, EXTRA, ISOLATION, ON_INVALID, SETTINGS, STARTING, Starting


@dataclass(frozen=True, slots=True)
class InletSettings:
    """The settings of an inlet; see `InletPlan`."""

    max_records: int | None
    starting: Starting


@dataclass(frozen=True, slots=True, kw_only=True)
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


def default_channel(flow: ObjectValue) -> str:
    """Return the channel of topics that do not set their own."""
    return STRING.value(flow.get("channel")) or DEFAULT_CHANNEL


def topic_settings(
    id: str, flow: ObjectValue, channels: Mapping[str, ChannelTraits], channel: str | None = None
) -> TopicSettings:
    """Return the settings of a topic.

    Arguments:
        id: the id of the topic.
        flow: the `flow` section over the blocks of the blueprint.
        channels: the traits of all channels, by name.
        channel: the channel unless the topic sets its own; default: that of the application.
    """
    topic = _block(flow, "topics", id)
    channel = STRING.value(topic.get("channel")) or channel or default_channel(flow)
    traits = channels.get(channel)
    settings = TopicSettings(
        id=id,
        name=STRING.value(topic.get("topic", "name")) or id,
        channel=channel,
        managed=BOOLEAN.value(topic.get("managed")) is not False,
        options=_of_scope(topic, Scope.TOPIC, traits, _TOPIC_GROUP),
        channel_options=_of_scope(_block(flow, channel), Scope.APPLICATION, traits),
    )
    location = traits.location(settings) if traits is not None else ""
    return replace(settings, location=location) if location else settings


def port_options(
    flow: ObjectValue, ref: str, port: str, scope: Scope, traits: ChannelTraits | None
) -> dict[str, object]:
    """Return the settings of a port for its channel.

    Arguments:
        flow: the `flow` section over the blocks of the blueprint.
        ref: the streamlet.
        port: the name of the port.
        scope: whether it is an inlet or an outlet.
        traits: of the channel of its topic.
    """
    section = "inlets" if scope is Scope.INLET else "outlets"
    return _of_scope(_block(flow, "streamlets", ref, section, port), scope, traits)


def _of_scope(
    block: ObjectValue, scope: Scope, traits: ChannelTraits | None, more: Iterable[Setting] = ()
) -> dict[str, object]:
    """Return the typed values of a block, which has settings of a channel, and more of them."""
    return typed_settings(block, (*more, *channel_settings(traits, scope))) if block.fields else {}


def typed_settings(block: ObjectValue, settings: Iterable[Setting]) -> dict[str, object]:
    """Return the values in a block that differ from the defaults, by the keys of their settings.

    A group of free-form settings is a dict by dotted key, without the settings inside it that have a definition.
    Settings below a name that the user chooses, such as `clusters.<name>.timeout`, are in a dict by name:
    `{"clusters": {"main": {"timeout": ...}}}`.

    Arguments:
        block: the values by key.
        settings: the definitions.
    """
    settings = tuple(settings)
    options: dict[str, object] = {}
    below_names: dict[str, list[Setting]] = {}
    for setting in settings:
        if setting.key.partition(".")[0] not in block.fields:
            continue
        section, name, rest = setting.key.partition(".<")
        if name:
            below_names.setdefault(section, []).append(replace(setting, key=rest.partition(">.")[2]))
        elif (value := _typed(block.get(*setting.key.split(".")), setting, settings)) is not None:
            options[setting.key] = value
    for section, inner in below_names.items():
        blocks = _block(block, *section.split(".")).fields.items()
        if named := {name: typed_settings(own, inner) for name, own in blocks if isinstance(own, ObjectValue)}:
            options[section] = named
    return options


def _typed(value: Value | None, setting: Setting, settings: Iterable[Setting]) -> object:
    """Return the typed value of a setting; None when it is not set, invalid, or the default."""
    if isinstance(setting.type, Codec):
        typed = setting.type.value(value)
        default = setting.type.read(setting.default) if setting.default else None
        secret = setting.secret and isinstance(typed, str)
        return None if typed == default else Secret(typed) if secret else typed
    if value is None or is_null(value):
        return None
    if setting.type is not Structure.OPTIONS:
        return plain(value)
    prefix = f"{setting.key}."
    defined = {other.key.removeprefix(prefix) for other in settings if other.key.startswith(prefix)}
    free = {key: scalar.value for key, scalar in _scalars(value, ()).items() if key not in defined}
    return free or None


DEFAULT_CHANNEL = "delta"
_TOPIC_GROUP = tuple(
    setting for setting in SETTINGS if setting.scope is Scope.TOPIC and setting.key.startswith("topic")
)


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


def spark_artifacts(flow: ObjectValue, directory: Path) -> SparkArtifacts:
    """Return the packages and jars for Spark.

    Arguments:
        flow: the `flow` section over the blocks of the blueprint.
        directory: the blueprint's directory.
    """
    return SparkArtifacts(
        packages=tuple(text for text, _ in _strings(flow.get("spark", "packages"))),
        jars=tuple(str(path_start(item, directory) / text) for text, item in _strings(flow.get("spark", "jars"))),
        ivy_settings=spark_settings(flow).get("spark.jars.ivySettings", ""),
    )


def _strings(value: Value | None) -> Iterator[tuple[str, Value]]:
    for item in value.items if isinstance(value, ListValue) else ():
        if (text := STRING.value(item)) is not None:
            yield text, item


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


def outlet_settings(flow: ObjectValue, ref: str, outlet: str) -> dict[str, Any]:
    """Return the fields of `PortDescriptor` that the settings of an outlet set."""
    block = _block(flow, "streamlets", ref, "outlets", outlet)
    columns = tuple(text for text, _ in _strings(block.get("partition-by")))
    fields = {
        "on_invalid": ON_INVALID.value(block.get("on-invalid")),
        "extra": EXTRA.value(block.get("extra")),
        "partition_by": columns if isinstance(block.get("partition-by"), ListValue) else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


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


def spark_settings_by_path(value: Value | None) -> Iterator[tuple[tuple[str, ...], str, Scalar]]:
    """Yield Spark settings with the keys that lead to them, which may have dots, and their full names."""
    for path, scalar in _paths(value, ()):
        yield path, _spark_name(".".join(path)), scalar


def spark_scalars(value: Value | None) -> dict[str, Scalar]:
    """Return Spark settings by their full names; blueprints may omit the prefix `spark.`."""
    return {_spark_name(key): scalar for key, scalar in _scalars(value, ()).items()}


def _spark(value: Value | None) -> dict[str, str]:
    return {key: scalar.text for key, scalar in spark_scalars(value).items()}


def _spark_name(key: str) -> str:
    return key if key.startswith("spark.") else f"spark.{key}"


def _scalars(value: Value | None, path: tuple[str, ...]) -> dict[str, Scalar]:
    """Return values by dotted keys, without null: many options have dots in their names, which HOCON reads as
    nesting."""
    return {".".join(keys): scalar for keys, scalar in _paths(value, path)}


def _paths(value: Value | None, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Scalar]]:
    """Yield the single values below a path, without null, each with its path."""
    if isinstance(value, Scalar):
        if value.value is not None:
            yield path, value
    elif isinstance(value, ObjectValue):
        for key, inner in value.fields.items():
            yield from _paths(inner, (*path, key))
