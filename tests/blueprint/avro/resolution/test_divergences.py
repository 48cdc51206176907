"""A minimal pair shows each known divergence of another implementation, with our result and theirs."""

from __future__ import annotations

from typing import Any

import pytest

from blueprint.avro import check
from blueprint.avro.resolution.planner import resolve_plan
from tests.blueprint.avro.apache import LIMITS, ApacheReader, limits
from tests.blueprint.avro.claims import contract_of
from tests.blueprint.avro.oracles import FastReader, divergence
from tests.blueprint.avro.schemas import PRIMITIVES, Flat


def flat(fields: list[dict[str, Any]]) -> Flat:
    """Return a record `n.R` with the given fields and named types."""
    definitions: dict[str, dict[str, Any]] = {"n.R": {"type": "record", "name": "n.R", "fields": []}}
    for field in fields:
        branches = field["type"] if isinstance(field["type"], list) else [field["type"]]
        names = [_named(branch, definitions) for branch in branches]
        definitions["n.R"]["fields"].append({**field, "type": names if isinstance(field["type"], list) else names[0]})
    return Flat("n.R", definitions)


def _named(kind: Any, definitions: dict[str, dict[str, Any]]) -> Any:
    if kind in PRIMITIVES or kind["type"] in ("array", "map"):
        return kind
    definitions[kind["name"]] = kind
    return kind["name"]


@pytest.mark.parametrize("name", LIMITS)
def test_apache_avro_does_not_read_what_it_should(name: str) -> None:
    """The pair is compatible by the specification and fastavro reads it; Apache Avro does not, and is excused."""
    limit = LIMITS[name]
    writer, reader = flat(limit.writer), flat(limit.reader)
    ours = contract_of(writer), contract_of(reader)
    fast = FastReader(writer, reader)
    data = fast.encoded(limit.value)
    assert check(*ours).compatible
    assert fast.decodes(data)
    assert not ApacheReader(writer, reader).decodes(data)
    assert limits(resolve_plan(*ours), *ours) == {name}


ENUM = {"type": "enum", "name": "n.A", "symbols": ["RED"]}
FIXED = {"type": "fixed", "name": "n.A", "size": 1}
RECORD = {"type": "record", "name": "n.A", "fields": [{"name": "a", "type": "int"}]}
OTHER = {"type": "record", "name": "m.A", "fields": [{"name": "a", "type": "string"}]}


@pytest.mark.parametrize(
    ("name", "writer", "reader", "value", "compatible"),
    [
        ("same-short-name", [{"name": "a", "type": RECORD}], [{"name": "a", "type": [OTHER, RECORD]}],
         {"a": {"a": 1}}, True),
        ("other-kind", [{"name": "a", "type": FIXED}], [{"name": "a", "type": ["null", ENUM]}], {"a": b"\x00"}, False),
        ("name-and-alias",
         [{"name": "a", "type": "int"}, {"name": "b", "type": "string"}],
         [{"name": "a", "type": "int", "aliases": ["b"]}], {"a": 1, "b": "x"}, True),
    ],
)  # fmt: skip
def test_fastavro_differs(name: str, writer: Any, reader: Any, value: Any, compatible: bool) -> None:
    """fastavro reads an incompatible pair, or fails to read a compatible one, and is excused."""
    old, new = flat(writer), flat(reader)
    assert check(contract_of(old), contract_of(new)).compatible is compatible
    fast = FastReader(old, new)
    assert fast.decodes(fast.encoded(value)) is not compatible
    assert divergence(old, new) == name
