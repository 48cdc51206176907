"""Reading a descriptor back: what is wrong with a file is one finding at its place in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import load_contract
from blueprint.comparison.describing import retry_json
from blueprint.comparison.descriptor import (
    ApplicationDescriptor,
    Columns,
    DescribedInlet,
    DescribedOperator,
    DescribedOutlet,
    DescribedQuery,
    DescribedStore,
    DescribedStreamlet,
    DescribedTopic,
)
from blueprint.comparison.writing import VERSION
from blueprint.diagnostics import Diagnostic, finding
from blueprint.hocon import ListValue, ObjectValue, Scalar, Value, parse_json, plain, span_of
from blueprint.hocon.values import Json
from blueprint.plan import Retry

T = TypeVar("T")
_NOTHING = ObjectValue({}, ())


@dataclass(frozen=True, slots=True)
class Described:
    """A descriptor that was read, and the values it was read from, which know their places."""

    descriptor: ApplicationDescriptor
    root: ObjectValue


class DescriptorError(ValueError):
    """The text is no descriptor; `diagnostic` says why and where."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.headline)
        self.diagnostic = diagnostic


def read_descriptor(text: str, file: str) -> Described:
    """Read what `to_json` wrote; keys that are not known are passed over, those left out have their defaults.

    Arguments:
        text: of the file.
        file: as in `Span.file`.

    Raises:
        DescriptorError: it is no JSON, no descriptor, or one of a later version.
    """
    root, problems = parse_json(text, file)
    if root is None or problems:
        raise DescriptorError(problems[0])
    if not isinstance(root, ObjectValue) or not {"version", "streamlets", "topics"} <= set(root.fields):
        raise _wrong(root, "this is no descriptor of an application", "`flow describe` writes one")
    version = root.fields["version"]
    if not isinstance(version, Scalar) or version.value != VERSION:
        raise _wrong(
            version,
            f"the descriptor is of version {plain(version)}; this `flow` reads version {VERSION}",
            "write it anew with `flow describe`, or take a `flow` that knows it",
        )
    contracts = _Contracts()
    described = ApplicationDescriptor(
        application=_maybe(root, "application", str) or "",
        streamlets={ref: _streamlet(one, contracts) for ref, one in _objects(root, "streamlets").items()},
        topics={id: _topic(one, contracts) for id, one in _objects(root, "topics").items()},
        spark=_settings(root, "spark"),
    )
    for ref, streamlet in described.streamlets.items():
        for side, ports in (("inlets", streamlet.inlets), ("outlets", streamlet.outlets)):
            for name, port in ports.items():
                if port.topic not in described.topics:
                    value = cast(Value, root.get("streamlets", ref, side, name, "topic"))
                    raise _wrong(value, f"the descriptor has no topic `{port.topic}`", _MADE_BY_HAND)
    return Described(described, root)


_MADE_BY_HAND = "descriptors are written by `flow describe`: take one that was not changed"


class _Contracts:
    """Reads schemas, each text once."""

    def __init__(self) -> None:
        self._known: dict[str, Contract] = {}

    def read(self, value: Value, where: Value) -> Contract:
        text = json.dumps(plain(value))
        if text not in self._known:
            loaded = load_contract(text, base_folder=".", declared=span_of(where))
            if loaded.contract is None:
                said = loaded.problems[0].headline if loaded.problems else "it is no record"
                raise _wrong(value, f"a schema of the descriptor cannot be read: {said}", _MADE_BY_HAND)
            self._known[text] = loaded.contract
        return self._known[text]


def _streamlet(value: ObjectValue, contracts: _Contracts) -> DescribedStreamlet:
    queries = _objects(value, "queries") if "queries" in value.fields else None
    return DescribedStreamlet(
        class_name=_text(value, "class"),
        inlets={name: _inlet(one, contracts) for name, one in _objects(value, "inlets").items()},
        outlets={name: _outlet(one, contracts) for name, one in _objects(value, "outlets").items()},
        parameters=_settings(value, "parameters"),
        trigger=_maybe(value, "trigger", str),
        triggers=cast("dict[str, str]", _settings(value, "triggers")),
        retry={**retry_json(Retry()), **_settings(value, "retry")},
        spark=_settings(value, "spark"),
        volume_mounts=cast("dict[str, str]", _settings(value, "volume-mounts")),
        source_evolution=_maybe(value, "source-evolution", bool) is not False,
        queries=None if queries is None else {name: _query(one) for name, one in queries.items()},
    )


def _inlet(value: ObjectValue, contracts: _Contracts) -> DescribedInlet:
    return DescribedInlet(
        topic=_text(value, "topic"),
        contract=_contract(value, contracts),
        starting=_maybe(value, "starting", str) or "earliest",
        max_records=_maybe(value, "max-records", int),
    )


