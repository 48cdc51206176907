"""Random Avro schemas, related schemas, and their records, generated with a `random.Random`."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass
from typing import Any

DEPTH = 3
"""How deep types are nested before only primitives follow, and how often a recursive type repeats in a record."""

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_WIDER = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
_FIELDS = ("a", "b", "c", "d", "e", "f")
_SYMBOLS = ("RED", "GREEN", "BLUE", "BLACK")
_NAMES = ("A", "B", "C", "D")


@dataclass
class Flat:
    """A schema with names in place of named types; `definitions` defines them."""

    root: str
    definitions: dict[str, dict[str, Any]]

    def nested(self) -> dict[str, Any]:
        """Return the schema as Avro data: every type is defined at its first use."""
        seen: set[str] = set()

        def write(kind: Any) -> Any:
            if isinstance(kind, list):
                return [write(branch) for branch in kind]
            if isinstance(kind, dict):
                inner = "items" if kind["type"] == "array" else "values"
                return {**kind, inner: write(kind[inner])}
            if kind in PRIMITIVES or kind in seen:
                return kind
            seen.add(kind)
            definition = dict(self.definitions[kind])
            if definition["type"] == "record":
                definition["fields"] = [{**field, "type": write(field["type"])} for field in definition["fields"]]
            return definition

        return dict(write(self.root))

    def ends(self) -> bool:
        """Return whether every named type has a finite value: a record that always contains itself has none."""
        ending: set[str] = set()

        def ends(kind: Any) -> bool:
            if isinstance(kind, list):
                return any(ends(branch) for branch in kind)
            return isinstance(kind, dict) or kind in PRIMITIVES or kind in ending

        while True:
            more = {
                name
                for name, definition in self.definitions.items()
                if name not in ending and all(ends(field["type"]) for field in definition.get("fields", ()))
            }
            if not more:
                return len(ending) == len(self.definitions)
            ending |= more


class Generator:
    """Generates schemas and records."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    # Schemas

    def schema(self) -> Flat:
        """Return a record with up to five fields."""
        flat = Flat("n.R", {})
        flat.definitions["n.R"] = {"type": "record", "name": "n.R", "fields": []}
        self._fill(flat, "n.R", 0)
        return flat

    def pair(self) -> tuple[Flat, Flat]:
        """Return a writer and a reader: mostly related schemas in either order, sometimes unrelated ones."""
        schema = self.schema()
        other = self.schema() if self.rng.random() < 0.05 else self.relative(schema)
        return (schema, other) if self.rng.random() < 0.5 else (other, schema)

    def relative(self, flat: Flat) -> Flat:
        """Return the schema after zero to four typical changes."""
        while True:
            other = copy.deepcopy(flat)
            for _ in range(self.rng.choice((0, 1, 1, 2, 2, 3, 4))):
                self._change(other)
            if other.ends():
                return other

    def _fill(self, flat: Flat, record: str, depth: int) -> None:
        for name in self.rng.sample(_FIELDS, self.rng.randint(1, 5)):
            flat.definitions[record]["fields"].append(self._field(flat, name, depth))

    def _field(self, flat: Flat, name: str, depth: int) -> dict[str, Any]:
        field: dict[str, Any] = {"name": name, "type": self._type(flat, depth)}
        if self.rng.random() < 0.4:
            self._give_default(field, flat)
        return field

    def _give_default(self, field: dict[str, Any], flat: Flat) -> None:
        default = self.default(field["type"], flat, DEPTH)
        if default is not _NONE:
            field["default"] = default

    def _type(self, flat: Flat, depth: int, *, unions: bool = True) -> Any:
        roll = self.rng.random()
        if depth >= DEPTH or roll < 0.45:
            return self.rng.choice(PRIMITIVES)
        if roll < 0.55:
            return {"type": "array", "items": self._type(flat, depth + 1)}
        if roll < 0.63:
            return {"type": "map", "values": self._type(flat, depth + 1)}
        if roll < 0.80 and unions:
            return self._union(flat, depth)
        if roll < 0.85 and depth:
            # a use of an enclosing record: only in a union with null, because it must have a finite value
            records = [name for name, definition in flat.definitions.items() if definition["type"] == "record"]
            return ["null", self.rng.choice(records)] if unions else "long"
        return self._named(flat, depth)

    def _union(self, flat: Flat, depth: int) -> list[Any]:
        branches: list[Any] = []
        for _ in range(self.rng.choice((1, 2, 2, 2, 3))):
            branch = "null" if self.rng.random() < 0.4 else self._type(flat, depth + 1, unions=False)
            if _kind(branch) not in {_kind(other) for other in branches}:
                branches.append(branch)
        return branches

    def _named(self, flat: Flat, depth: int) -> str:
        name = f"{'m' if self.rng.random() < 0.25 else 'n'}.{self.rng.choice(_NAMES)}"
        if name in flat.definitions:
            return name if flat.definitions[name]["type"] != "record" else "string"
        kind = self.rng.choice(("record", "enum", "fixed"))
        flat.definitions[name] = {"type": kind, "name": name}
        if kind == "record":
            flat.definitions[name]["fields"] = []
            self._fill(flat, name, depth + 1)
        elif kind == "enum":
            flat.definitions[name]["symbols"] = self.rng.sample(_SYMBOLS, self.rng.randint(1, 4))
        else:
            flat.definitions[name]["size"] = self.rng.randint(1, 4)
        return name

    # Changes

    def _change(self, flat: Flat) -> None:
        name = self.rng.choice(sorted(flat.definitions))
        definition = flat.definitions[name]
        if definition["type"] == "enum":
            self._change_enum(definition)
        elif definition["type"] == "fixed" and self.rng.random() < 0.6:
            definition["size"] = self.rng.randint(1, 4)
        elif self.rng.random() < 0.12:
            self._rename(flat, name)
        elif definition["type"] == "record" and definition["fields"]:
            self._change_record(flat, definition)
        self._drop_wrong_defaults(flat)

    def _change_enum(self, enum: dict[str, Any]) -> None:
        enum["symbols"] = self.rng.sample(_SYMBOLS, self.rng.randint(1, 4))
        enum.pop("default", None)
        if self.rng.random() < 0.4:
            enum["default"] = self.rng.choice(enum["symbols"])

    def _rename(self, flat: Flat, name: str) -> None:
        new = f"{self.rng.choice('nm')}.{self.rng.choice((*_NAMES, 'R'))}"
        if new in flat.definitions:
            return
        definition = flat.definitions.pop(name)
        definition["name"] = new
        if self.rng.random() < 0.6:
            definition["aliases"] = [name]
        flat.definitions[new] = definition
        flat.root = new if flat.root == name else flat.root
        for definition in flat.definitions.values():
            for field in definition.get("fields", ()):
                field["type"] = _renamed(field["type"], name, new)

    def _change_record(self, flat: Flat, record: dict[str, Any]) -> None:
        fields = record["fields"]
        field = self.rng.choice(fields)
        claimed = {name for field in fields for name in (field["name"], *field.get("aliases", ()))}
        free = [name for name in _FIELDS if name not in claimed]
        match self.rng.randrange(8):
            case 0 if len(fields) > 1:
                fields.remove(field)
            case 1 if free:
                fields.append(self._field(flat, self.rng.choice(free), DEPTH - 1))
            case 2 if free:
                old, field["name"] = field["name"], self.rng.choice(free)
                if self.rng.random() < 0.6:
                    field["aliases"] = [old]
            case 3:
                self.rng.shuffle(fields)
            case 4 | 5:
                field["type"] = self._change_type(flat, field["type"])
            case 6:
                field.pop("default", None)
            case _:
                self._give_default(field, flat)

    def _change_type(self, flat: Flat, kind: Any) -> Any:
        roll = self.rng.random()
        if isinstance(kind, dict) and roll < 0.7:
            inner = "items" if kind["type"] == "array" else "values"
            return {**kind, inner: self._change_type(flat, kind[inner])}
        if isinstance(kind, list):
            return self._change_union(flat, kind)
        if roll < 0.3:
            return ["null", kind] if kind != "null" else ["null", "string"]
        if roll < 0.5 and isinstance(kind, str) and kind in _WIDER:
            return self.rng.choice(_WIDER[kind])
        return self._type(flat, DEPTH - 1)

    def _change_union(self, flat: Flat, union: list[Any]) -> Any:
        match self.rng.randrange(4):
            case 0 if len(union) > 1:
                return self.rng.sample(union, len(union) - 1)
            case 1:
                return self.rng.choice(union)
            case 2:
                return self.rng.sample(union, len(union))
        branch = self._type(flat, DEPTH - 1, unions=False)
        return union if _kind(branch) in {_kind(other) for other in union} else [*union, branch]

    def _drop_wrong_defaults(self, flat: Flat) -> None:
        for definition in flat.definitions.values():
            for field in definition.get("fields", ()):
                if "default" in field and not _fits(field["default"], field["type"], flat):
                    del field["default"]

    # Values

    def default(self, kind: Any, flat: Flat, depth: int) -> Any:
        """Return a default of a type as JSON data; `_NONE` if there is no small one."""
        if isinstance(kind, list):
            return self.default(kind[0], flat, depth)
        if isinstance(kind, dict):
            return [] if kind["type"] == "array" else {}
        if kind in PRIMITIVES:
            return {"null": None, "boolean": True, "bytes": "\u00ff", "string": "x"}.get(kind, 7)
        definition = flat.definitions[kind]
        if definition["type"] == "enum":
            return definition["symbols"][0]
        return "\u0001" * definition["size"] if definition["type"] == "fixed" else _NONE

    def value(self, kind: Any, flat: Flat, depth: int = 0) -> Any:
        """Return a value for fastavro's writer; unions name their branch, bytes are ASCII."""
        if isinstance(kind, list):
            small = (
                [branch for branch in kind if isinstance(branch, dict) or branch in PRIMITIVES]
                if depth > DEPTH * 2
                else []
            )
            branch = self.rng.choice(small or kind)
            name = branch if isinstance(branch, str) else branch["type"]
            return None if branch == "null" else (name, self.value(branch, flat, depth + 1))
        if isinstance(kind, dict):
            size = 0 if depth > DEPTH * 2 else self.rng.choice((0, 1, 1, 2))
            inner = kind["items"] if kind["type"] == "array" else kind["values"]
            values = [self.value(inner, flat, depth + 1) for _ in range(size)]
            return values if kind["type"] == "array" else {f"k{at}": value for at, value in enumerate(values)}
        if kind in PRIMITIVES:
            return self._primitive(kind)
        definition = flat.definitions[kind]
        if definition["type"] == "enum":
            return self.rng.choice(definition["symbols"])
        if definition["type"] == "fixed":
            return b"z" * definition["size"]
        return {field["name"]: self.value(field["type"], flat, depth + 1) for field in definition["fields"]}

    def _primitive(self, kind: str) -> Any:
        values: dict[str, tuple[Any, ...]] = {
            "null": (None,),
            "boolean": (True, False),
            "int": (0, -1, 2**31 - 1),
            "long": (0, 2**40, -(2**63)),
            "float": (0.0, 1.5),
            "double": (0.0, -2.25),
            "bytes": (b"", b"abc"),
            "string": ("", "grün"),
        }
        return self.rng.choice(values[kind])


_NONE = object()


def _kind(branch: Any) -> str:
    return branch if isinstance(branch, str) else str(branch["type"])


def _renamed(kind: Any, old: str, new: str) -> Any:
    if isinstance(kind, list):
        return [_renamed(part, old, new) for part in kind]
    if isinstance(kind, dict):
        return {key: part if key == "type" else _renamed(part, old, new) for key, part in kind.items()}
    return new if kind == old else kind


def _fits(default: Any, kind: Any, flat: Flat) -> bool:
    """Return whether a generated default is a value of the first branch of a type."""
    if isinstance(kind, list):
        return _fits(default, kind[0], flat)
    if isinstance(kind, dict):
        return bool(default == ([] if kind["type"] == "array" else {})) and isinstance(
            default, list if kind["type"] == "array" else dict
        )
    if kind in PRIMITIVES:
        expected = {"null": type(None), "boolean": bool, "bytes": str, "string": str}.get(kind, int)
        return type(default) is expected
    definition = flat.definitions[kind]
    if definition["type"] == "enum":
        return default in definition["symbols"]
    fixed = definition["type"] == "fixed"
    return (
        fixed and isinstance(default, str) and len(default) == definition["size"] and all(ord(c) < 256 for c in default)
    )
