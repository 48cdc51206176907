"""The differences between the contracts of writers and readers, which the page of a topic shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract
from cli.ui.answers.contract_differences import differences
from tests.cli.ui.conftest import Visitor
from tests.crossings.applications import KINDS, STATES, state_of, write


def _contract(*fields: dict[str, Any]) -> Contract:
    return parse_contract(json.dumps({"type": "record", "name": "Order", "fields": fields}))


def _place(*fields: dict[str, Any]) -> dict[str, Any]:
    place = {"type": "record", "name": "Place", "fields": fields}
    return {"name": "places", "type": {"type": "array", "items": place}}


ID = {"name": "id", "type": "int"}
CITY = {"name": "city", "type": "string"}


@pytest.mark.parametrize(
    ("writer", "reader", "expected"),
    [
        ((ID,), (ID,), []),
        ((ID,), (ID | {"type": "long"},), ["id: written as int, read as long"]),
        ((ID, CITY), (ID,), ["city: written, and not read"]),
        ((ID,), (ID, CITY | {"default": "?"}), ['city: not written; the reader\'s default is "?"']),
        ((ID,), ({"name": "number", "type": "int", "aliases": ["id"]},), ["number: written as id"]),
        ((ID, _place(CITY, ID)), (ID, _place(CITY)), ["places.id: written, and not read"]),
    ],
)
def test_each_field_that_differs_is_a_line(writer: Any, reader: Any, expected: list[str]) -> None:
    """With what the reader gets instead; inner records, too."""
    assert differences(_contract(*writer), _contract(*reader)) == expected


def test_a_recursive_contract_is_followed_only_so_far() -> None:
    """Its records have no end."""

    def tree(size: str) -> Contract:
        children = {"name": "children", "type": {"type": "array", "items": "Tree"}}
        size_ = {"name": "size", "type": size}
        return parse_contract(json.dumps({"type": "record", "name": "Tree", "fields": [size_, children]}))

    lines = differences(tree("int"), tree("long"))
    assert lines[:2] == ["size: written as int, read as long", "children.size: written as int, read as long"]
    assert len(lines) == 5


def test_the_page_of_a_topic_has_them_and_its_settings(tmp_path: Path) -> None:
    """The settings are the ones of the last run."""
    blueprint = write(KINDS["python"], tmp_path / "plant")
    STATES["stopped"](blueprint)
    file = state_of(blueprint).descriptor_file
    data = json.loads(file.read_text())
    data["topics"]["out"]["settings"] = {"retention.time": "7 days"}
    file.write_text(json.dumps(data))
    topic = Visitor(blueprint).client.get("/api/applications/plant/topics/out").json()
    assert topic["settings"] == {"retention.time": "7 days"}
    assert [contract["differences"] for contract in topic["contracts"]] == [[]]
