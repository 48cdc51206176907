"""Changes to a schema, as data, and how one is applied: the remedies that a resolution's reasons offer.

Defaults that no longer fit after a change are dropped with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from blueprint.avro.canonical import json_text
from blueprint.avro.defaults import why_not
from blueprint.avro.flattening import flat_definitions, nested
from blueprint.avro.loading import parse_contract
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
from blueprint.avro.reasons import Place


@dataclass(frozen=True, slots=True)
class SetType:
    """Put `schema` at `place`.

    Arguments:
        schema: named types in it are uses by name.
        definitions: of names the schema to change may not have yet.
        default: of the field, when it shall get one.
    """

    place: Place
    schema: Schema
    definitions: tuple[Definition, ...] = ()
    default: object = dataclasses.field(default=NO_DEFAULT, hash=False)


@dataclass(frozen=True, slots=True)
class SetDefault:
    """Give a field a default (JSON data)."""

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
    """Give a field one more alias."""

    record: str
    field: str
    alias: str


@dataclass(frozen=True, slots=True)
class AddTypeAlias:
    """Give a named type one more alias (a full name)."""

    name: str
    alias: str


@dataclass(frozen=True, slots=True)
class Rename:
    """Call a named type otherwise, wherever it is used."""

    name: str
    new: str


@dataclass(frozen=True, slots=True)
class SetSize:
    """Give a fixed another size in bytes."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class SetSymbols:
    """Give an enum other symbols."""

    name: str
    symbols: tuple[str, ...]


SchemaEdit = SetType | SetDefault | AddField | AddFieldAlias | AddTypeAlias | Rename | SetSize | SetSymbols


@dataclass(frozen=True, slots=True)
class Change:
    """A remedy: what to do to which schema.

    Arguments:
        side: whose schema changes.
        edit: what changes in it.
        text: the same in words, an imperative sentence without a full stop.
    """

    side: Literal["reader", "writer"]
    edit: SchemaEdit
    text: str


class InapplicableError(ValueError):
    """The edit does not fit the schema, or would leave one that Avro refuses."""


def apply_edit(edit: SchemaEdit, contract: Contract) -> Contract:
    """The contract with the edit made.

    Raises `InapplicableError` when the place or name is not in it, or what comes out is no valid schema.
    """
    definitions = flat_definitions(contract)
    root = contract.record.name
    try:
        match edit:
            case Rename():
                definitions = {_renamed(name, edit): _rename(one, edit) for name, one in definitions.items()}
                root = _renamed(root, edit)
            case _:
                _edit(edit, definitions)
                _drop_misfits(definitions)
        record = nested(Named(root), definitions, set())
        return parse_contract(json_text(record))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InapplicableError(f"{edit} does not fit: {error}") from error


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
            one = definitions[edit.name]
            definitions[edit.name] = replace(one, aliases=(*one.aliases, edit.alias))
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
    """Take away defaults that are no longer values of their types."""
    for name, one in definitions.items():
        if isinstance(one, Record):
            fields = tuple(_without_misfit(each, definitions) for each in one.fields)
            definitions[name] = replace(one, fields=fields)


def _without_misfit(one: Field, definitions: Mapping[str, Definition]) -> Field:
    fits = not one.has_default or why_not(one.default, one.schema, lambda named: definitions[named.name]) is None
    return one if fits else replace(one, default=NO_DEFAULT)


def _add(new: tuple[Definition, ...], definitions: dict[str, Definition]) -> None:
    for one in new:
        if definitions.setdefault(one.name, one) != one:
            raise ValueError(f"`{one.name}` is already another type")


def _record(definitions: Mapping[str, Definition], name: str) -> Record:
    record = definitions[name]
    if not isinstance(record, Record):
        raise TypeError(f"`{name}` is no record")
    return record


def _field(definitions: Mapping[str, Definition], record: str, name: str) -> Field:
    found = [one for one in _record(definitions, record).fields if one.name == name]
    if not found:
        raise KeyError(name)
    return found[0]


def _set_field(definitions: dict[str, Definition], name: str, new: Field) -> None:
    record = _record(definitions, name)
    fields = tuple(new if one.name == new.name else one for one in record.fields)
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


def _rename(one: Definition, edit: Rename) -> Definition:
    named = replace(one, name=_renamed(one.name, edit))
    if not isinstance(named, Record):
        return named
    fields = tuple(replace(each, schema=_rename_uses(each.schema, edit)) for each in named.fields)
    return replace(named, fields=fields)


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
