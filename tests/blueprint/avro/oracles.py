"""Other implementations as oracles: fastavro and Apache Avro decode records, and Apache's checker compares schemas.

Known divergences of fastavro and of Apache's checker, each with a predicate, and the reasons for our behaviour. Those
of Apache's decoder are in `apache.py`.

* `same-short-name`: a union of the reader has two named types with the same short name, or a type and an alias of
  another. fastavro uses the first with the short name, even if a later one has the writer's full name; Apache uses any
  that works. We prefer the full name, as Java does: the specification says the first that matches.
* `other-kind`: a record, enum or fixed of the writer has the name of a reader's type of another kind. fastavro compares
  names before kinds and decodes a fixed as an enum; the specification compares kinds first.
* `name-and-alias`: a record of the writer has fields with both the name and the alias of a reader's field. fastavro
  reads both into the field; we use the one with the name.

One divergence concerns the value instead of the compatibility: for a writer's `bytes` and a reader's `[string, bytes]`,
fastavro uses the first branch, as the text of the specification says; we use the equal type, as Java does, which loses
no data.
"""

from __future__ import annotations

import io
import json
from itertools import combinations
from typing import Any

import avro.compatibility
import avro.schema
import fastavro

from tests.blueprint.avro.schemas import Flat


def apache_compatible(writer: Flat, reader: Flat) -> bool:
    """Return the result of Apache Avro's checker."""
    parsed = [avro.schema.parse(json.dumps(schema.nested())) for schema in (reader, writer)]
    result = avro.compatibility.ReaderWriterCompatibilityChecker().get_compatibility(*parsed)
    return bool(result.compatibility is avro.compatibility.SchemaCompatibilityType.compatible)


def both_parsed(writer: Flat, reader: Flat) -> tuple[Any, Any]:
    """Return both schemas as parsed by fastavro."""
    return tuple(fastavro.parse_schema(schema.nested(), named_schemas={}) for schema in (writer, reader))


class FastReader:
    """Encodes records of a writer's schema, and decodes them with a reader's schema, with fastavro."""

    def __init__(self, writer: Flat, reader: Flat) -> None:
        self._old, self._new = both_parsed(writer, reader)

    def encoded(self, record: Any) -> bytes:
        """Return a record of the writer in Avro's binary encoding."""
        coded = io.BytesIO()
        fastavro.schemaless_writer(coded, self._old, record)
        return coded.getvalue()

    def decodes(self, data: bytes) -> bool:
        """Return whether a record can be read without an exception."""
        try:
            fastavro.schemaless_reader(io.BytesIO(data), self._old, self._new)
        except Exception:  # noqa: BLE001 - fastavro fails in many ways
            return False
        return True


def divergence(writer: Flat, reader: Flat) -> str | None:
    """Return the known divergence that may affect a pair; None if all implementations should agree."""
    unions = [
        union
        for definition in reader.definitions.values()
        for field in definition.get("fields", ())
        for union in _unions(field["type"])
    ]
    if any(_one_name(reader, union) for union in unions):
        return "same-short-name"
    for old in writer.definitions.values():
        for new in reader.definitions.values():
            if old["type"] != new["type"] and _short(old["name"]) in _short_names(new):
                return "other-kind"
            if old["type"] == new["type"] == "record" and _name_and_alias(old, new):
                return "name-and-alias"
    return None


def _one_name(reader: Flat, union: list[Any]) -> bool:
    named = [reader.definitions[name] for name in union if isinstance(name, str) and name in reader.definitions]
    return any(_short_names(a) & _short_names(b) for a, b in combinations(named, 2))


def _name_and_alias(writer: dict[str, Any], reader: dict[str, Any]) -> bool:
    names = {field["name"] for field in writer["fields"]}
    return any(
        len(names & {field["name"], *field.get("aliases", ())}) > 1 for field in reader["fields"] if "aliases" in field
    )


def _unions(kind: Any) -> list[list[Any]]:
    if isinstance(kind, list):
        return [kind, *(inner for branch in kind for inner in _unions(branch))]
    return _unions(kind.get("items", kind.get("values"))) if isinstance(kind, dict) else []


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _short_names(definition: dict[str, Any]) -> set[str]:
    return {_short(name) for name in (definition["name"], *definition.get("aliases", ()))}
