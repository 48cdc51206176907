"""Search for the smallest changes that fix an incompatible pair of schemas; every suggestion is tested."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from blueprint.avro.flattening import flat, flat_definitions, names_in
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
from blueprint.avro.resolution.changes import (
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
from blueprint.avro.resolution.matching import field_in
from blueprint.avro.resolution.places import Place
from blueprint.avro.resolution.reasons import Reason, Rule
from blueprint.avro.resolution.resolution import compared
from blueprint.diagnostics import Severity
from blueprint.wording import counted


def with_changes(writer: Contract, reader: Contract, reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
    """Return the reasons, errors with suggestions: at most one change of the reader and one of the writer."""
    pair = _Pair(writer, reader, frozenset(reason.key for reason in reasons if reason.severity is Severity.ERROR))
    return tuple(
        replace(reason, changes=pair.changes(reason)) if reason.severity is Severity.ERROR else reason
        for reason in reasons
    )


@dataclass(frozen=True, slots=True)
class _Pair:
    """A writer, a reader, and the keys of their errors."""

    writer: Contract
    reader: Contract
    errors: frozenset[tuple[str, str]]

    def changes(self, reason: Reason) -> tuple[Change, ...]:
        """Return the first candidate of each side that works."""
        by_side: dict[str, Change] = {}
        for change in self._candidates(reason):
            if change.side not in by_side and self._works(change, reason):
                by_side[change.side] = change
        return tuple(by_side[side] for side in ("reader", "writer") if side in by_side)

    def _works(self, change: Change, reason: Reason) -> bool:
        """Return whether a change fixes the error and causes no other."""
        try:
            if change.side == "reader":
                after = compared(self.writer, apply_edit(change.edit, self.reader))
            else:
                after = compared(apply_edit(change.edit, self.writer), self.reader)
        except InapplicableError:
            return False
        return {error.key for error in after.errors} <= self.errors - {reason.key}

    def _candidates(self, reason: Reason) -> Iterator[Change]:
        """Yield changes that may fix the error, the smallest first."""
        match reason.rule:
            case Rule.FIELD_WITHOUT_DEFAULT:
                yield from self._missing_field(reason)
            case Rule.NAMES_DIFFER:
                old, new = reason.writer_name, reason.reader_name
                yield _reader(AddTypeAlias(new, old), f"add the alias `{old}` to the reader's `{new}`")
                yield _writer(Rename(old, new), f"rename the writer's `{old}` to `{new}`")
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
        wanted = next(field for field in read.fields if field.name == place.field)
        used = {source.name for field in read.fields if (source := field_in(written, field))}
        free = [field.name for field in written.fields if field.name not in used]
        for near in difflib.get_close_matches(wanted.name, free, n=1):
            text = f"add the alias `{near}`, the writer's name, to the reader's field `{reason.path}`"
            yield _reader(AddFieldAlias(read.name, wanted.name, near), text)
        yield self._default(reason.path, read.name, wanted)
        definitions = flat_definitions(self.reader)
        added = Field(wanted.name, flat(wanted.schema), NO_DEFAULT, (), wanted.doc)
        edit = AddField(written.name, added, _used(added.schema, definitions))
        yield _writer(edit, f"add the field `{wanted.name}` of type `{reason.reader_type}` to {_owner(written)}")

    def _default(self, path: str, record: str, wanted: Field) -> Change:
        schema = self.reader.resolve(wanted.schema)
        branches = schema.branches if isinstance(schema, Union) else (schema,)
        if any(_is_null(branch) for branch in branches):
            return _reader(
                SetDefault(record, wanted.name, None), f"add the default null to the reader's field `{path}`"
            )
        optional = Union((Primitive("null"), *(flat(branch) for branch in _branches(wanted.schema))))
        text = f"change the reader's field `{path}` to `{type_text(optional)}` with the default null"
        return _reader(SetType(Place(record, wanted.name), optional, default=None), text)

    def _sizes(self, reason: Reason) -> Iterator[Change]:
        written, read = self.writer.names[reason.writer_name], self.reader.names[reason.reader_name]
        assert isinstance(written, Fixed) and isinstance(read, Fixed)
        yield _reader(
            SetSize(read.name, written.size),
            f"change the size of the reader's `{read.name}` to {counted(written.size, 'byte')}",
        )
        yield _writer(
            SetSize(written.name, read.size),
            f"change the size of the writer's `{written.name}` to {counted(read.size, 'byte')}",
        )

    def _symbols(self, reason: Reason) -> Iterator[Change]:
        written, read = self.writer.names[reason.writer_name], self.reader.names[reason.reader_name]
        assert isinstance(written, Enum) and isinstance(read, Enum)
        new = [symbol for symbol in written.symbols if symbol not in read.symbols]
        listed = ", ".join(f"`{symbol}`" for symbol in new)
        yield _reader(SetSymbols(read.name, (*read.symbols, *new)), f"add {listed} to the reader's `{read.name}`")
        kept = tuple(symbol for symbol in written.symbols if symbol in read.symbols)
        if kept:
            yield _writer(SetSymbols(written.name, kept), f"remove {listed} from the writer's `{written.name}`")

    def _types(self, reason: Reason) -> Iterator[Change]:
        old, new = reason.writer_place, reason.reader_place
        assert old is not None and new is not None
        written, read = _at(self.writer, old), _at(self.reader, new)
        path = _field_path(reason)
        if reason.rule is Rule.TYPES_DIFFER:
            text = f"change the reader's field `{path}` to `{reason.writer_type}`"
            yield _reader(self._set(new, written, written, self.writer), text)
        else:
            nulls = [branch for branch in (written, *_branches(read)) if _is_null(branch)]
            others = [branch for branch in (*_branches(read), written) if not _is_null(branch)]
            union = Union((*nulls[:1], *(flat(branch) for branch in others)))
            text = f"change the reader's field `{path}` to `{type_text(union)}`"
            yield _reader(self._set(new, union, written, self.writer), text)
            if not (isinstance(read, Primitive) and isinstance(written, Primitive)):
                # The union may not be possible, because the reader's type has the same kind or name as the writer's.
                text = f"change the reader's field `{path}` to `{reason.writer_type}`"
                yield _reader(self._set(new, written, written, self.writer), text)
        if old.steps and isinstance(old.steps[-1], int):
            yield from self._without_branch(reason, old, old.steps[-1])
        for branch in _branches(read):
            if not _is_null(branch):
                text = f"change the writer's field `{path}` to `{type_text(branch)}`"
                yield _writer(self._set(old, branch, branch, self.reader), text)

    def _without_branch(self, reason: Reason, old: Place, number: int) -> Iterator[Change]:
        """Yield the writer's union without the branch that cannot be read."""
        around = replace(old, steps=old.steps[:-1])
        union = _at(self.writer, around)
        assert isinstance(union, Union)
        kept = tuple(flat(branch) for at, branch in enumerate(union.branches) if at != number)
        if kept:
            path = _field_path(reason)
            schema = kept[0] if len(kept) == 1 else Union(kept)
            text = f"remove `{reason.writer_type}` from the types of the writer's field `{path}`"
            yield _writer(SetType(around, schema), text)

    def _set(self, place: Place, schema: Schema, foreign: Schema, source: Contract) -> SetType:
        """Return an edit that sets the type at a place; `foreign` is the part of it from the contract `source`."""
        return SetType(place, flat(schema), _used(flat(foreign), flat_definitions(source)))


def _at(contract: Contract, place: Place) -> Schema:
    """Return the type at a place."""
    record = contract.names[place.record]
    assert isinstance(record, Record)
    schema = next(field.schema for field in record.fields if field.name == place.field)
    for step in place.steps:
        here = contract.resolve(schema)
        schema = here.branches[step] if isinstance(here, Union) and isinstance(step, int) else getattr(here, str(step))
    return schema


def _field_path(reason: Reason) -> str:
    """Return the path of a reason without the branch of the writer's union at its end."""
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
