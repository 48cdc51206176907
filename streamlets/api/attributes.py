"""What an author declares on a streamlet's class: its ports, parameters and mounts, found among its attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from streamlets.api.mounts import VolumeMount
from streamlets.api.parameters import Parameter
from streamlets.api.ports import AvroInlet, AvroOutlet

D = TypeVar("D")


def attributes(streamlet: object, kind: type[D]) -> tuple[D, ...]:
    """The attributes of a streamlet that are of a kind (ports, parameters, mounts), base classes first.

    A name that a subclass declares anew hides the inherited one, as with any attribute.
    """
    found = {name: value for name, value in _all(streamlet) if isinstance(value, kind)}
    visible = {name: value for name, value in found.items() if getattr(streamlet, name, None) is value}
    return tuple({id(value): value for value in visible.values()}.values())


def _all(streamlet: object) -> Iterator[tuple[str, object]]:
    for owner in reversed(type(streamlet).__mro__):
        yield from vars(owner).items()
    for name, value in vars(streamlet).items():
        if isinstance(value, (AvroInlet, AvroOutlet, Parameter, VolumeMount)):
            value.__set_name__(type(streamlet), name)
        yield name, value
