"""Canonical form and fingerprints."""

from __future__ import annotations

import hashlib
from typing import Any

import avro.schema
import pytest

from blueprint.avro import Contract, canonical_form, load_contract
from blueprint.diagnostics import Span

HERE = Span("ports.py", 7, 5, 7, 30)


def load(kind: Any, *, record: dict[str, Any] | None = None, **more: Any) -> Contract:
    """Return the contract of a record with one field `x`."""
    fields = [{"name": "x", "type": kind, **more}]
    schema = {"type": "record", "name": "R", "namespace": "n", "fields": fields, **(record or {})}
    contract = load_contract(schema, base_directory="there-is-none", declared=HERE).contract
    assert contract is not None
    return contract


def test_canonical_form_is_the_specifications() -> None:
    """Full names, ordered attributes, no attributes for readers, no logical types; equal to Apache Avro's form."""
    contract = load({"type": "long", "logicalType": "timestamp-millis"}, doc="d", aliases=["y"], default=3)
    assert canonical_form(contract.record) == ('{"name":"n.R","type":"record","fields":[{"name":"x","type":"long"}]}')
    plain = load("long", doc="d", aliases=["y"], default=3)
    assert avro.schema.parse(plain.json).canonical_form == canonical_form(contract.record)


def test_a_fingerprint_without_logical_types_is_that_of_the_canonical_form() -> None:
    """64 bits of the SHA-256, as 16 hexadecimal digits."""
    contract = load("string")
    assert contract.fingerprint == hashlib.sha256(canonical_form(contract.record).encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    "other",
    [
        "int",
        {"type": "long", "logicalType": "timestamp-millis"},
        {"type": "long", "logicalType": "timestamp-micros"},
        {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
        {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
        {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1},
    ],
)
def test_types_and_logical_types_tell_schemas_apart(other: Any) -> None:
    """A change of a column's Spark type changes the fingerprint."""
    others = ["long", "bytes", {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1}]
    assert load(other).fingerprint not in {load(schema).fingerprint for schema in others}


def test_what_only_readers_use_does_not_tell_schemas_apart() -> None:
    """Defaults, aliases and documentation do not change the fingerprint, so writers share a table; the JSON changes."""
    plain = load("long")
    dressed = load("long", record={"doc": "R", "aliases": ["Q"]}, default=1, aliases=["y"], doc="x")
    assert plain.fingerprint == dressed.fingerprint
    assert plain != dressed
    assert plain.json != dressed.json


def test_an_absent_scale_is_zero() -> None:
    """A decimal without a scale equals a decimal with scale 0."""
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 4}
    assert load(decimal).fingerprint == load({**decimal, "scale": 0}).fingerprint
