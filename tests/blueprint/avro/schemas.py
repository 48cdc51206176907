"""Random Avro schemas, near relatives of them, and records they allow; driven by any `random.Random`."""

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
    """A schema whose named types are used by name everywhere; `definitions` has each of them."""

    root: str
    definitions: dict[str, dict[str, Any]]

    def nested(self) -> dict[str, Any]:
        """The schema as Avro writes it: every type defined where it is first used."""
        seen: set[str] = set()

        def write(kind: Any) -> Any:
            if isinstance(kind, list):
                return [write(one) for one in kind]
            if isinstance(kind, dict):
                inner = "items" if kind["type"] == "array" else "values"
                return {**kind, inner: write(kind[inner])}
            if kind in PRIMITIVES or kind in seen:
                return kind
            seen.add(kind)
            definition = dict(self.definitions[kind])
            if definition["type"] == "record":
                definition["fields"] = [{**one, "type": write(one["type"])} for one in definition["fields"]]
            return definition

        return dict(write(self.root))

    def ends(self) -> bool:
        """Whether every named type has a finite value: a record that always holds itself has none."""
        ending: set[str] = set()

        def ends(kind: Any) -> bool:
            if isinstance(kind, list):
                return any(ends(one) for one in kind)
            return isinstance(kind, dict) or kind in PRIMITIVES or kind in ending

        while True:
            more = {
                name
                for name, one in self.definitions.items()
                if name not in ending and all(ends(field["type"]) for field in one.get("fields", ()))
            }
            if not more:
                return len(ending) == len(self.definitions)
            ending |= more


