"""Typed settings of streamlets, topics and the application.

An invalid value, which the checks report, counts as not set.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from blueprint import core_settings as core
from blueprint.catalog import ChannelTraits, SparkArtifacts, TopicSettings
from blueprint.core_settings import (
    SETTINGS,
    ApplicationSettings,
    ClusterSettings,
    CommonSettings,
    InletSettings,
    MetricsSettings,
    OutletSettings,
    Retry,
    SecretPlace,
    StreamletSettings,
    TelemetrySettings,
)
from blueprint.diagnostics import Span
from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value, span_of
from blueprint.kubernetes_settings import KubernetesSettings
from blueprint.setting import Scope, Setting, declared_settings
from blueprint.setting_types import FREE_FORM, STRING, scalars, scalars_by_path, spark_name
from blueprint.settings.known_settings import channel_settings
from blueprint.settings.parameters import path_start
from blueprint.settings.retry import RetryOptionError, is_option, option
from blueprint.settings.secrets import Secret

_NO_BLOCK = ObjectValue({}, ())
_TOPIC_GROUP = tuple(
    setting for setting in SETTINGS if setting.scope is Scope.TOPIC and setting.key.startswith("topic")
)


def application_settings(flow: ObjectValue) -> ApplicationSettings:
    """Return the settings of the application."""
    metrics = MetricsSettings(**_set_fields(MetricsSettings, _block(flow, "metrics")))
    telemetry = TelemetrySettings(**_set_fields(TelemetrySettings, _block(flow, "telemetry")))
    block = _block(flow, "cluster")
    secret = SecretPlace(**_set_fields(SecretPlace, _block(block, "secret")))
    cluster = ClusterSettings(secret=secret, **_set_fields(ClusterSettings, block))
    kubernetes = KubernetesSettings(**_set_fields(KubernetesSettings, _block(flow, "kubernetes")))
    return ApplicationSettings(
        metrics=metrics,
        telemetry=telemetry,
        cluster=cluster,
        kubernetes=kubernetes,
        **_set_fields(ApplicationSettings, flow),
    )


def streamlet_settings(flow: ObjectValue, ref: str) -> StreamletSettings:
    """Return the settings of a streamlet; settings of the application apply where it has none of its own."""
    own = _block(flow, "streamlets", ref)
    retry = {**_set_fields(Retry, _block(flow, "retry")), **_set_fields(Retry, _block(own, "retry"))}
    return StreamletSettings(
        **{**_set_fields(CommonSettings, flow), **_set_fields(CommonSettings, own)},
        **_set_fields(StreamletSettings, own),
        retry=Retry(**{**_pstl_retry(flow, own), **retry}),
        retry_set=frozenset(retry),
    )


def _pstl_retry(flow: ObjectValue, own: ObjectValue) -> dict[str, Any]:
    """Return the fields of `Retry` that PSTL's options set; a streamlet's options override the application's."""
    fields: dict[str, Any] = {}
    for spark in (flow.get("runtimes", "spark"), own.get("spark")):
        for name, scalar in retry_options(spark):
            with contextlib.suppress(RetryOptionError):
                fields |= (option(name, scalar.text),)
    return fields


def inlet_settings(flow: ObjectValue, ref: str, inlet: str) -> InletSettings:
    """Return the settings of an inlet."""
    return InletSettings(**_set_fields(InletSettings, _block(flow, "streamlets", ref, "inlets", inlet)))


def outlet_settings(flow: ObjectValue, ref: str, outlet: str) -> OutletSettings:
    """Return the settings of an outlet."""
    return OutletSettings(**_set_fields(OutletSettings, _block(flow, "streamlets", ref, "outlets", outlet)))


def _set_fields(kind: type, block: ObjectValue) -> dict[str, Any]:
    """Return the typed values in a block by the fields of a class of settings.

    Inherited fields, sections, and settings that are not set or are invalid, are omitted.
    """
    declared = declared_settings(kind) if block.fields else {}
    here = {name: setting for name, setting in declared.items() if setting.key.partition(".")[0] in block.fields}
    values = {name: _value(setting, block) for name, setting in here.items()}
    return {name: value for name, value in values.items() if value is not None}


