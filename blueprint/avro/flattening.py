"""A schema taken apart into definitions that use each other by name, and put together again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from blueprint.avro.model import Array, Contract, Definition, Enum, Fixed, Map, Named, Record, Schema, Union


def flat_definitions(contract: Contract) -> dict[str, Definition]:
    """Every named type of a contract, each with only uses by name inside."""
    return {name: _flat_definition(one) for name, one in contract.names.items()}


def flat(schema: Schema) -> Schema:
    """The schema with its named types replaced by uses of their names."""
    match schema:
        case Record() | Enum() | Fixed():
            return Named(schema.name)
        case Array():
            return replace(schema, items=flat(schema.items))
        case Map():
            return replace(schema, values=flat(schema.values))
        case Union():
            return replace(schema, branches=tuple(flat(branch) for branch in schema.branches))
    return schema


def names_in(schema: Schema, definitions: Mapping[str, Definition]) -> set[str]:
    """Every name of `definitions` that a flat schema uses, also through other definitions."""
    found: set[str] = set()
    open_ = [schema]
    while open_:
        match open_.pop():
            case Named(name=name) if name not in found and name in definitions:
                found.add(name)
                definition = definitions[name]
                if isinstance(definition, Record):
                    open_ += [one.schema for one in definition.fields]
            case Array(items=inner) | Map(values=inner):
                open_.append(inner)
            case Union(branches=branches):
                open_ += branches
    return found


def nested(schema: Schema, definitions: Mapping[str, Definition], seen: set[str]) -> Schema:
    """The flat schema with every name defined at its first use; `seen` holds the names defined before.

    Raises KeyError for a name that has no definition.
    """
    match schema:
        case Named(name=name) if name not in seen:
            seen.add(name)
            definition = definitions[name]
            if not isinstance(definition, Record):
                return definition
            fields = tuple(replace(one, schema=nested(one.schema, definitions, seen)) for one in definition.fields)
            return replace(definition, fields=fields)
        case Array():
            return replace(schema, items=nested(schema.items, definitions, seen))
        case Map():
            return replace(schema, values=nested(schema.values, definitions, seen))
        case Union():
            return replace(schema, branches=tuple(nested(one, definitions, seen) for one in schema.branches))
    return schema


def _flat_definition(one: Definition) -> Definition:
    if not isinstance(one, Record):
        return one
    return replace(one, fields=tuple(replace(each, schema=flat(each.schema)) for each in one.fields))
