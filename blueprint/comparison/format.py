"""The format of descriptors: JSON in a stable order, documented in `docs/upgrades.md`.

The keys are the fields of `ApplicationDescriptor` and of what is in it. The first fault of a file is a finding.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, cast

from blueprint.comparison.codec import Contracts, DescriptorError, Record, invalid
from blueprint.comparison.describing import retry_json
from blueprint.comparison.descriptor import ApplicationDescriptor, DescribedLogic
from blueprint.core_settings import Retry
from blueprint.hocon import ObjectValue, Scalar, Value, parse_json, plain
from blueprint.hocon.values import Json

VERSION = 1
"""The version of the format. Adding keys does not change it; removing a key or changing its meaning does."""


_APPLICATION = Record(ApplicationDescriptor)
_LOGIC = Record(DescribedLogic)


def to_json(descriptor: ApplicationDescriptor) -> str:
    """Return the descriptor as JSON, with a line end at the end. Equal descriptors give equal strings."""
    data: dict[str, Any] = {"version": VERSION, **cast("dict[str, Any]", _APPLICATION.write(descriptor))}
    data["topics"] = {id: _with_ports(id, topic, descriptor) for id, topic in data["topics"].items()}
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def logic_to_json(logic: DescribedLogic) -> str:
    """Return the logic of a query as JSON, with a line end at the end."""
    return json.dumps(_LOGIC.write(logic), ensure_ascii=False, indent=2) + "\n"


def read_logic(text: str, file: str) -> DescribedLogic:
    """Read the logic of a query as `logic_to_json` writes it.

    Raises:
        DescriptorError: the text is not JSON, or does not have the form.
    """
    root, problems = parse_json(text, file)
    if root is None or problems:
        raise DescriptorError(problems[0])
    return _LOGIC.read(root, "logic", {})


def _with_ports(id: str, topic: dict[str, Json], descriptor: ApplicationDescriptor) -> dict[str, Json]:
    """Return a topic with its ports, which only people read: streamlets have them, too."""
    last: dict[str, Json] = {key: topic.pop(key) for key in ("settings", "written") if key in topic}
    producers: list[Json] = [f"{ref}.{name}" for ref, name in sorted(descriptor.outlets_of(id))]
    consumers: list[Json] = [f"{ref}.{name}" for ref, name in sorted(descriptor.inlets_of(id))]
    return {**topic, "producers": producers, "consumers": consumers, **last}


@dataclass(frozen=True, slots=True)
class Described:
    """A descriptor, and the values that it was read from with their places."""

    descriptor: ApplicationDescriptor
    root: ObjectValue


def read_descriptor(text: str, file: str) -> Described:
    """Read a descriptor as `to_json` writes it. Unknown keys are ignored, missing ones have their defaults.

    Arguments:
        text: the content of the file.
        file: its name, as in `Span.file`.

    Raises:
        DescriptorError: the text is not JSON, not a descriptor, or has another version.
    """
    root, problems = parse_json(text, file)
    if root is None or problems:
        raise DescriptorError(problems[0])
    if not isinstance(root, ObjectValue) or not {"version", "streamlets", "topics"} <= set(root.fields):
        raise invalid(root, "this is not a descriptor of an application", "write one with `flow describe`")
    version = root.fields["version"]
    if not isinstance(version, Scalar) or version.value != VERSION:
        raise invalid(
            version,
            f"unsupported descriptor version {plain(version)}, expected {VERSION}",
            "write the descriptor again with `flow describe`, or use a version of `flow` that supports it",
        )
    contracts: Contracts = {}
    described = _with_retry(_APPLICATION.read(root, "", contracts))
    for ref, streamlet in described.streamlets.items():
        for side, ports in (("inlets", streamlet.inlets), ("outlets", streamlet.outlets)):
            for name, port in ports.items():
                if port.topic not in described.topics:
                    value = cast(Value, root.get("streamlets", ref, side, name, "topic"))
                    raise invalid(value, f"the descriptor has no topic `{port.topic}`")
    return Described(described, root)


def _with_retry(descriptor: ApplicationDescriptor) -> ApplicationDescriptor:
    """Return a descriptor with the defaults of restart settings that the file does not have."""
    defaults = retry_json(Retry())
    streamlets = {
        ref: replace(streamlet, retry={**defaults, **streamlet.retry})
        for ref, streamlet in descriptor.streamlets.items()
    }
    return replace(descriptor, streamlets=streamlets)
