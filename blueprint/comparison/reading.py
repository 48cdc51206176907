"""Read a descriptor. The first fault of a file is a finding with its place."""

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
    """A descriptor, and the values that it was read from with their places."""

    descriptor: ApplicationDescriptor
    root: ObjectValue


class DescriptorError(ValueError):
    """The text is not a descriptor; `diagnostic` is the finding about it."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.headline)
        self.diagnostic = diagnostic


def read_descriptor(text: str, file: str) -> Described:
    """Read a descriptor as `to_json` writes it. Unknown keys are ignored, missing ones have their defaults.

    Arguments:
        text: the content of the file.
        file: its name, as in `Span.file`.

    Raises:
        DescriptorError: the text is not JSON, not a descriptor, or has another version.
    """
    root, problems = parse_json(text, file)
    if root is None or problems:
        raise DescriptorError(problems[0])
    if not isinstance(root, ObjectValue) or not {"version", "streamlets", "topics"} <= set(root.fields):
        raise _invalid(root, "this is not a descriptor of an application", "write one with `flow describe`")
    version = root.fields["version"]
    if not isinstance(version, Scalar) or version.value != VERSION:
        raise _invalid(
            version,
            f"unsupported descriptor version {plain(version)}, expected {VERSION}",
            "write the descriptor again with `flow describe`, or use a version of `flow` that supports it",
        )
    contracts = _Contracts()
    described = ApplicationDescriptor(
        application=_maybe(root, "application", str) or "",
        streamlets={ref: _streamlet(value, contracts) for ref, value in _objects(root, "streamlets").items()},
        topics={id: _topic(value, contracts) for id, value in _objects(root, "topics").items()},
        spark=_settings(root, "spark"),
    )
    for ref, streamlet in described.streamlets.items():
        for side, ports in (("inlets", streamlet.inlets), ("outlets", streamlet.outlets)):
            for name, port in ports.items():
                if port.topic not in described.topics:
                    value = cast(Value, root.get("streamlets", ref, side, name, "topic"))
                    raise _invalid(value, f"the descriptor has no topic `{port.topic}`", _USE_UNMODIFIED)
    return Described(described, root)


_USE_UNMODIFIED = "use an unmodified descriptor written by `flow describe`"


class _Contracts:
    """Reads schemas, each distinct one once."""

    def __init__(self) -> None:
        self._known: dict[str, Contract] = {}

    def read(self, value: Value, where: Value) -> Contract:
        text = json.dumps(plain(value))
        if text not in self._known:
            loaded = load_contract(text, base_folder=".", declared=span_of(where))
            if loaded.contract is None:
                reason = loaded.problems[0].headline if loaded.problems else "it is not a record"
                raise _invalid(value, f"a schema of the descriptor cannot be read: {reason}", _USE_UNMODIFIED)
            self._known[text] = loaded.contract
        return self._known[text]


def _streamlet(value: ObjectValue, contracts: _Contracts) -> DescribedStreamlet:
    queries = _objects(value, "queries") if "queries" in value.fields else None
    return DescribedStreamlet(
        class_name=_text(value, "class"),
        inlets={name: _inlet(port, contracts) for name, port in _objects(value, "inlets").items()},
        outlets={name: _outlet(port, contracts) for name, port in _objects(value, "outlets").items()},
        parameters=_settings(value, "parameters"),
        trigger=_maybe(value, "trigger", str),
        triggers=cast("dict[str, str]", _settings(value, "triggers")),
        retry={**retry_json(Retry()), **_settings(value, "retry")},
        spark=_settings(value, "spark"),
        volume_mounts=cast("dict[str, str]", _settings(value, "volume-mounts")),
        source_evolution=_maybe(value, "source-evolution", bool) is not False,
        queries=None if queries is None else {name: _query(query) for name, query in queries.items()},
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
        raise _invalid(value, "a port of the descriptor has no `schema`", _USE_UNMODIFIED)
    return contracts.read(value.fields["schema"], value)


def _query(value: ObjectValue) -> DescribedQuery:
    sources, windows = _texts(value, "sources"), _texts(value, "windows")
    state = value.fields.get("state")
    aliases = value.fields.get("aliases", _NOTHING)
    return DescribedQuery(
        None if sources is None else tuple(sources),
        tuple(_texts(value, "operators") or ()),
        tuple(_operator(operator) for operator in _list(state, "state")) if state is not None else None,
        None if windows is None else tuple(windows),
        {name: tuple(_texts(aliases, name) or ()) for name in aliases.fields}
        if isinstance(aliases, ObjectValue)
        else {},
    )


def _operator(value: Value) -> DescribedOperator:
    if not isinstance(value, ObjectValue):
        raise _invalid(value, "an operator of the descriptor must be an object", _USE_UNMODIFIED)
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
            raise _invalid(column, f"a column of `{key}` must be a name and a type", _USE_UNMODIFIED)
        columns.append((pair[0], pair[1]))
    return tuple(columns)


def _list(value: Value | None, key: str) -> tuple[Value, ...]:
    if value is not None and not isinstance(value, ListValue):
        raise _invalid(value, f"`{key}` of the descriptor must be a list", _USE_UNMODIFIED)
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
        written=tuple(_contract(item, contracts) for item in items if isinstance(item, ObjectValue)),
    )


def _text(value: ObjectValue, key: str) -> str:
    text = _maybe(value, key, str)
    if text is None:
        raise _invalid(value, f"the descriptor lacks the string `{key}` here", _USE_UNMODIFIED)
    return text


def _maybe(value: ObjectValue, key: str, type: Callable[..., T]) -> T | None:
    inner = value.fields.get(key)
    if inner is None or (isinstance(inner, Scalar) and inner.value is None):
        return None
    if not isinstance(inner, Scalar) or inner.value.__class__ is not type:
        raise _invalid(inner, f"`{key}` of the descriptor has the wrong type", _USE_UNMODIFIED)
    return cast(T, inner.value)


def _texts(value: ObjectValue, key: str) -> list[str] | None:
    inner = value.fields.get(key)
    if inner is None or (isinstance(inner, Scalar) and inner.value is None):
        return None
    items: Any = plain(inner)
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise _invalid(inner, f"`{key}` of the descriptor must be a list of strings", _USE_UNMODIFIED)
    return items


def _objects(value: ObjectValue, key: str) -> dict[str, ObjectValue]:
    inner = value.fields.get(key, _NOTHING)
    objects = inner.fields if isinstance(inner, ObjectValue) else {"": inner}
    for item in objects.values():
        if not isinstance(item, ObjectValue):
            raise _invalid(item, f"`{key}` of the descriptor must contain objects", _USE_UNMODIFIED)
    return cast("dict[str, ObjectValue]", dict(objects))


def _settings(value: ObjectValue, key: str) -> dict[str, Json]:
    settings = value.fields.get(key, _NOTHING)
    if not isinstance(settings, ObjectValue):
        raise _invalid(settings, f"`{key}` of the descriptor must be an object", _USE_UNMODIFIED)
    return {name: cast(Json, plain(setting)) for name, setting in settings.fields.items()}


def _invalid(value: Value, headline: str, help: str) -> DescriptorError:
    return DescriptorError(finding("descriptor", headline, span_of(value), help=[help]))
