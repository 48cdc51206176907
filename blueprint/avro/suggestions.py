"""For every reason why a pair is incompatible the smallest changes that would do; each was tried."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from blueprint.avro.changes import (
    AddField,
    AddFieldAlias,
    AddTypeAlias,
    Change,
    InapplicableError,
    Rename,
    SchemaEdit,
    SetDefault,
    SetSize,
    SetSymbols,
    SetType,
    apply_edit,
)
from blueprint.avro.flattening import flat, flat_definitions, names_in
from blueprint.avro.matching import field_in
from blueprint.avro.model import (
    NO_DEFAULT,
    Contract,
    Definition,
    Enum,
    Field,
    Fixed,
    Primitive,
    Record,
    Schema,
    Union,
    is_unnamed,
    type_text,
)
from blueprint.avro.reasons import Place, Reason, Rule
from blueprint.avro.resolution import compared
from blueprint.diagnostics import Severity


def with_changes(writer: Contract, reader: Contract, reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
    """The reasons, the errors among them with what would do: at most one change of the reader and one of the writer."""
    pair = _Pair(writer, reader, frozenset(one.key for one in reasons if one.severity is Severity.ERROR))
    return tuple(
        replace(reason, changes=pair.changes(reason)) if reason.severity is Severity.ERROR else reason
        for reason in reasons
    )


@dataclass(frozen=True, slots=True)
class _Pair:
    """A writer and a reader, and what stands between them now."""

    writer: Contract
    reader: Contract
    errors: frozenset[tuple[str, str]]

    def changes(self, reason: Reason) -> tuple[Change, ...]:
        """The first candidate of each side that works."""
        found: dict[str, Change] = {}
        for change in self._candidates(reason):
            if change.side not in found and self._works(change, reason):
                found[change.side] = change
        return tuple(found[side] for side in ("reader", "writer") if side in found)

    def _works(self, change: Change, reason: Reason) -> bool:
        """Whether the change takes the reason away and brings no other."""
        try:
            if change.side == "reader":
                after = compared(self.writer, apply_edit(change.edit, self.reader))
            else:
                after = compared(apply_edit(change.edit, self.writer), self.reader)
        except InapplicableError:
            return False
        return {one.key for one in after.errors} <= self.errors - {reason.key}

    def _candidates(self, reason: Reason) -> Iterator[Change]:
        """Changes that may do, the smallest first."""
        match reason.rule:
            case Rule.FIELD_WITHOUT_DEFAULT:
                yield from self._missing_field(reason)
            case Rule.NAMES_DIFFER:
                old, new = reason.writer_name, reason.reader_name
                yield _reader(AddTypeAlias(new, old), f"give the reader's `{new}` the alias `{old}`")
                yield _writer(Rename(old, new), f"call the writer's `{old}` `{new}`")
            case Rule.SIZES_DIFFER:
                yield from self._sizes(reason)
            case Rule.SYMBOLS_MISSING:
                yield from self._symbols(reason)
            case Rule.TYPES_DIFFER | Rule.BRANCH_NOT_READ | Rule.NO_BRANCH:
                yield from self._types(reason)

    def _missing_field(self, reason: Reason) -> Iterator[Change]:
        place = reason.reader_place
        assert place is not None
        read, written = self.reader.names[place.record], self.writer.names[reason.writer_name]
        assert isinstance(read, Record) and isinstance(written, Record)
        wanted = next(one for one in read.fields if one.name == place.field)
        taken = {source.name for one in read.fields if (source := field_in(written, one))}
        free = [one.name for one in written.fields if one.name not in taken]
        for near in difflib.get_close_matches(wanted.name, free, n=1):
            text = f"give the reader's field `{reason.path}` the alias `{near}`, as the writer calls it"
            yield _reader(AddFieldAlias(read.name, wanted.name, near), text)
        yield self._default(reason.path, read.name, wanted)
        definitions = flat_definitions(self.reader)
        added = Field(wanted.name, flat(wanted.schema), NO_DEFAULT, (), wanted.doc)
        edit = AddField(written.name, added, _used(added.schema, definitions))
        yield _writer(edit, f"add `{wanted.name}` of type `{reason.reader_type}` to {_owner(written)}")

    def _default(self, path: str, record: str, wanted: Field) -> Change:
        schema = self.reader.resolve(wanted.schema)
        branches = schema.branches if isinstance(schema, Union) else (schema,)
        if any(_is_null(branch) for branch in branches):
            return _reader(SetDefault(record, wanted.name, None), f"give the reader's field `{path}` the default null")
        optional = Union((Primitive("null"), *(flat(branch) for branch in _branches(wanted.schema))))
        text = f"let the reader's field `{path}` be null by default: `{type_text(optional)}`"
        return _reader(SetType(Place(record, wanted.name), optional, default=None), text)

    def _sizes(self, reason: Reason) -> Iterator[Change]:
        written, read = self.writer.names[reason.writer_name], self.reader.names[reason.reader_name]
        assert isinstance(written, Fixed) and isinstance(read, Fixed)
        yield _reader(SetSize(read.name, written.size), f"make the reader's `{read.name}` {written.size} bytes")
        yield _writer(SetSize(written.name, read.size), f"make the writer's `{written.name}` {read.size} bytes")

    def _symbols(self, reason: Reason) -> Iterator[Change]:
        written, read = self.writer.names[reason.writer_name], self.reader.names[reason.reader_name]
        assert isinstance(written, Enum) and isinstance(read, Enum)
        new = [symbol for symbol in written.symbols if symbol not in read.symbols]
        listed = ", ".join(f"`{symbol}`" for symbol in new)
        yield _reader(SetSymbols(read.name, (*read.symbols, *new)), f"add {listed} to the reader's `{read.name}`")
        kept = tuple(symbol for symbol in written.symbols if symbol in read.symbols)
        if kept:
            yield _writer(SetSymbols(written.name, kept), f"take {listed} out of the writer's `{written.name}`")

    def _types(self, reason: Reason) -> Iterator[Change]:
        old, new = reason.writer_place, reason.reader_place
        assert old is not None and new is not None
        written, read = _at(self.writer, old), _at(self.reader, new)
        path = _field_path(reason)
        if reason.rule is Rule.TYPES_DIFFER:
            text = f"let the reader's `{path}` be `{reason.writer_type}`"
            yield _reader(self._set(new, written, written, self.writer), text)
        else:
            nulls = [one for one in (written, *_branches(read)) if _is_null(one)]
            others = [one for one in (*_branches(read), written) if not _is_null(one)]
            union = Union((*nulls[:1], *(flat(one) for one in others)))
            text = f"let the reader's `{path}` be `{type_text(union)}`"
            yield _reader(self._set(new, union, written, self.writer), text)
            if not (
                isinstance(read, Primitive) and isinstance(written, Primitive)
            ):  # a branch that is in the way of the writer's
                text = f"let the reader's `{path}` be `{reason.writer_type}`"
                yield _reader(self._set(new, written, written, self.writer), text)
        if old.steps and isinstance(old.steps[-1], int):
            yield from self._without_branch(reason, old, old.steps[-1])
        for branch in _branches(read):
            if not _is_null(branch):
                text = f"let the writer's `{path}` be `{type_text(branch)}`"
                yield _writer(self._set(old, branch, branch, self.reader), text)

    def _without_branch(self, reason: Reason, old: Place, number: int) -> Iterator[Change]:
        """The writer's union without the branch that cannot be read."""
        around = replace(old, steps=old.steps[:-1])
        union = _at(self.writer, around)
        assert isinstance(union, Union)
        kept = tuple(flat(one) for at, one in enumerate(union.branches) if at != number)
        if kept:
            path = _field_path(reason)
            schema = kept[0] if len(kept) == 1 else Union(kept)
            text = f"take `{reason.writer_type}` out of what the writer's `{path}` may be"
            yield _writer(SetType(around, schema), text)

    def _set(self, place: Place, schema: Schema, foreign: Schema, source: Contract) -> SetType:
        """Put a schema at a place; `foreign` is the part of it that comes from the other contract, `source`."""
        return SetType(place, flat(schema), _used(flat(foreign), flat_definitions(source)))


