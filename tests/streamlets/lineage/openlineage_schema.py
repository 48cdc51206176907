"""JSON schemas of OpenLineage, from the classes of its client, which are generated from the published schemas."""

from __future__ import annotations

import importlib
import pkgutil
import types
import typing
from enum import Enum
from functools import cache
from typing import Any

import attr
import openlineage.client.generated as generated
from jsonschema import Draft202012Validator
from openlineage.client.event_v2 import RunEvent
from openlineage.client.generated.base import BaseFacet

FACETS = {
    own._get_schema(): own
    for module in pkgutil.iter_modules(generated.__path__)
    for own in vars(importlib.import_module(f"{generated.__name__}.{module.name}")).values()
    if isinstance(own, type) and attr.has(own) and hasattr(own, "_get_schema")
}
"""The classes of facets by the addresses of their published schemas."""

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}


@cache
def schema_of(kind: type) -> dict[str, Any]:
    """Return the schema of a class: its fields with their types, of which those without a default are required.

    A facet in a class is only required to be an object; it has a schema of its own.
    """
    known: dict[str, Any] = {}
    return {**_reference(kind, known), "$defs": known}


def _reference(kind: type, known: dict[str, Any]) -> dict[str, Any]:
    """Return a reference to the schema of a class, which is among the known ones then: fields may be nested."""
    if kind.__name__ not in known:
        known[kind.__name__] = {}
        hints = typing.get_type_hints(kind)
        own = {field.name: field for field in attr.fields(kind)}
        known[kind.__name__] = {
            "type": "object",
            "properties": {name: _schema(hints[name], known) for name in own},
            "required": [name for name, field in own.items() if field.default is attr.NOTHING],
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _schema(hint: Any, known: dict[str, Any]) -> dict[str, Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):  # a value that is missing is omitted, and never null
        alternatives = [_schema(each, known) for each in arguments if each is not type(None)]
        return alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0], known)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1], known)}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    if isinstance(hint, type) and issubclass(hint, BaseFacet):
        return {"type": "object", "required": ["_producer", "_schemaURL"]}
    return _reference(hint, known) if attr.has(hint) else {}


def faults(event: dict[str, Any]) -> list[str]:
    """Return what of an event of a run, with all its facets, is not as the schemas say."""
    checked: list[tuple[str, dict[str, Any], type]] = [("event", event, RunEvent)]
    for owner in (event["run"], event["job"], *event.get("inputs", ()), *event.get("outputs", ())):
        for name, facet in owner.get("facets", {}).items():
            checked.append((name, facet, FACETS[facet["_schemaURL"]]))
    return [
        f"{name}{error.json_path.removeprefix('$')}: {error.message}"
        for name, data, kind in checked
        for error in Draft202012Validator(schema_of(kind)).iter_errors(data)
    ]