class Generator:
    """Makes schemas and records out of one source of randomness."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    # Schemas

    def schema(self) -> Flat:
        """A record of up to five fields."""
        made = Flat("n.R", {})
        made.definitions["n.R"] = {"type": "record", "name": "n.R", "fields": []}
        self._fill(made, "n.R", 0)
        return made

    def pair(self) -> tuple[Flat, Flat]:
        """A writer and a reader: mostly relatives, either way round, now and then strangers."""
        one = self.schema()
        other = self.schema() if self.rng.random() < 0.05 else self.relative(one)
        return (one, other) if self.rng.random() < 0.5 else (other, one)

    def relative(self, flat: Flat) -> Flat:
        """The same schema after none to four changes of the kinds people make."""
        while True:
            other = copy.deepcopy(flat)
            for _ in range(self.rng.choice((0, 1, 1, 2, 2, 3, 4))):
                self._change(other)
            if other.ends():
                return other

    def _fill(self, made: Flat, record: str, depth: int) -> None:
        for name in self.rng.sample(_FIELDS, self.rng.randint(1, 5)):
            made.definitions[record]["fields"].append(self._field(made, name, depth))

    def _field(self, made: Flat, name: str, depth: int) -> dict[str, Any]:
        field: dict[str, Any] = {"name": name, "type": self._type(made, depth)}
        if self.rng.random() < 0.4:
            self._give_default(field, made)
        return field

    def _give_default(self, field: dict[str, Any], made: Flat) -> None:
        default = self.default(field["type"], made, DEPTH)
        if default is not _NONE:
            field["default"] = default

    def _type(self, made: Flat, depth: int, *, unions: bool = True) -> Any:
        roll = self.rng.random()
        if depth >= DEPTH or roll < 0.45:
            return self.rng.choice(PRIMITIVES)
        if roll < 0.55:
            return {"type": "array", "items": self._type(made, depth + 1)}
        if roll < 0.63:
            return {"type": "map", "values": self._type(made, depth + 1)}
        if roll < 0.80 and unions:
            return self._union(made, depth)
        if roll < 0.85 and depth:
            # a use of a record that may be open: only where it need not hold itself for ever
            records = [name for name, one in made.definitions.items() if one["type"] == "record"]
            return ["null", self.rng.choice(records)] if unions else "long"
        return self._named(made, depth)

    def _union(self, made: Flat, depth: int) -> list[Any]:
        branches: list[Any] = []
        for _ in range(self.rng.choice((1, 2, 2, 2, 3))):
            branch = "null" if self.rng.random() < 0.4 else self._type(made, depth + 1, unions=False)
            if _kind(branch) not in {_kind(one) for one in branches}:
                branches.append(branch)
        return branches

    def _named(self, made: Flat, depth: int) -> str:
        name = f"{'m' if self.rng.random() < 0.25 else 'n'}.{self.rng.choice(_NAMES)}"
        if name in made.definitions:
            return name if made.definitions[name]["type"] != "record" else "string"
        kind = self.rng.choice(("record", "enum", "fixed"))
        made.definitions[name] = {"type": kind, "name": name}
        if kind == "record":
            made.definitions[name]["fields"] = []
            self._fill(made, name, depth + 1)
        elif kind == "enum":
            made.definitions[name]["symbols"] = self.rng.sample(_SYMBOLS, self.rng.randint(1, 4))
        else:
            made.definitions[name]["size"] = self.rng.randint(1, 4)
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
        for one in flat.definitions.values():
            for field in one.get("fields", ()):
                field["type"] = _renamed(field["type"], name, new)

    def _change_record(self, flat: Flat, record: dict[str, Any]) -> None:
        fields = record["fields"]
        field = self.rng.choice(fields)
        claimed = {name for one in fields for name in (one["name"], *one.get("aliases", ()))}
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
        return union if _kind(branch) in {_kind(one) for one in union} else [*union, branch]

    def _drop_wrong_defaults(self, flat: Flat) -> None:
        for one in flat.definitions.values():
            for field in one.get("fields", ()):
                if "default" in field and not _fits(field["default"], field["type"], flat):
                    del field["default"]

    # Values

    def default(self, kind: Any, flat: Flat, depth: int) -> Any:
        """A default of the type as JSON data; `_NONE` where there is no small one."""
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
        """A value as fastavro writes it; the branch of a union is said, bytes are ASCII."""
        if isinstance(kind, list):
            small = [one for one in kind if isinstance(one, dict) or one in PRIMITIVES] if depth > DEPTH * 2 else []
            branch = self.rng.choice(small or kind)
            name = branch if isinstance(branch, str) else branch["type"]
            return None if branch == "null" else (name, self.value(branch, flat, depth + 1))
        if isinstance(kind, dict):
            size = 0 if depth > DEPTH * 2 else self.rng.choice((0, 1, 1, 2))
            inner = kind["items"] if kind["type"] == "array" else kind["values"]
            values = [self.value(inner, flat, depth + 1) for _ in range(size)]
            return values if kind["type"] == "array" else {f"k{at}": one for at, one in enumerate(values)}
        if kind in PRIMITIVES:
            return self._primitive(kind)
        definition = flat.definitions[kind]
        if definition["type"] == "enum":
            return self.rng.choice(definition["symbols"])
        if definition["type"] == "fixed":
            return b"z" * definition["size"]
        return {one["name"]: self.value(one["type"], flat, depth + 1) for one in definition["fields"]}

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
        return [_renamed(one, old, new) for one in kind]
    if isinstance(kind, dict):
        return {key: part if key == "type" else _renamed(part, old, new) for key, part in kind.items()}
    return new if kind == old else kind


def _fits(default: Any, kind: Any, flat: Flat) -> bool:
    """Whether one of the small defaults made here is a value of the type's first branch."""
    if isinstance(kind, list):
        return _fits(default, kind[0], flat)
    if isinstance(kind, dict):
        return bool(default == ([] if kind["type"] == "array" else {})) and isinstance(
            default, list if kind["type"] == "array" else dict
        )
    if kind in PRIMITIVES:
        wanted = {"null": type(None), "boolean": bool, "bytes": str, "string": str}.get(kind, int)
        return type(default) is wanted
    definition = flat.definitions[kind]
    if definition["type"] == "enum":
        return default in definition["symbols"]
    fixed = definition["type"] == "fixed"
    return (
        fixed and isinstance(default, str) and len(default) == definition["size"] and all(ord(c) < 256 for c in default)
    )
