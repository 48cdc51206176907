"""What authors declare as attributes of a streamlet's class: ports, parameters and volume mounts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, TypeVar

from streamlets.api.source_location import constructor_location

D = TypeVar("D", bound="Declaration")


class Declaration:
    """The base class of ports, parameters and volume mounts.

    Arguments:
        name: the name in the configuration; default: the name of the attribute with `-` for `_`.
        hint: what was most probably meant if the name is not a string, for the error message.

    Attributes:
        attribute: the name of the attribute; None until a class has it.
        declared: the location of the constructor call.

    Raises:
        TypeError: the name is not a string.
    """

    _NAME: ClassVar[str]
    """The name in error messages, such as `the name of an inlet`."""

    def __init__(self, name: str | None, hint: str = "") -> None:
        self._name = None if name is None else require_string(name, self._NAME, hint)
        self.attribute: str | None = None
        self.declared = constructor_location(self)

    def __set_name__(self, owner: type, attribute: str) -> None:
        if self.attribute is None:
            self.attribute = attribute

    def __repr__(self) -> str:
        name = self._configured_name() if self._name is not None or self.attribute else "?"
        return f"{type(self).__name__}({name!r})"

    def _configured_name(self) -> str:
        if self._name is not None:
            return self._name
        if self.attribute is None:
            raise ValueError(f"{self._NAME} is missing: pass it, or declare it as an attribute of a streamlet's class")
        return self.attribute.strip("_").replace("_", "-")


def declarations(streamlet: object, kind: type[D]) -> tuple[D, ...]:
    """Return the ports, parameters or volume mounts of a streamlet, inherited ones first.

    A name that a subclass declares again hides the inherited declaration, as with any attribute.

    Arguments:
        streamlet: an instance of a streamlet's class.
        kind: the type of the declarations, such as `AvroInlet` or `Parameter`.
    """
    declared = {name: value for name, value in _attributes(streamlet) if isinstance(value, kind)}
    visible = {name: value for name, value in declared.items() if getattr(streamlet, name, None) is value}
    return tuple({id(value): value for value in visible.values()}.values())


def require_string(value: object, what: str, hint: str = "") -> str:
    """Return a value if it is a string.

    Arguments:
        value: the value.
        what: the subject of the error message, such as `the name of an inlet`.
        hint: what was most probably meant.

    Raises:
        TypeError: it is not a string.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string, found {value!r:.60}{f': {hint}' if hint else ''}")
    return value


def _attributes(streamlet: object) -> Iterator[tuple[str, object]]:
    for owner in reversed(type(streamlet).__mro__):
        yield from vars(owner).items()
    for name, value in vars(streamlet).items():
        if isinstance(value, Declaration):
            value.__set_name__(type(streamlet), name)
        yield name, value
