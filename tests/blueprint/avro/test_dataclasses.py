"""Dataclasses as schemas."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Optional

import pytest

from blueprint.avro import Contract, Loaded, load_contract
from blueprint.avro.model import type_text
from blueprint.diagnostics import Span

HERE = Span("ports.py", 7, 5, 7, 30)


class Color(enum.Enum):
    """Named by its members."""

    RED = 1
    BLUE = 2


class State(enum.StrEnum):
    """Named by its values."""

    OPEN = "open"
    SHUT = "shut"


@dataclass
class Point:
    """Where."""

    x: float
    y: float = 0.0


@dataclass
class Reading:
    a: bool
    b: int
    c: float
    d: str
    e: bytes
    f: datetime.datetime
    g: datetime.date
    h: datetime.time
    i: uuid.UUID
    j: Annotated[decimal.Decimal, (10, 2)]
    k: Color
    l: State  # noqa: E741
    m: list[Point]
    n: dict[str, Point]
    o: Optional["Reading"]  # noqa: UP037, UP045 - the old spelling works as well
    p: int | str | None
    q: Annotated[int, "int"]
    r: Annotated[datetime.datetime, "timestamp-millis"]
    s: tuple[int, ...]


@dataclass
class Defaults:
    a: int = 3
    b: bytes = b"\xff"
    c: int | None = None
    d: int | None = 7
    e: Color = Color.BLUE
    f: datetime.datetime = datetime.datetime(1970, 1, 2)
    g: datetime.date = datetime.date(1970, 1, 3)
    h: Annotated[decimal.Decimal, (10, 2)] = decimal.Decimal("-1.5")
    i: Point = field(default_factory=lambda: Point(1.0))
    j: list[int] = field(default_factory=list, metadata={"aliases": ["old"], "doc": "some"})
    k: uuid.UUID = field(default_factory=lambda: uuid.UUID(int=1))
    l: datetime.time = datetime.time(0, 0, 1)  # noqa: E741


@dataclass
class Wrong:
    fine: int
    a: decimal.Decimal
    b: list  # type: ignore[type-arg]  # Avro must be told the items
    c: dict[int, str]
    d: Annotated[int, "string"]
    e: datetime.timedelta
    f: Any
    g: Annotated[decimal.Decimal, (4, 1)] = decimal.Decimal("0.25")


def load(source: object) -> Loaded:
    """Load as a port at `HERE` would."""
    return load_contract(source, base_folder="there-is-none", declared=HERE)


def contract(source: object) -> Contract:
    """A contract that is surely right."""
    loaded = load(source)
    assert loaded.contract is not None, loaded.problems
    return loaded.contract


def test_hints_are_mapped() -> None:
    """Every kind of hint has its Avro type."""
    types = {one.name: type_text(one.schema) for one in contract(Reading).record.fields}
    assert types == {
        "a": "boolean",
        "b": "long",
        "c": "double",
        "d": "string",
        "e": "bytes",
        "f": "long (timestamp-micros)",
        "g": "int (date)",
        "h": "long (time-micros)",
        "i": "string (uuid)",
        "j": "bytes (decimal(10, 2))",
        "k": "enum Color",
        "l": "enum State",
        "m": "array<record Point>",
        "n": "map<Point>",
        "o": "[null, Reading]",
        "p": "[null, long, string]",
        "q": "int",
        "r": "long (timestamp-millis)",
        "s": "array<long>",
    }
    assert all(not one.has_default for one in contract(Reading).record.fields)


def test_enums_are_what_rows_hold() -> None:
    """An enum whose values are strings has these as symbols, another the names of its members."""
    names = contract(Reading).names
    assert getattr(names["Color"], "symbols") == ("RED", "BLUE")  # noqa: B009
    assert getattr(names["State"], "symbols") == ("open", "shut")  # noqa: B009


def test_defaults_are_mapped() -> None:
    """Defaults get Avro's JSON form; the branch of a union's default comes first; metadata gives aliases and doc."""
    fields = {one["name"]: one for one in json.loads(contract(Defaults).json)["fields"]}
    defaults = {name: one["default"] for name, one in fields.items()}
    assert defaults == {
        "a": 3,
        "b": "\u00ff",
        "c": None,
        "d": 7,
        "e": "BLUE",
        "f": 86_400_000_000,
        "g": 2,
        "h": "\u00ff\u006a",
        "i": {"x": 1.0, "y": 0.0},
        "j": [],
        "k": "00000000-0000-0000-0000-000000000001",
        "l": 1_000_000,
    }
    assert (fields["c"]["type"], fields["d"]["type"]) == (["null", "long"], ["long", "null"])
    assert (fields["j"]["aliases"], fields["j"]["doc"]) == (["old"], "some")
    assert fields["i"]["type"]["doc"] == "Where."


def test_fields_know_their_line() -> None:
    """The place of a field is its line in the user's file."""
    line = next(
        number for number, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "    y: float" in text
    )
    y = contract(Point).record.fields[1]
    assert y.span is not None
    assert (y.span.line, y.span.column, y.span.end_column) == (line, 5, 13)
    assert y.span.file.endswith("test_dataclasses.py")


@dataclass
class Umlauts:
    """A hint that cannot be, with letters of two bytes."""

    x: Annotated[float, "Länge, in Füßen"]