def _value(setting: Setting, block: ObjectValue) -> object:
    """Return the typed value of a setting, by name if the key has the place of a name; None if there is none."""
    before, named, after = setting.key.partition(".<")
    if not named:
        typed = setting.type.value(block.get(*setting.key.split(".")))
        return Secret(typed) if setting.secret and isinstance(typed, str) else typed
    inner = replace(setting, key=after.partition(">.")[2])
    sections = _block(block, *before.split(".")).fields
    values = {name: _value(inner, own) for name, own in sections.items() if isinstance(own, ObjectValue)}
    return {name: value for name, value in values.items() if value is not None}


def topic_settings(
    id: str, flow: ObjectValue, channels: Mapping[str, ChannelTraits], channel: str | None = None
) -> TopicSettings:
    """Return the settings of a topic.

    Arguments:
        id: the id of the topic.
        flow: the `flow` section over the blocks of the blueprint.
        channels: the traits of all channels, by name.
        channel: the channel unless the topic sets its own; default: the channel of the application.
    """
    topic = _block(flow, "topics", id)
    own = core.TopicSettings(**_set_fields(core.TopicSettings, topic))
    channel = own.channel or channel or application_settings(flow).channel
    traits = channels.get(channel)
    settings = TopicSettings(
        id=id,
        name=own.name or id,
        channel=channel,
        managed=own.managed,
        options=_of_scope(topic, Scope.TOPIC, traits, _TOPIC_GROUP),
        channel_options=_of_scope(_block(flow, channel), Scope.APPLICATION, traits),
        durable=own.durable,
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
    typed: Any = setting.type.value(value)
    if typed is None or typed == setting.typed_default():
        return None
    if setting.type in FREE_FORM:
        prefix = f"{setting.key}."
        defined = {other.key.removeprefix(prefix) for other in settings if other.key.startswith(prefix)}
        return {key: option for key, option in typed.items() if key not in defined} or None
    return Secret(typed) if setting.secret and isinstance(typed, str) else typed


def spark_artifacts(flow: ObjectValue, directory: Path) -> SparkArtifacts:
    """Return the packages and jars for Spark.

    Arguments:
        flow: the `flow` section over the blocks of the blueprint.
        directory: the blueprint's directory.
    """
    return SparkArtifacts(
        packages=tuple(text for text, _ in _strings(flow.get("spark", "packages"))),
        jars=tuple(str(path_start(item, directory) / text) for text, item in _strings(flow.get("spark", "jars"))),
        ivy_settings=application_settings(flow).spark.get("spark.jars.ivySettings", ""),
    )


def _strings(value: Value | None) -> Iterator[tuple[str, Value]]:
    for item in value.items if isinstance(value, ListValue) else ():
        if (text := STRING.value(item)) is not None:
            yield text, item


def _block(flow: ObjectValue, *path: str) -> ObjectValue:
    """Return the object at a path, an empty one where there is none."""
    value = flow.get(*path)
    return value if isinstance(value, ObjectValue) else _NO_BLOCK


def spark_places(flow: ObjectValue, ref: str) -> dict[str, Span]:
    """Return the spans of a streamlet's own Spark settings, by their full names."""
    return {name: span_of(scalar) for name, scalar in spark_scalars(flow.get("streamlets", ref, "spark")).items()}


def retry_options(spark: Value | None) -> Iterator[tuple[str, Scalar]]:
    """Yield PSTL's retry options among Spark settings: their names without the prefix `spark.`, and their values."""
    for key, scalar in scalars(spark).items():
        if is_option(name := key.removeprefix("spark.")):
            yield name, scalar


def spark_settings_by_path(value: Value | None) -> Iterator[tuple[tuple[str, ...], str, Scalar]]:
    """Yield Spark settings with the keys that lead to them, which may have dots, and their full names."""
    for path, scalar in scalars_by_path(value):
        yield path, spark_name(".".join(path)), scalar


def spark_scalars(value: Value | None) -> dict[str, Scalar]:
    """Return Spark settings by their full names; blueprints may omit the prefix `spark.`."""
    return {spark_name(key): scalar for key, scalar in scalars(value).items()}
