"""`StreamletShape`: the inlets and outlets of a streamlet, with the builder methods of Cloudflow."""

from __future__ import annotations

from typing import Protocol, TypeVar

from streamlets.api.ports import AvroInlet, AvroOutlet, Port

P = TypeVar("P", AvroInlet, AvroOutlet)


class _InletsBuilder(Protocol):
    def __call__(self, *inlets: AvroInlet) -> StreamletShape: ...


class _OutletsBuilder(Protocol):
    def __call__(self, *outlets: AvroOutlet) -> StreamletShape: ...


class _WithInlets:
    """`with_inlets`: on the class, create a shape; on a shape, copy it with other inlets."""

    def __get__(self, shape: StreamletShape | None, owner: type[StreamletShape]) -> _InletsBuilder:
        outlets = shape.outlets if shape else ()
        return lambda *inlets: StreamletShape(*_only(AvroInlet, "with_inlets", inlets), *outlets)


class _WithOutlets:
    """`with_outlets`: on the class, create a shape; on a shape, copy it with other outlets."""

    def __get__(self, shape: StreamletShape | None, owner: type[StreamletShape]) -> _OutletsBuilder:
        inlets = shape.inlets if shape else ()
        return lambda *outlets: StreamletShape(*inlets, *_only(AvroOutlet, "with_outlets", outlets))


class StreamletShape:
    """The inlets and outlets of a streamlet.

    `StreamletShape(a, b)`, `StreamletShape.of(a, b)` and `StreamletShape.with_inlets(a).with_outlets(b)` are equal;
    `StreamletShape.empty()` has no ports. A second `with_inlets` replaces the inlets of the first.

    Raises:
        TypeError: an argument is not a port, or is an inlet where outlets are expected or vice versa.

    Example:
        >>> from streamlets import AvroInlet, AvroOutlet, StreamletShape
        >>> readings = AvroInlet("readings", schema="celsius double")
        >>> averages = AvroOutlet("averages", schema="celsius double")
        >>> shape = StreamletShape.with_inlets(readings).with_outlets(averages)
        >>> [port.name for port in shape.ports]
        ['readings', 'averages']
    """

    __slots__ = ("inlets", "outlets")

    with_inlets = _WithInlets()
    with_outlets = _WithOutlets()

    def __init__(self, *ports: Port) -> None:
        for port in ports:
            if not isinstance(port, (AvroInlet, AvroOutlet)):
                raise TypeError(f"a shape consists of inlets and outlets, found {port!r}")
        self.inlets: tuple[AvroInlet, ...] = tuple(port for port in ports if isinstance(port, AvroInlet))
        self.outlets: tuple[AvroOutlet, ...] = tuple(port for port in ports if isinstance(port, AvroOutlet))

    @classmethod
    def empty(cls) -> StreamletShape:
        """Return the shape without ports."""
        return cls()

    @classmethod
    def of(cls, *ports: Port) -> StreamletShape:
        """Return the shape with these inlets and outlets.

        Arguments:
            ports: inlets and outlets in any order.
        """
        return cls(*ports)

    @property
    def ports(self) -> tuple[Port, ...]:
        """The inlets, then the outlets, each in the order of the arguments."""
        return (*self.inlets, *self.outlets)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StreamletShape) and self.ports == other.ports

    def __hash__(self) -> int:
        return hash(self.ports)

    def __repr__(self) -> str:
        return f"StreamletShape({', '.join(map(repr, self.ports))})"


class HasShape(Protocol):
    """An object with inlets and outlets: a streamlet."""

    @property
    def shape(self) -> StreamletShape:
        """The inlets and outlets."""


def _only(kind: type[P], builder: str, ports: tuple[P, ...]) -> tuple[P, ...]:
    for port in ports:
        if not isinstance(port, kind):
            raise TypeError(f"`{builder}` expects ports of type `{kind.__name__}`, found {port!r}")
    return ports
