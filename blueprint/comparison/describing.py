"""Create the descriptor of a plan: what matters to checkpoints, state and readers, without secrets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import PurePath

from blueprint.comparison.descriptor import (
    ApplicationDescriptor,
    BuiltQuery,
    DescribedInlet,
    DescribedOutlet,
    DescribedStreamlet,
    DescribedTopic,
    Queries,
)
from blueprint.core_settings import InletSettings, Retry, StreamletSettings
from blueprint.hocon.values import Json
from blueprint.plan import ApplicationPlan, OutletPlan, StreamletPlan, TopicPlan
from blueprint.settings.secret_sources import secrets_of
from blueprint.settings.secret_texts import masked
from blueprint.settings.secrets import Secrets, as_json, hidden
from blueprint.trigger import ProcessingTime, RealTime, Trigger

SUPERVISION = ("stuck_after", "on_stuck", "patience", "on_start_timeout", "on_stop_timeout", "end")
"""The settings of a streamlet that decide how it is started, watched and ended."""

OPENING = ("sequential", "sync_open", "open_timeout")
"""The settings of an inlet that decide when its streamlet starts."""

OFFERING = ("open_timeout",)
"""The settings of an outlet that decide when its streamlet starts."""


def describe_plan(plan: ApplicationPlan, queries: Queries | None = None) -> ApplicationDescriptor:
    """Return the descriptor of a verified application, with the queries of logic that was built.

    The schemas of written records are not included: only a runner knows them.
    """
    secrets = secrets_of(plan)
    streamlets = sorted(plan.streamlets, key=lambda streamlet: streamlet.ref)
    return ApplicationDescriptor(
        application=plan.name,
        streamlets={
            streamlet.ref: _streamlet(streamlet, plan.directory, (queries or {}).get(streamlet.ref), secrets)
            for streamlet in streamlets
        },
        topics={topic.id: _topic(topic, secrets) for topic in sorted(plan.topics, key=lambda topic: topic.id)},
        spark=_shown(plan.settings.spark, secrets),
    )


def _streamlet(
    plan: StreamletPlan, directory: str, queries: Mapping[str, BuiltQuery] | None, secrets: Secrets
) -> DescribedStreamlet:
    inlets = {
        inlet.name: DescribedInlet(
            inlet.topic,
            inlet.contract,
            inlet.settings.starting,
            inlet.settings.max_records,
            inlet.on_invalid,
            changed_settings(inlet.settings, OPENING),
        )
        for inlet in sorted(plan.inlets, key=lambda inlet: inlet.name)
    }
    outlets = {
        outlet.name: DescribedOutlet(
            outlet.topic,
            outlet.contract,
            outlet.partition_by,
            outlet.on_invalid,
            outlet.extra,
            outlet.returns.records if outlet.returns is not None else None,
            outlet.returns.otherwise if outlet.returns is not None else None,
            changed_settings(outlet, OFFERING),
            _shown(outlet.options, secrets),
        )
        for outlet in sorted(plan.outlets, key=lambda outlet: outlet.name)
    }
    return DescribedStreamlet(
        class_name=plan.class_name,
        inlets=inlets,
        outlets=outlets,
        parameters=_shown({key: _relative(value, directory) for key, value in plan.parameters.items()}, secrets),
        trigger=_trigger(plan.settings.trigger) if plan.settings.trigger is not None else None,
        triggers={name: _trigger(plan.settings.queries[name]) for name in sorted(plan.settings.queries)},
        retry=retry_json(plan.settings.retry),
        spark=_shown(plan.settings.spark, secrets),
        volume_mounts={name: _below(plan.volume_mounts[name], directory) for name in sorted(plan.volume_mounts)},
        source_evolution=plan.settings.source_evolution,
        replicas=plan.settings.replicas,
        supervision=changed_settings(plan.settings, SUPERVISION),
        group=plan.settings.group,
        queries=None if queries is None else {name: queries[name].described for name in sorted(queries)},
    )


def changed_settings(
    settings: StreamletSettings | InletSettings | OutletPlan, names: Collection[str]
) -> dict[str, Json]:
    """Return the settings with these names that do not have their default as JSON, by the names of the settings."""
    chosen = [field for field in fields(settings) if field.name in names]
    values = {field.name: getattr(settings, field.name) for field in chosen}
    return {
        field.name.replace("_", "-"): as_json(values[field.name])
        for field in chosen
        if values[field.name] != field.default
    }


def retry_json(retry: Retry) -> dict[str, Json]:
    """Return the restart settings as JSON, by the names of the settings."""
    return {field.name.replace("_", "-"): as_json(getattr(retry, field.name)) for field in fields(Retry)}


def _below(path: str, directory: str) -> str:
    """Return a path relative to the directory of the blueprint if below it: descriptors are used on other machines."""
    place = PurePath(path)
    return str(place.relative_to(directory)) if place.is_relative_to(directory) else path


def _relative(value: object, directory: str) -> object:
    """Return the value of a parameter with its paths made relative by `_below`."""
    match value:
        case PurePath():
            return _below(str(value), directory)
        case Mapping():
            return {key: _relative(inner, directory) for key, inner in value.items()}
        case _:
            return value


def _trigger(trigger: Trigger) -> str:
    match trigger:
        case ProcessingTime(interval=interval):
            return f"processing-time = {interval.sql}"
        case RealTime(interval=interval):
            return f"real-time = {interval.sql}"
        case _:
            return "available-now"


def _shown(settings: Mapping[str, object], secrets: Secrets) -> dict[str, Json]:
    """Return settings as JSON without secrets, including secrets of other settings that appear in their values."""
    return {key: secrets.json(value) for key, value in hidden(settings).items()}


def _topic(plan: TopicPlan, secrets: Secrets) -> DescribedTopic:
    settings: dict[str, object] = {} if plan.durable else {"durable": False}
    for key, value in plan.options.items():
        inner = value if isinstance(value, dict) else None
        settings |= {key: value} if inner is None else {f"{key}.{name}": setting for name, setting in inner.items()}
    return DescribedTopic(plan.name, plan.channel, masked(plan.location), plan.managed, _shown(settings, secrets))
