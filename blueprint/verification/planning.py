"""Makes the plan from a draft without errors: every setting resolved, with dead-letter topics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blueprint.catalog import StreamletDescriptor
from blueprint.hocon.values import is_null, plain
from blueprint.model.blueprint import DEAD_LETTERS, Role, dead_letter_topic
from blueprint.model.draft import Draft
from blueprint.model.wiring import PortKey
from blueprint.plan import ApplicationPlan, InletPlan, OutletPlan, StreamletPlan, TopicPlan
from blueprint.settings.parameters import parameter_values, path_start
from blueprint.settings.values import (
    application_name,
    inlet_settings,
    isolation,
    spark_settings,
    state_access,
    streamlet_settings,
    topic_facts,
    topic_options,
    topic_retention,
)


def make_plan(draft: Draft) -> ApplicationPlan:
    """Return the plan of a draft without errors."""
    blueprint = draft.blueprint
    topic_of = topics_of(draft)
    dead_letters = _dead_letter_topics(draft, topic_of)
    folder = Path(blueprint.folder).resolve()
    return ApplicationPlan(
        name=application_name(draft.settings) or folder.name or "application",
        blueprint=blueprint.file,
        folder=str(folder),
        streamlets=tuple(
            streamlet_plan(draft, ref, topic_of, dead_letters.get(ref), folder) for ref in draft.graph.order()
        ),
        topics=tuple(sorted(_topics(draft, dead_letters), key=lambda topic: topic.id)),
        spark=spark_settings(draft.settings),
        isolation=isolation(draft.settings),
        state_access=state_access(draft.settings),
    )


def _dead_letter_topics(draft: Draft, topic_of: Mapping[PortKey, str]) -> dict[str, str]:
    """Return the topic of each streamlet's dead letters: the one in the blueprint, else one of its own."""
    topics = {}
    for key in draft.wiring.ports:
        if key.port == DEAD_LETTERS and key.role == "producer":
            topics[key.streamlet] = topic_of.get(key, dead_letter_topic(key.streamlet))
    return topics


def topics_of(draft: Draft) -> dict[PortKey, str]:
    """Return the topic of each connected port."""
    return {binding.key: binding.topic for binding in draft.wiring.bindings}


def streamlet_plan(
    draft: Draft,
    ref: str,
    topic_of: Mapping[PortKey, str],
    dead_letters: str | None,
    folder: Path,
) -> StreamletPlan:
    """Return the plan of a streamlet whose class, schemas and parameters are valid.

    Arguments:
        draft: the application.
        ref: the streamlet.
        topic_of: the topic of each port.
        dead_letters: the topic of its dead letters; None when it has none.
        folder: the blueprint's directory, absolute.
    """
    descriptor = draft.descriptor(ref)
    assert descriptor is not None
    own = streamlet_settings(draft.settings, ref)
    return StreamletPlan(
        ref=ref,
        class_name=descriptor.class_name,
        descriptor=descriptor,
        parameters=_parameters(draft, ref, descriptor, folder),
        inlets=tuple(_inlets(draft, ref, descriptor, topic_of)),
        outlets=tuple(_outlets(ref, descriptor, topic_of)),
        trigger=own.trigger,
        retry=own.retry,
        retry_set=own.retry_set,
        spark=own.spark,
        volume_mounts=_folders(draft, ref, descriptor, folder),
        queries=own.queries,
        dead_letters=dead_letters,
        group=own.group,
        source_evolution=own.source_evolution,
        stuck_after=own.stuck_after,
        folder=str(folder),
    )


def _parameters(draft: Draft, ref: str, descriptor: StreamletDescriptor, folder: Path) -> dict[str, object]:
    """Return the values of parameters; the directories that the streamlet writes become absolute paths."""
    values = parameter_values(descriptor.parameters, draft.section(ref, "parameters"), folder)
    for written in descriptor.folders:
        values = _with_path(values, written.parameter, Path(written.folder))
    return values


def _with_path(values: Mapping[str, Any], keys: tuple[str, ...], path: Path) -> dict[str, Any]:
    """Return the values with the one at a path of keys replaced."""
    first, *rest = keys
    return {**values, first: _with_path(values[first], tuple(rest), path) if rest else path}


def _folders(draft: Draft, ref: str, descriptor: StreamletDescriptor, folder: Path) -> dict[str, str]:
    """Return the directories of volume mounts: the configured ones, relative to the file that sets them, else the
    declared ones."""
    directories = {
        name: str(path_start(value, folder) / str(plain(value)))
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
        own = inlet_settings(draft.settings, ref, port.name)
        topic = topic_of[PortKey(ref, "consumer", port.name)]
        inlets.append(InletPlan(ref, port.name, port.attribute, port.contract, topic, own.max_records, own.starting))
    return inlets


def _outlets(ref: str, descriptor: StreamletDescriptor, topic_of: Mapping[PortKey, str]) -> list[OutletPlan]:
    outlets = []
    for port in descriptor.outlets:
        assert port.contract is not None
        outlets.append(
            OutletPlan(
                ref,
                port.name,
                port.attribute,
                port.contract,
                topic_of[PortKey(ref, "producer", port.name)],
                port.partition_by,
                port.on_invalid,
                port.extra,
            )
        )
    return outlets


def _topics(draft: Draft, dead_letters: Mapping[str, str]) -> list[TopicPlan]:
    paths: dict[tuple[str, Role], list[str]] = defaultdict(list)
    for binding in draft.wiring.bindings:
        paths[binding.topic, binding.key.role].append(binding.key.path)
    topics = []
    for id in draft.blueprint.topics:
        facts = draft.topics[id]
        topics.append(
            TopicPlan(
                id,
                facts.name,
                facts.channel,
                facts.managed,
                tuple(paths[id, "producer"]),
                tuple(paths[id, "consumer"]),
                topic_options(id, draft.settings),
                topic_retention(id, draft.settings),
            )
        )
    for ref, id in dead_letters.items():
        if id not in draft.blueprint.topics:
            facts, options = topic_facts(id, draft.settings), topic_options(id, draft.settings)
            writers, retention = (f"{ref}.{DEAD_LETTERS}",), topic_retention(id, draft.settings)
            topics.append(TopicPlan(id, facts.name, facts.channel, True, writers, (), options, retention))
    return topics