def _outlet(value: ObjectValue, contracts: _Contracts) -> DescribedOutlet:
    return DescribedOutlet(
        topic=_text(value, "topic"),
        contract=_contract(value, contracts),
        partition_by=tuple(_texts(value, "partition-by") or ()),
        on_invalid=_maybe(value, "on-invalid", str) or "fail",
        extra=_maybe(value, "extra", str) or "fail",
    )


def _contract(value: ObjectValue, contracts: _Contracts) -> Contract:
    if "schema" not in value.fields:
        raise _wrong(value, "a port of the descriptor has no `schema`", _MADE_BY_HAND)
    return contracts.read(value.fields["schema"], value)


def _query(value: ObjectValue) -> DescribedQuery:
    sources, windows = _texts(value, "sources"), _texts(value, "windows")
    state = value.fields.get("state")
    aliases = value.fields.get("aliases", _NOTHING)
    return DescribedQuery(
        None if sources is None else tuple(sources),
        tuple(_texts(value, "operators") or ()),
        tuple(_operator(one) for one in _list(state, "state")) if state is not None else None,
        None if windows is None else tuple(windows),
        {name: tuple(_texts(aliases, name) or ()) for name in aliases.fields}
        if isinstance(aliases, ObjectValue)
        else {},
    )


def _operator(value: Value) -> DescribedOperator:
    if not isinstance(value, ObjectValue):
        raise _wrong(value, "an operator of the descriptor must be an object", _MADE_BY_HAND)
    stores = _objects(value, "stores") if "stores" in value.fields else None
    return DescribedOperator(
        _text(value, "operator"),
        None
        if stores is None
        else {name: DescribedStore(_columns(store, "key"), _columns(store, "value")) for name, store in stores.items()},
    )


def _columns(store: ObjectValue, key: str) -> Columns:
    columns = []
    for column in _list(store.fields.get(key), key):
        pair: Any = plain(column)
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise _wrong(column, f"a column of `{key}` must be a name and a type", _MADE_BY_HAND)
        columns.append((pair[0], pair[1]))
    return tuple(columns)


def _list(value: Value | None, key: str) -> tuple[Value, ...]:
    if value is not None and not isinstance(value, ListValue):
        raise _wrong(value, f"`{key}` of the descriptor must be a list", _MADE_BY_HAND)
    return tuple(value.items) if isinstance(value, ListValue) else ()


def _topic(value: ObjectValue, contracts: _Contracts) -> DescribedTopic:
    written = value.fields.get("written")
    items = written.items if isinstance(written, ListValue) else ()
    return DescribedTopic(
        name=_text(value, "name"),
        channel=_text(value, "channel"),
        cluster=_maybe(value, "cluster", str) or "",
        managed=_maybe(value, "managed", bool) is not False,
        settings=_settings(value, "settings"),
        written=tuple(_contract(one, contracts) for one in items if isinstance(one, ObjectValue)),
    )


def _text(value: ObjectValue, key: str) -> str:
    found = _maybe(value, key, str)
    if found is None:
        raise _wrong(value, f"the descriptor lacks the text `{key}` here", _MADE_BY_HAND)
    return found


def _maybe(value: ObjectValue, key: str, type: Callable[..., T]) -> T | None:
    one = value.fields.get(key)
    if one is None or (isinstance(one, Scalar) and one.value is None):
        return None
    if not isinstance(one, Scalar) or one.value.__class__ is not type:
        raise _wrong(one, f"`{key}` of the descriptor is of another type than `flow describe` writes", _MADE_BY_HAND)
    return cast(T, one.value)


def _texts(value: ObjectValue, key: str) -> list[str] | None:
    one = value.fields.get(key)
    if one is None or (isinstance(one, Scalar) and one.value is None):
        return None
    items: Any = plain(one)
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise _wrong(one, f"`{key}` of the descriptor must be a list of texts", _MADE_BY_HAND)
    return items


def _objects(value: ObjectValue, key: str) -> dict[str, ObjectValue]:
    found = value.fields.get(key, _NOTHING)
    inner = found.fields if isinstance(found, ObjectValue) else {"": found}
    for one in inner.values():
        if not isinstance(one, ObjectValue):
            raise _wrong(one, f"`{key}` of the descriptor must hold objects", _MADE_BY_HAND)
    return cast("dict[str, ObjectValue]", dict(inner))


def _settings(value: ObjectValue, key: str) -> dict[str, Json]:
    found = value.fields.get(key, _NOTHING)
    if not isinstance(found, ObjectValue):
        raise _wrong(found, f"`{key}` of the descriptor must be an object", _MADE_BY_HAND)
    return {name: cast(Json, plain(one)) for name, one in found.fields.items()}


def _wrong(value: Value, headline: str, help: str) -> DescriptorError:
    return DescriptorError(finding("descriptor", headline, span_of(value), help=[help]))
