"""The differences between the contract of a writer and the contract of a reader, for the page of a topic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from blueprint.avro.model import NO_DEFAULT, Record, type_text
from streamlets.lineage.application import record_in

if TYPE_CHECKING:
    from blueprint.avro.model import Contract, Field

_DEEPEST = 4


def differences(writer: Contract, reader: Contract) -> list[str]:
    """Return the differences, one line for each field; [] if a reader gets what was written.

    Whether they are allowed is the business of `flow verify`, which has accepted them.

    Arguments:
        writer: the contract of the records.
        reader: the contract that they are read with.
    """
    return list(_between(writer, reader, writer.record, reader.record, "", _DEEPEST))


def _between(
    writer: Contract, reader: Contract, written: Record, read: Record, above: str, depth: int
) -> Iterator[str]:
    left = {field.name: field for field in written.fields}
    for field in read.fields:
        source = next((left.pop(name) for name in (field.name, *field.aliases) if name in left), None)
        name = f"{above}{field.name}"
        if source is None:
            yield f"{name}: not written; the reader's default is {_default(field)}"
            continue
        if source.name != field.name:
            yield f"{name}: written as {above}{source.name}"
        inner = record_in(writer, source.schema), record_in(reader, field.schema)
        if inner[0] is not None and inner[1] is not None and depth:
            yield from _between(writer, reader, inner[0], inner[1], f"{name}.", depth - 1)
        elif (types := (type_text(source.schema), type_text(field.schema)))[0] != types[1]:
            yield f"{name}: written as {types[0]}, read as {types[1]}"
    for name in left:
        yield f"{above}{name}: written, and not read"


def _default(field: Field) -> str:
    return json.dumps(field.default) if field.default is not NO_DEFAULT else "none"
