"""Streamlets on paper: a catalog in memory, so that the language is tested without any module of a user's."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from blueprint.avro.sources.loading import load_contract
from blueprint.catalog import (
    ChannelTraits,
    LoadFailure,
    LoadFailureKind,
    ParameterDescriptor,
    PortDescriptor,
    StreamletDescriptor,
    StreamletRequest,
    VolumeMountDescriptor,
)
from blueprint.diagnostics import Span
from streamlets.channels.delta.type import DeltaChannelType
from streamlets.channels.kafka.settings import SETTINGS as KAFKA_SETTINGS

FILE = "paper.py"


def at(line: int) -> Span:
    """Return a place in the module that the streamlets on paper pretend to come from."""
    return Span(FILE, line, 5, line, 20)


def record(name: str, **fields: object) -> dict[str, object]:
    """Return an Avro record of fields without defaults."""
    return {"type": "record", "name": name, "fields": [{"name": key, "type": type} for key, type in fields.items()]}


def port(name: str, schema: Mapping[str, object], line: int, **more: object) -> PortDescriptor:
    """Return a port declared in a line of the module on paper."""
    loaded = load_contract(json.dumps(schema), base_directory=".", declared=at(line))
    assert loaded.contract is not None, loaded.problems
    return PortDescriptor(name, name.replace("-", "_"), loaded.contract, at(line), **more)  # type: ignore[arg-type]


def streamlet(
    class_name: str,
    *,
    inlets: Mapping[str, Mapping[str, object]] | None = None,
    outlets: Mapping[str, Mapping[str, object]] | None = None,
    parameters: tuple[ParameterDescriptor, ...] = (),
    volume_mounts: tuple[VolumeMountDescriptor, ...] = (),
    line: int = 1,
    **outlet: object,
) -> StreamletDescriptor:
    """Return a streamlet whose class is defined in `line`, its ports below; `outlet` applies to every outlet."""
    ports_in = [port(name, schema, line + 1 + i) for i, (name, schema) in enumerate((inlets or {}).items())]
    ports_out = [port(name, schema, line + 5 + i, **outlet) for i, (name, schema) in enumerate((outlets or {}).items())]
    return StreamletDescriptor(
        class_name=class_name,
        description="",
        labels=(),
        inlets=tuple(ports_in),
        outlets=tuple(ports_out),
        parameters=parameters,
        volume_mounts=volume_mounts,
        declared=at(line),
    )


class PaperCatalog:
    """Describes the streamlets of its constructor; other classes are not found."""

    def __init__(self, *known: StreamletDescriptor | tuple[str, LoadFailure]) -> None:
        self.known: dict[str, StreamletDescriptor | LoadFailure] = {}
        for descriptor in known:
            if isinstance(descriptor, tuple):
                self.known[descriptor[0]] = descriptor[1]
            else:
                self.known[descriptor.class_name] = descriptor

    def describe(self, request: StreamletRequest) -> StreamletDescriptor | LoadFailure:
        """As given."""
        missing = LoadFailure(LoadFailureKind.CLASS_NOT_FOUND, f"no class `{request.class_name}` on paper")
        return self.known.get(request.class_name, missing)

    def classes(self, directory: str) -> tuple[str, ...]:
        """Return all of them."""
        return tuple(sorted(self.known))

    def unused(self, directory: str, used: Collection[str]) -> tuple[tuple[str, Span], ...]:
        """On paper nothing lies about."""
        return ()

    def channels(self) -> Mapping[str, ChannelTraits]:
        """One that cannot run in real time, and one that can."""
        kafka = ChannelTraits(name="kafka", real_time=True, settings=KAFKA_SETTINGS)
        return {"delta": DeltaChannelType.traits, "kafka": kafka}
