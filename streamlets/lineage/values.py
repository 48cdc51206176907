"""`Value`: from which columns the value of an expression comes, and the parts of it that are known apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from streamlets.lineage.kinds import Kind

NO_PARTS: Mapping[str, Value] = MappingProxyType({})


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """What a query reads.

    Arguments:
        inlet: the name of the inlet; "" for something else.
        external: a table, files or a stream that is not an inlet, as a description without secrets.
    """

    inlet: str = ""
    external: str = ""


@dataclass(frozen=True, slots=True)
class Influence:
    """A column on which a value depends.

    Arguments:
        source: what has the column.
        path: its name, followed by the names of nested fields.
        kind: how the value depends on it.
        masking: whether the value does not reveal it, as a hash does not.
    """

    source: Source
    path: tuple[str, ...]
    kind: Kind
    masking: bool = False

    @property
    def order(self) -> tuple[object, ...]:
        """The place among other influences: direct ones first, then by name."""
        return not self.kind.direct, self.source, self.path, list(Kind).index(self.kind), self.masking


Influences = frozenset[Influence]
NONE: Influences = frozenset()


@dataclass(frozen=True, slots=True)
class Value:
    """The value of an expression.

    Arguments:
        inputs: the columns on which it depends.
        parts: the values of those fields of a struct that are known one by one.
        nested: whether other fields of the value are the same fields of its direct inputs.
        base: the struct that has the other fields; None if no other struct has them.
        unknown: the reasons why there may be further inputs.
    """

    inputs: Influences = NONE
    parts: Mapping[str, Value] = field(default_factory=lambda: NO_PARTS)
    nested: bool = False
    unknown: frozenset[str] = frozenset()
    base: Value | None = None

    def field(self, name: str) -> Value:
        """Return the value of a field of a struct, or of the structs in an array or a map."""
        part = next((part for key, part in self.parts.items() if key.lower() == name.lower()), None)
        if part is not None:
            return part
        if self.base is not None:
            return self.base.field(name)
        if not self.nested:
            return replace(self, parts=NO_PARTS)
        inputs = (replace(each, path=(*each.path, name)) if each.kind.direct else each for each in self.inputs)
        return Value(frozenset(inputs), NO_PARTS, True, self.unknown)

    def derived(self, kind: Kind, *, masking: bool = False, nested: bool = False) -> Value:
        """Return a value that depends on this one.

        Arguments:
            kind: how.
            masking: whether it does not reveal this one.
            nested: whether it has the structure of this one, as an element of an array has.
        """
        keeps = nested and self.nested
        parts = {name: part.derived(kind, nested=True) for name, part in self.parts.items()} if nested else NO_PARTS
        inputs = (
            replace(each, kind=each.kind.then(kind), masking=each.masking or masking) for each in self.inputs
        )  # fmt: skip
        base = self.base.derived(kind, nested=True) if nested and self.base is not None else None
        return Value(frozenset(inputs), parts, keeps, self.unknown, base)

    def deciding(self, kind: Kind) -> Influences:
        """Return the influences of a value that decides something; see `Kind`."""
        return frozenset(Influence(each.source, each.path, kind) for each in self.inputs)

    def paths(self, prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Value]]:
        """Yield the value and all its known parts, with the paths below it."""
        yield prefix, self
        for name, part in self.parts.items():
            yield from part.paths((*prefix, name))


CONSTANT = Value()
"""A value without inputs."""


def merged(values: Iterable[Value]) -> Value:
    """Return one of several values, such as the column of a union; parts that all have stay apart."""
    values = list(values)
    if len(values) == 1:
        return values[0]
    names = [name for name in values[0].parts if all(name in value.parts for value in values)] if values else []
    return Value(
        frozenset[Influence]().union(*(value.inputs for value in values)),
        {name: merged(value.parts[name] for value in values) for name in names},
        all(value.nested or not value.inputs for value in values) and any(value.nested for value in values),
        frozenset[str]().union(*(value.unknown for value in values)),
    )


def combined(values: Iterable[Value], kind: Kind, *, masking: bool = False) -> Value:
    """Return the value that is computed from several ones."""
    whole = merged(values)
    return whole.derived(kind, masking=masking)


def struct(parts: Mapping[str, Value]) -> Value:
    """Return the struct that has these fields."""
    return replace(combined(parts.values(), Kind.TRANSFORMATION), parts=parts)


def with_influences(value: Value, influences: Influences) -> Value:
    """Return a value that depends on further columns, too, and all its parts with it."""
    if not influences:
        return value
    parts = {name: with_influences(part, influences) for name, part in value.parts.items()}
    return replace(value, inputs=value.inputs | influences, parts=parts)
