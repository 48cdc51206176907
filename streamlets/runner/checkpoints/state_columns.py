"""The schema of a query's state in its checkpoint: columns of keys and values as Spark stored them.

In addition, there is what Spark does not store: windows, and the logic that determines the content of the state.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from blueprint.comparison.descriptor import Columns, DescribedLogic, DescribedOperator, DescribedStore, Type
from blueprint.comparison.format import logic_to_json, read_logic
from blueprint.hocon.values import Json
from streamlets.runner.checkpoints.state_rows import operators
from streamlets.storage.files import write_atomically

_DEFAULT = "default"
_WINDOWS = "windows.json"
_LOGIC = "logic.json"


def state_of(checkpoint: Path) -> tuple[DescribedOperator, ...]:
    """Return the stateful operators of a query in Spark's order, with the readable columns of their state.

    No Spark is needed.
    """
    return tuple(
        DescribedOperator(name, _stores(checkpoint / "state" / str(number))) for number, name in operators(checkpoint)
    )


def windows_of(checkpoint: Path) -> tuple[str, ...] | None:
    """Return the windows of a checkpoint's state, as `DescribedQuery.windows`; None when they are unknown."""
    try:
        windows = json.loads((checkpoint / _WINDOWS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return tuple(str(window) for window in windows) if isinstance(windows, list) else None


def write_windows(checkpoint: Path, windows: tuple[str, ...]) -> None:
    """Store the windows of a query in its checkpoint, whose directory is created if necessary.

    Raises:
        OSError: the file cannot be written.
    """
    checkpoint.mkdir(parents=True, exist_ok=True)
    write_atomically(checkpoint / _WINDOWS, json.dumps(windows) + "\n")


def recorded_logic(checkpoint: Path) -> DescribedLogic | None:
    """Return the logic that determines the content of a checkpoint's state; None when it is unknown."""
    try:
        return read_logic((checkpoint / _LOGIC).read_text(encoding="utf-8"), _LOGIC)
    except (OSError, ValueError):  # a damaged file is like none: the logic is unknown
        return None


def record_logic(checkpoint: Path, logic: DescribedLogic) -> None:
    """Store the logic of a query's state in its checkpoint, whose directory is created if necessary.

    Raises:
        OSError: the file cannot be written.
    """
    checkpoint.mkdir(parents=True, exist_ok=True)
    write_atomically(checkpoint / _LOGIC, logic_to_json(logic))


def _stores(operator: Path) -> dict[str, DescribedStore] | None:
    """Return the stores of an operator by name; None when their schemas cannot be read.

    Spark stores the schemas next to the state of the first partition (`StateSchemaCompatibilityChecker`).
    """
    stores = {}
    for file in sorted((operator / "0").glob("**/_metadata/schema")):
        directory = file.parent.parent
        try:
            key, value = _schemas(file.read_bytes())
        except (OSError, ValueError, KeyError, TypeError):
            return None
        stores[_DEFAULT if directory == operator / "0" else directory.name] = DescribedStore(key, value)
    return stores or None


def _schemas(data: bytes) -> tuple[Columns, Columns]:
    """Return the schemas of keys and values in a schema file of version 1 or 2.

    The file has the version and both schemas as Java's `writeUTF` writes them. Version 2 writes a schema as a number of
    pieces and the pieces.

    Raises:
        ValueError: the file is of another version, or damaged.
    """
    version, rest = _text(data)
    if version not in ("v1", "v2"):
        raise ValueError(version)
    read = _text if version == "v1" else _pieces
    key, rest = read(rest)
    value, _ = read(rest)
    return tuple(_columns(json.loads(key))), tuple(_columns(json.loads(value)))


def _text(data: bytes) -> tuple[str, bytes]:
    end = 2 + int.from_bytes(data[:2], "big")
    if len(data) < end:
        raise ValueError("truncated string")
    return data[2:end].decode("utf-8"), data[end:]


def _pieces(data: bytes) -> tuple[str, bytes]:
    count, data = int.from_bytes(data[:4], "big"), data[4:]
    pieces = []
    for _ in range(count):
        piece, data = _text(data)
        pieces.append(piece)
    return "".join(pieces), data


def _columns(struct: dict[str, Json]) -> Iterator[tuple[str, Type]]:
    for field in cast("list[dict[str, Json]]", struct["fields"]):
        yield str(field["name"]), _type(field["type"])


def _type(type: Json) -> Type:
    match type:
        case str():
            return type
        case {"type": "struct"} as struct:
            return {"struct": [[name, inner] for name, inner in _columns(cast("dict[str, Json]", struct))]}
        case {"type": "array", "elementType": inner}:
            return {"array": _type(inner)}
        case {"type": "map", "keyType": key, "valueType": value}:
            return {"map": [_type(key), _type(value)]}
        case {"type": "udt", "sqlType": inner}:
            return _type(inner)
    raise ValueError(f"unknown type {type}")
