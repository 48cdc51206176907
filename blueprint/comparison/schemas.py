"""What changed in a schema, and who can no longer read what: Avro resolution between older and newer ports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from blueprint.avro.canonical import canonical_form, fingerprint
from blueprint.avro.model import Contract, Field, type_text
from blueprint.avro.resolution.checking import check
from blueprint.avro.resolution.reasons import Reason
from blueprint.avro.resolution.resolution import compared
from blueprint.avro.spark_types import spark_json

_MOST = 4


@dataclass(frozen=True, slots=True)
class Unread:
    """A writer's schema that a reader cannot read, and why."""

    writer: Contract
    reasons: tuple[Reason, ...]

    @property
    def causes(self) -> tuple[str, ...]:
        """Why not, one sentence each."""
        told = [f"`{one.path}`: {one.message}" if one.path else one.message for one in self.reasons]
        more = (f"and {len(told) - _MOST} more",) if len(told) > _MOST else ()
        return (*told[:_MOST], *more)

    @property
    def changes(self) -> tuple[str, ...]:
        """Return what would do in the reader's schema."""
        texts = [change.text for one in self.reasons for change in one.changes if change.side == "reader"]
        return tuple(dict.fromkeys(texts))


def unread(writers: Iterable[Contract], reader: Contract) -> list[Unread]:
    """Return the writers' schemas that the reader cannot read, each once."""
    found = {}
    for writer in writers:
        if writer.json != reader.json and writer.json not in found:
            resolution = check(writer, reader)
            if not resolution.compatible:
                found[writer.json] = Unread(writer, resolution.errors)
    return list(found.values())


def risks(writers: Iterable[Contract], reader: Contract) -> list[str]:
    """Return what the reader may take for something else in records that it can read, one sentence each."""
    found = (reason for writer in writers for reason in compared(writer, reader).warnings)
    return list(dict.fromkeys(f"`{one.path}`: {one.message}" if one.path else one.message for one in found))


def same_records(old: Contract, new: Contract) -> bool:
    """Return whether two schemas differ in nothing but documentation."""
    return old.json == new.json or _undocumented(json.loads(old.json)) == _undocumented(json.loads(new.json))


def _undocumented(data: Any) -> Any:
    if isinstance(data, list):
        return [_undocumented(one) for one in data]
    if not isinstance(data, dict):
        return data
    return {key: one if key == "default" else _undocumented(one) for key, one in data.items() if key != "doc"}


def retyped(old: Contract, new: Contract) -> list[str]:
    """Fields that are in both records, of another type to Spark; whether they may be null does not matter to state."""
    before, now = _spark_types(old), _spark_types(new)
    return [name for name in now if name in before and now[name] != before[name]]


def _spark_types(contract: Contract) -> dict[str, Any]:
    return {field["name"]: _without_nulls(field["type"]) for field in spark_json(contract)["fields"]}


def _without_nulls(data: Any) -> Any:
    if isinstance(data, list):
        return [_without_nulls(one) for one in data]
    if not isinstance(data, dict):
        return data
    return {key: _without_nulls(one) for key, one in data.items() if "null" not in key.lower()}


def _form(field: Field, contract: Contract) -> tuple[str, str]:
    schema = contract.resolve(field.schema)
    return canonical_form(schema), fingerprint(schema)


def differences(old: Contract, new: Contract) -> str:
    """Return what changed, in words: ``new: `a`; gone: `b`; `c` is `long`, was `int` ``."""
    return "; ".join(_differences(old, new)) or "names, defaults or aliases differ"


def _differences(old: Contract, new: Contract) -> Iterator[str]:
    before = {field.name: field for field in old.record.fields}
    now = {field.name: field for field in new.record.fields}
    if added := [name for name in now if name not in before]:
        yield f"new: {_some(added)}"
    if gone := [name for name in before if name not in now]:
        yield f"gone: {_some(gone)}"
    changed = [name for name in now if name in before and _form(before[name], old) != _form(now[name], new)]
    for name in changed[:_MOST]:
        then, here = type_text(old.resolve(before[name].schema)), type_text(new.resolve(now[name].schema))
        yield f"`{name}` is `{here}`, was `{then}`" if then != here else f"`{name}` differs inside"
    if old.record.name != new.record.name:
        yield f"the record is called `{new.record.name}`, was `{old.record.name}`"


def _some(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_MOST])
    return shown if len(names) <= _MOST else f"{shown} and {len(names) - _MOST} more"
