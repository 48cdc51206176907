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
    b: list  # type: ignore[type-arg]  # Avro needs the type of the items
    c: dict[int, str]
    d: Annotated[int, "string"]
    e: datetime.timedelta
    f: Any
    g: Annotated[decimal.Decimal, (4, 1)] = decimal.Decimal("0.25")


def load(source: object) -> Loaded:
    """Load a schema as for a port at `HERE`."""
    return load_contract(source, base_directory="there-is-none", declared=HERE)


def contract(source: object) -> Contract:
    """Return the contract of a valid dataclass."""
    loaded = load(source)
    assert loaded.contract is not None, loaded.problems
    return loaded.contract


def test_hints_are_mapped() -> None:
    """Every kind of hint has its Avro type."""
    types = {field.name: type_text(field.schema) for field in contract(Reading).record.fields}
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
    assert all(not field.has_default for field in contract(Reading).record.fields)


def test_enums_are_what_rows_hold() -> None:
    """The symbols of an enum are its values if they are strings, else the names of its members."""
    names = contract(Reading).names
    assert getattr(names["Color"], "symbols") == ("RED", "BLUE")  # noqa: B009
    assert getattr(names["State"], "symbols") == ("open", "shut")  # noqa: B009


def test_defaults_are_mapped() -> None:
    """Defaults get Avro's JSON form; the branch of a union's default comes first; metadata gives aliases and doc."""
    fields = {field["name"]: field for field in json.loads(contract(Defaults).json)["fields"]}
    defaults = {name: field["default"] for name, field in fields.items()}
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
    """The location of a field is its line in the user's file."""
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
    """A location ends after the hint, also with multi-byte characters."""
    (problem,) = load(Umlauts).problems
    assert problem.primary is not None
    (line,) = [line for line in Path(__file__).read_text().splitlines() if line.startswith("    x: Annotated")]
    assert (problem.primary.span.column, problem.primary.span.end_column) == (5, len(line) + 1)


@pytest.mark.parametrize(
    ("name", "message", "advice"),
    [
        ("a", "Avro has no type for `Decimal`", "write `Annotated[Decimal, (precision, scale)]`"),
        ("b", "Avro has no type for `list`", "specify the type of its items: `list[str]`"),
        ("c", "Avro map keys must be strings", "use `dict[str, ...]`, or a list of a dataclass"),
        ("d", '`int` cannot be "string"', 'use one of "int", "long", "float", "double"'),
        ("e", "Avro has no type for `timedelta`", "use a number, with its unit in the field's name"),
        ("f", "Avro has no type for `Any`", "use a specific type, or a union such as `int | str`"),
        ("g", "the default 0.25 does not fit decimal(4, 1)", None),
    ],
)
def test_what_avro_cannot_say_is_a_finding_at_the_field(name: str, message: str, advice: str | None) -> None:
    """Each such field has a finding at its own line; valid fields have none."""
    loaded = load(Wrong)
    assert loaded.contract is None
    assert len(loaded.problems) == 7
    (problem,) = [problem for problem in loaded.problems if f"field `{name}` of `Wrong`" in problem.headline]
    assert message in problem.headline
    assert problem.help == (() if advice is None else (advice,))
    assert problem.primary is not None
    assert problem.primary.span.file.endswith("test_dataclasses.py")


def test_hints_that_cannot_be_read_are_a_finding() -> None:
    """An unknown name in a hint is a finding at the user's class, not a traceback."""
    broken = dataclasses.make_dataclass("Broken", [("x", "Missing")])
    (problem,) = load(broken).problems
    assert (problem.code, "Missing" in problem.headline) == ("schema-unsupported-hint", True)


@dataclass
class Tick:
    """Nested values whose JSON form depends on their hints."""

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
    """Nested times have the right unit and decimals the right scale; decimals lose no digit."""
    tick = {"at": 86_400_000_000, "coarse": 86_400_000, "price": "\u00ff\u006a"}
    defaults = {field.name: field.default for field in contract(DeepDefaults).record.fields}
    large = str(defaults.pop("d")).encode("latin-1")
    assert defaults == {"a": tick, "b": [None, tick], "c": {"k": 1000}, "e": "\u0000\u009b"}
    assert int.from_bytes(large, "big", signed=True) == 12345678901234567890123456789012


@pytest.mark.parametrize(
    ("hint", "default", "message"),
    [
        ([int], dataclasses.MISSING, "is a list, not a type hint"),
        ({str: int}, dataclasses.MISSING, "is a dict, not a type hint"),
        (int, datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), "does not match the type of its field"),
        (int | str, datetime.time(1), "does not match the type of its field"),
        (int, decimal.Decimal(1), "does not match the type of its field"),
        (Annotated[decimal.Decimal, ("9", "2")], decimal.Decimal(1), "a decimal needs precision and scale"),
        (Annotated[decimal.Decimal, (9, 10**9)], decimal.Decimal(1), "does not fit decimal(9, 1000000000)"),
        (Annotated[decimal.Decimal, (0, 0)], decimal.Decimal(1), "does not fit decimal(0, 0)"),
        (dict[str, int], {1: 2}, "its keys must be strings"),
        (str, "\ud83d", "contains an unpaired surrogate"),
    ],
)
def test_an_invalid_hint_or_default_is_a_finding(hint: Any, default: Any, message: str) -> None:
    """Any invalid hint or default is a finding at the field."""
    default_field = field() if default is dataclasses.MISSING else field(default_factory=lambda: default)
    (problem,) = load(dataclasses.make_dataclass("Made", [("x", hint, default_field)])).problems
    assert problem.code == "schema-unsupported-hint"
    assert message in problem.headline


def test_metadata_that_is_no_json_is_a_finding() -> None:
    """Aliases are a list, not a set."""
    source = dataclasses.make_dataclass("Made", [("x", int, field(metadata={"aliases": {"old"}}))])
    (problem,) = load(source).problems
    assert problem.headline == "field `x` of `Made`: {'old'} of type `set` is not JSON data"
