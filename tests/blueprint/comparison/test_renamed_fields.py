"""A nullable field that is renamed in outlet and inlet at once: unread records would have null instead of values."""

from __future__ import annotations

import json

import pytest

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract
from blueprint.comparison import ApplicationDescriptor, ChangeClass, compare
from tests.blueprint.comparison.described import application, contract, inlet, outlet, with_streamlet

NULLABLE = ["null", "string"]
BEFORE = contract(src="string", unit=(NULLABLE, None))


def reading(schema: Contract, *, written: Contract | None = None) -> ApplicationDescriptor:
    """Return an application whose topic `means` is read and written with these schemas."""
    app = application()
    app = with_streamlet(app, "mean", outlets=outlet(app, "mean", "out", contract=written or schema))
    return with_streamlet(app, "archive", inlets=inlet(app, "archive", "in", contract=schema))


def test_unread_records_would_lose_the_values() -> None:
    """The old version must process its backlog first; the finding names both fields and the alias that keeps them."""
    changes = compare(reading(BEFORE), reading(contract(src="string", measure=(NULLABLE, None))))
    (read,) = [change for change in changes if change.path[2:3] == ("inlets",)]
    assert (read.code, read.needs) == ("change-schema", ChangeClass.DRAIN)
    assert (
        "`unit` of records already in `means` will not be read, and `measure` will have the default" in read.causes[0]
    )
    assert read.help[0] == 'give `measure` an alias: `"aliases": ["unit"]`'


def aliased() -> Contract:
    """Return the new schema with the old name as an alias."""
    fields = [{"name": "src", "type": "string"},
              {"name": "measure", "type": NULLABLE, "default": None, "aliases": ["unit"]}]  # fmt: skip
    return parse_contract(json.dumps({"type": "record", "name": "Reading", "fields": fields}))


@pytest.mark.parametrize(
    "new",
    [
        aliased(),
        contract(src="string", unit=(NULLABLE, None), measure=(NULLABLE, None)),
        contract(src="string", measure=(["null", "long"], None)),
        contract(src="string"),
    ],
)
def test_what_is_not_renamed_is_safe(new: Contract) -> None:
    """An alias reads the old name; an added, a removed and a retyped field are not the same field."""
    changes = compare(reading(BEFORE), reading(new))
    assert {change.needs for change in changes if change.path[2:3] == ("inlets",)} == {ChangeClass.SAFE}
