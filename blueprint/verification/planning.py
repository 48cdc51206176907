"""Makes the plan from a draft without errors: every setting resolved, with dead-letter topics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.catalog import ChannelTraits, StreamletDescriptor, TopicSettings
from blueprint.hocon.text_place import TextPlace
from blueprint.hocon.values import Scalar, is_null, plain
from blueprint.model.blueprint import DEAD_LETTERS, Role, task_topic
from blueprint.model.draft import Draft
from blueprint.model.wiring import PortKey
from blueprint.plan import ApplicationPlan, InletPlan, OutletPlan, ReturnCondition, StreamletPlan, TopicPlan
from blueprint.setting import Scope
from blueprint.settings.parameters import parameter_values, path_start
from blueprint.settings.values import (
    application_settings,
    inlet_settings,
    outlet_settings,
    port_options,
    spark_artifacts,
    streamlet_settings,
)


def make_plan(draft: Draft) -> ApplicationPlan:
    """Return the plan of a draft without errors."""
    blueprint = draft.blueprint
    topic_of = topics_of(draft)
    dead_letters = dead_letter_topics(draft, topic_of)
    directory, settings = Path(blueprint.directory).resolve(), application_settings(draft.settings)
    return ApplicationPlan(
        name=settings.application or directory.name or "application",
        blueprint=blueprint.file,
        directory=str(directory),
        streamlets=tuple(
            streamlet_plan(draft, ref, topic_of, dead_letters.get(ref), directory) for ref in draft.graph.order()
        ),
        topics=tuple(sorted((*_topics(draft), *_task_topics(draft, topic_of)), key=lambda topic: topic.id)),
        settings=settings,
        artifacts=spark_artifacts(draft.settings, directory),
    )


def dead_letter_topics(draft: Draft, topic_of: Mapping[PortKey, str]) -> dict[str, str]:
    """Return the topic of each streamlet's dead letters: the one in the blueprint, else one of its own."""
    connected = {key.streamlet: id for key, id in topic_of.items() if key.port == DEAD_LETTERS}
    return connected | {ref: settings.id for ref, settings in draft.dead_letters.items()}


def topics_of(draft: Draft) -> dict[PortKey, str]:
    """Return the topic of each connected port."""
    return {binding.key: binding.topic for binding in draft.wiring.bindings}


def streamlet_plan(
    draft: Draft,
    ref: str,
    topic_of: Mapping[PortKey, str],
    dead_letters: str | None,
    directory: Path,
) -> StreamletPlan:
    """Return the plan of a streamlet whose class, schemas and parameters are valid.

    Arguments:
        draft: the application.
        ref: the streamlet.
        topic_of: the topic of each port.
        dead_letters: the topic of its dead letters; None when it has none.
        directory: the blueprint's directory, absolute.
    """
    descriptor = draft.descriptor(ref)
    assert descriptor is not None
    return StreamletPlan(
        ref=ref,
        class_name=descriptor.class_name,
        descriptor=descriptor,
        settings=streamlet_settings(draft.settings, ref),
        parameters=_parameters(draft, ref, descriptor, directory),
        inlets=tuple(_inlets(draft, ref, descriptor, topic_of)),
        outlets=(*_outlets(draft, ref, descriptor, topic_of), *_failures(ref, descriptor, dead_letters)),
        volume_mounts=_directories(draft, ref, descriptor, directory),
        dead_letters=dead_letters,
        directory=str(directory),
        kind=descriptor.kind,
        tasks=task_topic(ref) if descriptor.kind.tasks else None,
        secrets=draft.secrets,
        texts={
            key: TextPlace.of(value)
            for key, value in draft.section(ref, "parameters").items()
            if isinstance(value, Scalar) and isinstance(value.value, str)
        },
    )


def _parameters(draft: Draft, ref: str, descriptor: StreamletDescriptor, directory: Path) -> dict[str, object]:
    """Return the values of parameters; the directories that the streamlet writes become absolute paths."""
    values = parameter_values(descriptor.parameters, draft.section(ref, "parameters"), directory)
    for written in descriptor.external.directories:
        if written.place is not None:  # it is in a text, which the streamlet reads itself
            continue
        values = _with_path(values, written.parameter, Path(written.directory))
    return values


def _with_path(values: Mapping[str, Any], keys: tuple[str, ...], path: Path) -> dict[str, Any]:
    """Return the values with the one at a path of keys replaced."""
    first, *rest = keys
    return {**values, first: _with_path(values[first], tuple(rest), path) if rest else path}


