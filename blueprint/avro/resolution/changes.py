"""Changes of a schema as data, and their application. The reasons of a resolution suggest such changes.

Applying a change removes defaults that are no longer valid after it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from blueprint.avro.canonical import json_text
from blueprint.avro.defaults import why_not
from blueprint.avro.flattening import flat_definitions, nested
from blueprint.avro.model import (
    NO_DEFAULT,
    Array,
    Contract,
    Definition,
    Enum,
    Field,
    Fixed,
    Map,
    Named,
    Record,
    Schema,
    Union,
)
from blueprint.avro.resolution.places import Place
from blueprint.avro.sources.loading import parse_contract


@dataclass(frozen=True, slots=True)
class SetType:
    """Replace the type at a place.

    Arguments:
        place: the place of the type.
        schema: the new type, with names in place of named types.
        definitions: definitions of names that the changed schema may not have yet.
        default: the new default of the field, if it gets one.
    """

    place: Place
    schema: Schema
    definitions: tuple[Definition, ...] = ()
    default: object = dataclasses.field(default=NO_DEFAULT, hash=False)


@dataclass(frozen=True, slots=True)
class SetDefault:
    """Set the default of a field (JSON data)."""

    record: str
    field: str
    default: object = dataclasses.field(hash=False)


@dataclass(frozen=True, slots=True)
class AddField:
    """Append a field to a record; `definitions` as in `SetType`."""

    record: str
    field: Field
    definitions: tuple[Definition, ...] = ()


@dataclass(frozen=True, slots=True)
class AddFieldAlias:
    """Add an alias to a field."""

    record: str
    field: str
    alias: str


@dataclass(frozen=True, slots=True)
class AddTypeAlias:
    """Add an alias (a full name) to a named type."""

    name: str
    alias: str


@dataclass(frozen=True, slots=True)
class Rename:
    """Rename a named type and all its uses."""

    name: str
    new: str


@dataclass(frozen=True, slots=True)
class SetSize:
    """Set the size of a fixed, in bytes."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class SetSymbols:
    """Replace the symbols of an enum."""

    name: str
    symbols: tuple[str, ...]


SchemaEdit = SetType | SetDefault | AddField | AddFieldAlias | AddTypeAlias | Rename | SetSize | SetSymbols


@dataclass(frozen=True, slots=True)
class Change:
    """A suggested change of one of two schemas.

    Arguments:
        side: whose schema changes.
        edit: the change.
        text: a description of the change, an imperative sentence without a full stop.
    """

    side: Literal["reader", "writer"]
    edit: SchemaEdit
    text: str


class InapplicableError(ValueError):
    """The edit cannot be applied to the schema, or the result would not be a valid schema."""


def apply_edit(edit: SchemaEdit, contract: Contract) -> Contract:
    """Return the contract after an edit.

    Raises:
        InapplicableError: the contract does not have the place or name, or the result is not a valid schema.
    """
    definitions = flat_definitions(contract)
    root = contract.record.name
    try:
        match edit:
            case Rename():
                definitions = {
                    _renamed(name, edit): _rename(definition, edit) for name, definition in definitions.items()
                }
                root = _renamed(root, edit)
            case _:
                _edit(edit, definitions)
                _drop_misfits(definitions)
        record = nested(Named(root), definitions, set())
        return parse_contract(json_text(record))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InapplicableError(f"cannot apply {edit}: {error}") from error


def _edit(edit: SchemaEdit, definitions: dict[str, Definition]) -> None:
    match edit:
        case SetType(place=place):
            _add(edit.definitions, definitions)
            old = _field(definitions, place.record, place.field)
            new = replace(old, schema=_put(old.schema, place.steps, edit.schema))
            if edit.default is not NO_DEFAULT:
                new = replace(new, default=edit.default)
            _set_field(definitions, place.record, new)
        case SetDefault():
            old = _field(definitions, edit.record, edit.field)
            _set_field(definitions, edit.record, replace(old, default=edit.default))
        case AddFieldAlias():
            old = _field(definitions, edit.record, edit.field)
            _set_field(definitions, edit.record, replace(old, aliases=(*old.aliases, edit.alias)))
        case AddField():
            _add(edit.definitions, definitions)
            record = _record(definitions, edit.record)
            definitions[edit.record] = replace(record, fields=(*record.fields, edit.field))
        case AddTypeAlias():
            named = definitions[edit.name]
            definitions[edit.name] = replace(named, aliases=(*named.aliases, edit.alias))
        case SetSize():
            fixed = definitions[edit.name]
            assert isinstance(fixed, Fixed)
            definitions[edit.name] = replace(fixed, size=edit.size)
        case SetSymbols():
            enum = definitions[edit.name]
            assert isinstance(enum, Enum)
            default = enum.default if enum.default in edit.symbols else None
            definitions[edit.name] = replace(enum, symbols=edit.symbols, default=default)


def _drop_misfits(definitions: dict[str, Definition]) -> None:
    """Remove defaults that are no longer values of their types."""
    for name, definition in definitions.items():
        if isinstance(definition, Record):
            fields = tuple(_without_misfit(field, definitions) for field in definition.fields)
            definitions[name] = replace(definition, fields=fields)


def _without_misfit(field: Field, definitions: Mapping[str, Definition]) -> Field:
    if not field.has_default or why_not(field.default, field.schema, lambda named: definitions[named.name]) is None:
        return field
    return replace(field, default=NO_DEFAULT)


def _add(new: tuple[Definition, ...], definitions: dict[str, Definition]) -> None:
    for definition in new:
        if definitions.setdefault(definition.name, definition) != definition:
            raise ValueError(f"`{definition.name}` is already defined as another type")


def _record(definitions: Mapping[str, Definition], name: str) -> Record:
    record = definitions[name]
    if not isinstance(record, Record):
        raise TypeError(f"`{name}` is not a record")
    return record


def _field(definitions: Mapping[str, Definition], record: str, name: str) -> Field:
    for field in _record(definitions, record).fields:
        if field.name == name:
            return field
    raise KeyError(name)


def _set_field(definitions: dict[str, Definition], name: str, new: Field) -> None:
    record = _record(definitions, name)
    fields = tuple(new if field.name == new.name else field for field in record.fields)
    definitions[name] = replace(record, fields=fields)


def _put(schema: Schema, steps: tuple[str | int, ...], new: Schema) -> Schema:
    if not steps:
        return new
    match schema, steps[0]:
        case Array(), "items":
            return replace(schema, items=_put(schema.items, steps[1:], new))
        case Map(), "values":
            return replace(schema, values=_put(schema.values, steps[1:], new))
        case Union(), int(number):
            branches = list(schema.branches)
            branches[number] = _put(branches[number], steps[1:], new)
            return replace(schema, branches=tuple(branches))
    raise KeyError(steps[0])


def _renamed(name: str, edit: Rename) -> str:
    return edit.new if name == edit.name else name


def _rename(definition: Definition, edit: Rename) -> Definition:
    renamed = replace(definition, name=_renamed(definition.name, edit))
    if not isinstance(renamed, Record):
        return renamed
    fields = tuple(replace(field, schema=_rename_uses(field.schema, edit)) for field in renamed.fields)
    return replace(renamed, fields=fields)


def _rename_uses(schema: Schema, edit: Rename) -> Schema:
    match schema:
        case Named():
            return Named(_renamed(schema.name, edit))
        case Array():
            return replace(schema, items=_rename_uses(schema.items, edit))
        case Map():
            return replace(schema, values=_rename_uses(schema.values, edit))
        case Union():
            return replace(schema, branches=tuple(_rename_uses(branch, edit) for branch in schema.branches))
    return schema
