"""Changes of schemas, and the readers that they break: Avro resolution between older and newer ports."""

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

_LIMIT = 4


@dataclass(frozen=True, slots=True)
class Unread:
    """A writer's schema that a reader cannot read, and the reasons."""

    writer: Contract
    reasons: tuple[Reason, ...]

    @property
    def causes(self) -> tuple[str, ...]:
        """Return the reasons, one sentence each."""
        sentences = [_sentence(reason) for reason in self.reasons]
        more = (f"and {len(sentences) - _LIMIT} more",) if len(sentences) > _LIMIT else ()
        return (*sentences[:_LIMIT], *more)

    @property
    def changes(self) -> tuple[str, ...]:
        """Return the changes of the reader's schema that would make it compatible."""
        texts = [change.text for reason in self.reasons for change in reason.changes if change.side == "reader"]
        return tuple(dict.fromkeys(texts))


def unread(writers: Iterable[Contract], reader: Contract) -> list[Unread]:
    """Return the writers' schemas that the reader cannot read, without duplicates."""
    schemas = {}
    for writer in writers:
        if writer.json != reader.json and writer.json not in schemas:
            resolution = check(writer, reader)
            if not resolution.compatible:
                schemas[writer.json] = Unread(writer, resolution.errors)
    return list(schemas.values())


def risks(writers: Iterable[Contract], reader: Contract) -> list[str]:
    """Return how the reader may misinterpret records that it can read, one sentence each."""
    reasons = (reason for writer in writers for reason in compared(writer, reader).warnings)
    return list(dict.fromkeys(_sentence(reason) for reason in reasons))


def _sentence(reason: Reason) -> str:
    return f"`{reason.path}`: {reason.message}" if reason.path else reason.message


def same_records(old: Contract, new: Contract) -> bool:
    """Return whether two schemas differ only in documentation."""
    return old.json == new.json or _undocumented(json.loads(old.json)) == _undocumented(json.loads(new.json))


def _undocumented(data: Any) -> Any:
    if isinstance(data, list):
        return [_undocumented(part) for part in data]
    if not isinstance(data, dict):
        return data
    return {key: part if key == "default" else _undocumented(part) for key, part in data.items() if key != "doc"}


def retyped(old: Contract, new: Contract) -> list[str]:
    """Return the fields of both records with a different Spark type; nullability does not matter to state."""
    before, now = _spark_types(old), _spark_types(new)
    return [name for name in now if name in before and now[name] != before[name]]


def renamed(writers: Iterable[Contract], old: Contract, new: Contract) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the fields that a reader drops with its new fields of the same type: they seem to be renamed.

    Records of the writers have the dropped fields, which the reader has read, and lack the new ones.

    Arguments:
        writers: the schemas of records that are in the topic.
        old: the reader before.
        new: the reader now; a field that has the old name as an alias is read from it.
    """
    names = {field.name for writer in writers for field in writer.record.fields}
    aliases = {alias for field in new.record.fields for alias in field.aliases}
    before, now = _spark_types(old), _spark_types(new)
    dropped = [name for name in before if name in names and name not in now and name not in aliases]
    fields = [field for field in new.record.fields if field.name not in before and field.name not in names]
    added = [field.name for field in fields if not names.intersection(field.aliases)]
    pairs = []
    for kind in dict.fromkeys(json.dumps(before[name]) for name in dropped):
        gone = tuple(name for name in dropped if json.dumps(before[name]) == kind)
        came = tuple(name for name in added if json.dumps(now[name]) == kind)
        if came:
            pairs.append((gone, came))
    return pairs


def _spark_types(contract: Contract) -> dict[str, Any]:
    return {field["name"]: _without_nulls(field["type"]) for field in spark_json(contract)["fields"]}


def _without_nulls(data: Any) -> Any:
    if isinstance(data, list):
        return [_without_nulls(part) for part in data]
    if not isinstance(data, dict):
        return data
    return {key: _without_nulls(part) for key, part in data.items() if "null" not in key.lower()}


def _form(field: Field, contract: Contract) -> tuple[str, str]:
    schema = contract.resolve(field.schema)
    return canonical_form(schema), fingerprint(schema)


def differences(old: Contract, new: Contract) -> str:
    """Return the differences in words: ``added: `a`; removed: `b`; `c` is `long`, was `int` ``."""
    return "; ".join(_differences(old, new)) or "names, defaults or aliases differ"


def _differences(old: Contract, new: Contract) -> Iterator[str]:
    before = {field.name: field for field in old.record.fields}
    now = {field.name: field for field in new.record.fields}
    if added := [name for name in now if name not in before]:
        yield f"added: {_first(added)}"
    if removed := [name for name in before if name not in now]:
        yield f"removed: {_first(removed)}"
    changed = [name for name in now if name in before and _form(before[name], old) != _form(now[name], new)]
    for name in changed[:_LIMIT]:
        old_type, new_type = type_text(old.resolve(before[name].schema)), type_text(new.resolve(now[name].schema))
        yield (
            f"`{name}` is `{new_type}`, was `{old_type}`"
            if new_type != old_type
            else f"the definition of `{name}` differs"
        )
    if old.record.name != new.record.name:
        yield f"the record is named `{new.record.name}`, was `{old.record.name}`"


def _first(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_LIMIT])
    return shown if len(names) <= _LIMIT else f"{shown} and {len(names) - _LIMIT} more"