def _directories(draft: Draft, ref: str, descriptor: StreamletDescriptor, directory: Path) -> dict[str, str]:
    """Return the directories of volume mounts: configured (relative to the file that sets them), else declared."""
    directories = {
        name: str(path_start(value, directory) / str(plain(value)))
        for name, value in draft.section(ref, "volume-mounts").items()
        if not is_null(value)
    }
    return {mount.name: directories.get(mount.name, mount.path) for mount in descriptor.volume_mounts}


def _inlets(
    draft: Draft, ref: str, descriptor: StreamletDescriptor, topic_of: Mapping[PortKey, str]
) -> list[InletPlan]:
    inlets = []
    for port in descriptor.inlets:
        assert port.contract is not None
        topic = topic_of[PortKey(ref, "consumer", port.name)]
        inlets.append(
            InletPlan(
                ref,
                port.name,
                port.attribute,
                port.contract,
                topic,
                inlet_settings(draft.settings, ref, port.name),
                port_options(draft.settings, ref, port.name, Scope.INLET, _channel_of(draft, topic)),
                port.on_invalid,
            )
        )
    return inlets


def _outlets(
    draft: Draft, ref: str, descriptor: StreamletDescriptor, topic_of: Mapping[PortKey, str]
) -> list[OutletPlan]:
    outlets, returns = [], _returns(draft, ref)
    for port in descriptor.outlets:
        assert port.contract is not None
        topic = topic_of[PortKey(ref, "producer", port.name)]
        outlets.append(
            OutletPlan(
                ref,
                port.name,
                port.attribute,
                port.contract,
                topic,
                port.partition_by,
                port.on_invalid,
                port.extra,
                port_options(draft.settings, ref, port.name, Scope.OUTLET, _channel_of(draft, topic)),
                returns.get(port.name),
                outlet_settings(draft.settings, ref, port.name).open_timeout,
            )
        )
    return outlets


def _returns(draft: Draft, ref: str) -> dict[str, ReturnCondition]:
    """Return the condition under which the records of an outlet return into a cycle, by the name of the outlet."""
    stop = (draft.blueprint.cycle_stops or {}).get(ref)
    if stop is None or stop.records is None:
        return {}
    otherwise = stop.otherwise.text.strip() if stop.otherwise is not None else None
    condition = ReturnCondition(stop.records.text.strip(), otherwise, TextPlace.of(stop.records))
    return {edge.port: condition for edge in draft.graph.ways_back({ref})}


def _failures(ref: str, descriptor: StreamletDescriptor, dead_letters: str | None) -> list[OutletPlan]:
    """Return the outlet for failed tasks; [] for a streamlet without tasks."""
    if not descriptor.kind.tasks or dead_letters is None:
        return []
    return [OutletPlan(ref, DEAD_LETTERS, None, dead_letter_contract(), dead_letters)]


def _channel_of(draft: Draft, topic: str) -> ChannelTraits | None:
    """Return the channel of a topic; None for a port without one, whose logic may be built nevertheless."""
    return draft.channels.get(draft.topics[topic].channel) if topic in draft.topics else None


def _topics(draft: Draft) -> Iterator[TopicPlan]:
    paths: dict[tuple[str, Role], list[str]] = defaultdict(list)
    for binding in draft.wiring.bindings:
        paths[binding.topic, binding.key.role].append(binding.key.path)
    for id, settings in draft.topics.items():
        yield _topic(settings, tuple(paths[id, "producer"]), tuple(paths[id, "consumer"]))
    for ref, settings in draft.dead_letters.items():
        yield _topic(settings, (f"{ref}.{DEAD_LETTERS}",), ())


def _task_topics(draft: Draft, topic_of: Mapping[PortKey, str]) -> Iterator[TopicPlan]:
    """Yield the topic of the tasks of each streamlet that has them, on the channel of its outlet."""
    for ref in draft.graph.order():
        descriptor = draft.descriptor(ref)
        if descriptor is None or not descriptor.kind.tasks or not descriptor.outlets:
            continue
        beside = draft.topics.get(topic_of.get(PortKey(ref, "producer", descriptor.outlets[0].name), ""))
        if beside is not None:
            traits, id = draft.channels.get(beside.channel), task_topic(ref)
            options = dict(traits.log_options) if traits is not None else {}
            shared = beside.channel_options, beside.location
            yield TopicPlan(id, id, beside.channel, True, (f"{ref}.discovery",), (f"{ref}.tasks",), options, *shared)


def _topic(settings: TopicSettings, producers: tuple[str, ...], consumers: tuple[str, ...]) -> TopicPlan:
    return TopicPlan(
        settings.id,
        settings.name,
        settings.channel,
        settings.managed,
        producers,
        consumers,
        settings.options,
        settings.channel_options,
        settings.location,
        settings.durable,
    )