def _at(contract: Contract, place: Place) -> Schema:
    """What stands at a place."""
    record = contract.names[place.record]
    assert isinstance(record, Record)
    schema = next(one.schema for one in record.fields if one.name == place.field)
    for step in place.steps:
        here = contract.resolve(schema)
        schema = here.branches[step] if isinstance(here, Union) and isinstance(step, int) else getattr(here, str(step))
    return schema


def _field_path(reason: Reason) -> str:
    """The reason's path without the branch of the writer's union at its end."""
    return reason.path.rpartition("<")[0] if reason.path.endswith(">") else reason.path


def _used(schema: Schema, definitions: dict[str, Definition]) -> tuple[Definition, ...]:
    return tuple(definitions[name] for name in sorted(names_in(schema, definitions)))


def _owner(written: Record) -> str:
    return "the writer's columns" if is_unnamed(written.name) else f"the writer's `{written.name}`"


def _branches(schema: Schema) -> tuple[Schema, ...]:
    return schema.branches if isinstance(schema, Union) else (schema,)


def _is_null(schema: Schema) -> bool:
    return isinstance(schema, Primitive) and schema.type == "null"


def _reader(edit: SchemaEdit, text: str) -> Change:
    return _change("reader", edit, text)


def _writer(edit: SchemaEdit, text: str) -> Change:
    return _change("writer", edit, text)


def _change(side: Literal["reader", "writer"], edit: SchemaEdit, text: str) -> Change:
    return Change(side, edit, text)
