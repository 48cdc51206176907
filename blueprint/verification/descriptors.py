"""The descriptors of streamlets: requests to the catalog, with the settings of ports and parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.catalog import (
    Catalog,
    LoadFailure,
    PortDescriptor,
    PortSetting,
    StreamletDescriptor,
    StreamletRequest,
)
from blueprint.diagnostics import Span
from blueprint.hocon.values import ObjectValue, Scalar, Value, is_null, key_span_of, plain, span_of
from blueprint.model.blueprint import DEAD_LETTERS, Blueprint
from blueprint.settings.values import outlet_settings
from blueprint.verification.rules.names import is_class_path


def describe(
    blueprint: Blueprint, settings: ObjectValue, catalog: Catalog
) -> dict[str, StreamletDescriptor | LoadFailure]:
    """Return the catalog's description of each streamlet whose class is written as a class path.

    Arguments:
        blueprint: as written.
        settings: the `flow` tree of `configured`.
        catalog: answers the requests.
    """
    return {
        ref: _with_outlet_settings(catalog.describe(request), settings, ref)
        for ref, request in requests(blueprint, settings).items()
    }


def requests(blueprint: Blueprint, settings: ObjectValue) -> dict[str, StreamletRequest]:
    """Return the request for each streamlet whose class is written as a class path.

    Arguments:
        blueprint: as written.
        settings: the `flow` tree of `configured`.
    """
    named = _named_ports(blueprint, settings)
    return {
        entry.ref: StreamletRequest(
            ref=entry.ref,
            class_name=entry.class_name,
            directory=blueprint.directory,
            parameters=_parameters(settings.get("streamlets", entry.ref, "parameters")),
            inlets=_ports(settings.get("streamlets", entry.ref, "inlets")),
            outlets=_ports(settings.get("streamlets", entry.ref, "outlets")),
            named_inlets=named.get((entry.ref, "inlets"), {}),
            named_outlets=named.get((entry.ref, "outlets"), {}),
        )
        for entry in blueprint.streamlets.values()
        if is_class_path(entry.class_name)
    }


def _named_ports(blueprint: Blueprint, settings: ObjectValue) -> dict[tuple[str, str], dict[str, Span]]:
    """Return the ports that topics and the settings of streamlets name, by streamlet and section, with their places."""
    named: dict[tuple[str, str], dict[str, Span]] = {}
    for topic in blueprint.topics.values():
        for role, path in topic.paths:
            if path.wellformed and path.port != DEAD_LETTERS:
                section = "outlets" if role == "producer" else "inlets"
                named.setdefault((path.streamlet, section), {}).setdefault(path.port, path.span)
    for ref in blueprint.streamlets:
        for section in ("inlets", "outlets"):
            value = settings.get("streamlets", ref, section)
            for port, setting in value.fields.items() if isinstance(value, ObjectValue) else ():
                if not is_null(setting):
                    named.setdefault((ref, section), {})[port] = key_span_of(setting)
    return named


def _with_outlet_settings(
    described: StreamletDescriptor | LoadFailure, settings: ObjectValue, ref: str
) -> StreamletDescriptor | LoadFailure:
    """Return a descriptor whose outlets handle rows as the settings do, where these differ from the class."""
    if isinstance(described, LoadFailure) or settings.get("streamlets", ref, "outlets") is None:
        return described
    return replace(described, outlets=tuple(_with_settings(outlet, settings, ref) for outlet in described.outlets))


def _with_settings(outlet: PortDescriptor, settings: ObjectValue, ref: str) -> PortDescriptor:
    own = outlet_settings(settings, ref, outlet.name)
    return replace(
        outlet,
        on_invalid=own.on_invalid or outlet.on_invalid,
        extra=own.extra or outlet.extra,
        partition_by=outlet.partition_by if own.partition_by is None else own.partition_by,
    )


def with_topic_schemas(
    blueprint: Blueprint, described: Mapping[str, StreamletDescriptor | LoadFailure]
) -> dict[str, StreamletDescriptor | LoadFailure]:
    """Return descriptors in which an inlet without a schema has its topic's schema, if all producers write the same.

    If the schema of a producer cannot be determined, another finding explains it, and the inlet has no problem.

    Arguments:
        blueprint: as written.
        described: the result of `describe`.
    """
    written = {
        (ref, outlet.name): outlet.contract
        for ref, descriptor in described.items()
        if isinstance(descriptor, StreamletDescriptor)
        for outlet in with_dead_letters(descriptor).outlets
    }
    topics = {(path.streamlet, path.port): topic for topic in blueprint.topics.values() for path in topic.consumers}

    def completed(ref: str, inlet: PortDescriptor) -> PortDescriptor:
        topic = topics.get((ref, inlet.name))
        if topic is None or not topic.producers or [finding.code for finding in inlet.problems] != ["schema-missing"]:
            return inlet
        contracts = [written.get((path.streamlet, path.port)) for path in topic.producers]
        schemas = {contract.fingerprint for contract in contracts if contract is not None}
        if None in contracts or len(schemas) == 1:
            return replace(inlet, contract=None if None in contracts else contracts[0], problems=())
        causes = (f"the producers of its topic `{topic.id}` write {len(schemas)} different schemas",)
        return replace(inlet, problems=(replace(inlet.problems[0], causes=causes),))

    return {
        ref: replace(descriptor, inlets=tuple(completed(ref, inlet) for inlet in descriptor.inlets))
        if isinstance(descriptor, StreamletDescriptor) and any(inlet.problems for inlet in descriptor.inlets)
        else descriptor
        for ref, descriptor in described.items()
    }


def _parameters(value: Value | None) -> Mapping[str, Value]:
    return value.fields if isinstance(value, ObjectValue) else {}


def _ports(value: Value | None) -> Mapping[str, PortSetting]:
    """Return schemas set by configuration: `inlets.in = path`, or `inlets.in.schema = path` (or a schema object)."""
    settings = {}
    for name, port in value.fields.items() if isinstance(value, ObjectValue) else ():
        schema = port.fields.get("schema") if isinstance(port, ObjectValue) else port
        if isinstance(schema, Scalar) and isinstance(schema.value, str):
            settings[name] = PortSetting(schema.text, span_of(schema))
        elif isinstance(schema, ObjectValue):
            settings[name] = PortSetting(json.dumps(plain(schema)), span_of(schema))
    return settings


def with_dead_letters(descriptor: StreamletDescriptor) -> StreamletDescriptor:
    """Return the descriptor with the implicit outlet for dead letters, if records or failed tasks are sent there."""
    ports = (*descriptor.outlets, *descriptor.inlets)
    sending = [port for port in ports if port.on_invalid == "dead-letters" or descriptor.kind.tasks]
    if not sending or any(outlet.name == DEAD_LETTERS for outlet in descriptor.outlets):
        return descriptor
    implicit = PortDescriptor(DEAD_LETTERS, None, dead_letter_contract(), sending[0].declared)
    return replace(descriptor, outlets=(*descriptor.outlets, implicit))
