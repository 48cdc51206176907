"""What others say of a writer and a reader: fastavro and Apache Avro by decoding records, Apache by its checker, too.

Known divergences of fastavro and of Apache's checker, each told apart by a predicate, and why we differ; those of
Apache's decoder stand in `apache.py`:

* `same-short-name`: a union of the reader has two named types of one short name, or a type and another's alias.
  fastavro takes the first by short name, even when a later one has the writer's full name; Apache takes any that works.
  We take the full name first, as Java does: the specification says the first that matches, and that matches best.
* `other-kind`: a record, enum or fixed of the writer is called like one of the reader of another kind. fastavro
  compares names before kinds and decodes a fixed where an enum is wanted; the specification compares kinds first.
* `name-and-alias`: a record of the writer has a field of the reader's name and one of its alias, too. fastavro reads
  both into the one field; we take the one with the name.

Not compatible or not, but what is read differs: of a reader's `[string, bytes]` fastavro takes the first for a writer's
`bytes`, as the specification says by the letter; we take the equal type, as Java does and as nothing is lost then.
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
    """What Apache Avro's checker says."""
    parsed = [avro.schema.parse(json.dumps(one.nested())) for one in (reader, writer)]
    result = avro.compatibility.ReaderWriterCompatibilityChecker().get_compatibility(*parsed)
    return bool(result.compatibility is avro.compatibility.SchemaCompatibilityType.compatible)


def both_parsed(writer: Flat, reader: Flat) -> tuple[Any, Any]:
    """Both schemas as fastavro wants them."""
    return tuple(fastavro.parse_schema(one.nested(), named_schemas={}) for one in (writer, reader))


class FastReader:
    """Decodes one writer's records with one reader's schema, as fastavro does; encodes them, too."""

    def __init__(self, writer: Flat, reader: Flat) -> None:
        self._old, self._new = both_parsed(writer, reader)

    def encoded(self, record: Any) -> bytes:
        """A record of the writer's in Avro's binary form."""
        coded = io.BytesIO()
        fastavro.schemaless_writer(coded, self._old, record)
        return coded.getvalue()

    def decodes(self, data: bytes) -> bool:
        """Whether a record is read without an exception."""
        try:
            fastavro.schemaless_reader(io.BytesIO(data), self._old, self._new)
        except Exception:  # noqa: BLE001 - fastavro fails in many ways
            return False
        return True


def divergence(writer: Flat, reader: Flat) -> str | None:
    """The known divergence a pair may show, None when all should agree."""
    unions = [
        union
        for one in reader.definitions.values()
        for field in one.get("fields", ())
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
    named = [reader.definitions[one] for one in union if isinstance(one, str) and one in reader.definitions]
    return any(_short_names(a) & _short_names(b) for a, b in combinations(named, 2))


def _name_and_alias(writer: dict[str, Any], reader: dict[str, Any]) -> bool:
    names = {field["name"] for field in writer["fields"]}
    return any(
        len(names & {field["name"], *field.get("aliases", ())}) > 1 for field in reader["fields"] if "aliases" in field
    )


def _unions(kind: Any) -> list[list[Any]]:
    if isinstance(kind, list):
        return [kind, *(inner for one in kind for inner in _unions(one))]
    return _unions(kind.get("items", kind.get("values"))) if isinstance(kind, dict) else []


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _short_names(definition: dict[str, Any]) -> set[str]:
    return {_short(name) for name in (definition["name"], *definition.get("aliases", ()))}
