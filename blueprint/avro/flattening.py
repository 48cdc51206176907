"""Conversion between nested schemas and flat definitions that refer to each other by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from blueprint.avro.model import Array, Contract, Definition, Enum, Fixed, Map, Named, Record, Schema, Union


def flat_definitions(contract: Contract) -> dict[str, Definition]:
    """Return the named types of a contract by name, with names in place of nested definitions."""
    return {name: _flat_definition(definition) for name, definition in contract.names.items()}


def flat(schema: Schema) -> Schema:
    """Return the schema with names in place of its named types."""
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
    """Return the names in `definitions` that a flat schema uses, directly or through other definitions."""
    names: set[str] = set()
    pending = [schema]
    while pending:
        match pending.pop():
            case Named(name=name) if name not in names and name in definitions:
                names.add(name)
                definition = definitions[name]
                if isinstance(definition, Record):
                    pending += [field.schema for field in definition.fields]
            case Array(items=inner) | Map(values=inner):
                pending.append(inner)
            case Union(branches=branches):
                pending += branches
    return names


def nested(schema: Schema, definitions: Mapping[str, Definition], seen: set[str]) -> Schema:
    """Return a flat schema with every name replaced by its definition at its first use.

    Arguments:
        schema: a flat schema.
        definitions: flat definitions by name.
        seen: names that are already defined; extended by those defined here.

    Raises:
        KeyError: a name has no definition.
    """
    match schema:
        case Named(name=name) if name not in seen:
            seen.add(name)
            definition = definitions[name]
            if not isinstance(definition, Record):
                return definition
            fields = tuple(
                replace(field, schema=nested(field.schema, definitions, seen)) for field in definition.fields
            )
            return replace(definition, fields=fields)
        case Array():
            return replace(schema, items=nested(schema.items, definitions, seen))
        case Map():
            return replace(schema, values=nested(schema.values, definitions, seen))
        case Union():
            return replace(schema, branches=tuple(nested(branch, definitions, seen) for branch in schema.branches))
    return schema


def _flat_definition(definition: Definition) -> Definition:
    if not isinstance(definition, Record):
        return definition
    fields = tuple(replace(field, schema=flat(field.schema)) for field in definition.fields)
    return replace(definition, fields=fields)