def test_columns_count_characters() -> None:
    """A place ends behind the hint, whatever its letters take in the file."""
    (problem,) = load(Umlauts).problems
    assert problem.primary is not None
    (line,) = [line for line in Path(__file__).read_text().splitlines() if line.startswith("    x: Annotated")]
    assert (problem.primary.span.column, problem.primary.span.end_column) == (5, len(line) + 1)


@pytest.mark.parametrize(
    ("name", "says", "advice"),
    [
        ("a", "Avro has nothing for `Decimal`", "write `Annotated[Decimal, (precision, scale)]`"),
        ("b", "Avro has nothing for `list`", "say what is in it: `list[str]`"),
        ("c", "keys of a map are strings", "use `dict[str, ...]`, or a list of a dataclass"),
        ("d", '`int` cannot be "string"', 'it can be "int", "long", "float", "double"'),
        ("e", "Avro has nothing for `timedelta`", "hold it as a number: `int` with its unit in the name"),
        ("f", "Avro has nothing for `Any`", "name a type; a union such as `int | str` may hold several"),
        ("g", "the default 0.25 does not fit decimal(4, 1)", None),
    ],
)
def test_what_avro_cannot_say_is_a_finding_at_the_field(name: str, says: str, advice: str | None) -> None:
    """Each such field is told at its own line; nothing is told of the fields that are right."""
    loaded = load(Wrong)
    assert loaded.contract is None
    assert len(loaded.problems) == 7
    (problem,) = [one for one in loaded.problems if f"field `{name}` of `Wrong`" in one.headline]
    assert says in problem.headline
    assert problem.help == (() if advice is None else (advice,))
    assert problem.primary is not None
    assert problem.primary.span.file.endswith("test_dataclasses.py")


def test_hints_that_cannot_be_read_are_a_finding() -> None:
    """A name in a hint that does not exist is told with the user's class, not with a traceback."""
    broken = dataclasses.make_dataclass("Broken", [("x", "Missing")])
    (problem,) = load(broken).problems
    assert (problem.code, "Missing" in problem.headline) == ("schema-unsupported-hint", True)


@dataclass
class Tick:
    """Values whose form depends on their hints, deep inside of others."""

    at: datetime.datetime = datetime.datetime(1970, 1, 2)
    coarse: Annotated[datetime.datetime, "timestamp-millis"] = datetime.datetime(1970, 1, 2, tzinfo=datetime.UTC)
    price: Annotated[decimal.Decimal, (9, 2)] = decimal.Decimal("-1.50")


@dataclass
class DeepDefaults:
    a: Tick = field(default_factory=Tick)
    b: list[Tick | None] = field(default_factory=lambda: [None, Tick()])
    c: dict[str, Annotated[datetime.time, "time-millis"]] = field(default_factory=lambda: {"k": datetime.time(0, 0, 1)})
    d: Annotated[decimal.Decimal, (38, 2)] | None = decimal.Decimal("123456789012345678901234567890.12")
    e: Annotated[decimal.Decimal, (3, 1)] = decimal.Decimal("15.5000")


def test_defaults_inside_others_follow_the_hints_they_stand_under() -> None:
    """Times get their unit and decimals their scale wherever they stand; decimals lose no digit."""
    tick = {"at": 86_400_000_000, "coarse": 86_400_000, "price": "\u00ff\u006a"}
    defaults = {one.name: one.default for one in contract(DeepDefaults).record.fields}
    large = str(defaults.pop("d")).encode("latin-1")
    assert defaults == {"a": tick, "b": [None, tick], "c": {"k": 1000}, "e": "\u0000\u009b"}
    assert int.from_bytes(large, "big", signed=True) == 12345678901234567890123456789012


@pytest.mark.parametrize(
    ("hint", "default", "says"),
    [
        ([int], dataclasses.MISSING, "is a list, and no type hint"),
        ({str: int}, dataclasses.MISSING, "is a dict, and no type hint"),
        (int, datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), "is of another type than its field"),
        (int | str, datetime.time(1), "is of another type than its field"),
        (int, decimal.Decimal(1), "is of another type than its field"),
        (Annotated[decimal.Decimal, ("9", "2")], decimal.Decimal(1), "a decimal needs precision and scale"),
        (Annotated[decimal.Decimal, (9, 10**9)], decimal.Decimal(1), "does not fit decimal(9, 1000000000)"),
        (Annotated[decimal.Decimal, (0, 0)], decimal.Decimal(1), "does not fit decimal(0, 0)"),
        (dict[str, int], {1: 2}, "keys of a map are strings"),
        (str, "\ud83d", "half of a surrogate pair is no character"),
    ],
)
def test_a_hint_or_default_that_is_none_is_a_finding(hint: Any, default: Any, says: str) -> None:
    """Whatever an author writes there, it is told at the field."""
    made = field() if default is dataclasses.MISSING else field(default_factory=lambda: default)
    (problem,) = load(dataclasses.make_dataclass("Made", [("x", hint, made)])).problems
    assert problem.code == "schema-unsupported-hint"
    assert says in problem.headline


def test_metadata_that_is_no_json_is_a_finding() -> None:
    """Aliases are a list, not a set."""
    made = dataclasses.make_dataclass("Made", [("x", int, field(metadata={"aliases": {"old"}}))])
    (problem,) = load(made).problems
    assert problem.headline == "field `x` of `Made` holds {'old'} of type `set`"
