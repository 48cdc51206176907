"""Examples of each rule of schema resolution: reasons, places, severities, changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blueprint.avro import Contract, Resolution, Rule, check, load_contract
from blueprint.avro.model import Fixed
from blueprint.avro.resolution.changes import apply_edit
from blueprint.avro.resolution.planner import IncompatibleError, resolve_plan
from blueprint.avro.sources.reading import (
    Again,
    FromDefault,
    FromField,
    FromUnion,
    IntoUnion,
    MapEnum,
    Promote,
    ReadArray,
    ReadRecord,
    Take,
)
from blueprint.diagnostics import Severity, Span

HERE = Span("ports.py", 7, 5, 7, 30)


def load(source: object) -> Contract:
    """Return the contract of a valid schema."""
    loaded = load_contract(source, base_directory="there-is-none", declared=HERE)
    assert loaded.contract is not None, loaded.problems
    return loaded.contract


def of(*types: Any, name: str = "n.R", **more: Any) -> Contract:
    """Return a record with fields a, b, c of these types; `more` goes to the first field."""
    fields: list[dict[str, Any]] = [{"name": "abc"[at], "type": kind} for at, kind in enumerate(types)]
    fields[0] |= more
    return load({"type": "record", "name": name, "fields": fields})


def fixed(size: int, name: str = "n.F", **more: Any) -> dict[str, Any]:
    """Return a fixed type."""
    return {"type": "fixed", "name": name, "size": size, **more}


def choice(*symbols: str, name: str = "n.E", **more: Any) -> dict[str, Any]:
    """Return an enum type."""
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


def only(resolution: Resolution) -> Any:
    """Return the only reason."""
    (reason,) = resolution.reasons
    return reason


INCOMPATIBLE: list[tuple[Any, Any, Rule, str, list[str]]] = [
    (
        "long",
        "int",
        Rule.TYPES_DIFFER,
        "a",
        ["change the reader's field `a` to `long`", "change the writer's field `a` to `int`"],
    ),
    (
        "string",
        "int",
        Rule.TYPES_DIFFER,
        "a",
        ["change the reader's field `a` to `string`", "change the writer's field `a` to `int`"],
    ),
    (
        {"type": "array", "items": "long"},
        {"type": "array", "items": "int"},
        Rule.TYPES_DIFFER,
        "a[]",
        ["change the reader's field `a[]` to `long`", "change the writer's field `a[]` to `int`"],
    ),
    (
        {"type": "map", "values": "long"},
        {"type": "map", "values": "int"},
        Rule.TYPES_DIFFER,
        "a{}",
        ["change the reader's field `a{}` to `long`", "change the writer's field `a{}` to `int`"],
    ),
    (
        ["null", "int"],
        "int",
        Rule.BRANCH_NOT_READ,
        "a",
        ["change the reader's field `a` to `[null, int]`", "remove `null` from the types of the writer's field `a`"],
    ),
    (
        ["null", "int", "string"],
        ["null", "int"],
        Rule.NO_BRANCH,
        "a<string>",
        [
            "change the reader's field `a` to `[null, int, string]`",
            "remove `string` from the types of the writer's field `a`",
        ],
    ),
    (
        "string",
        ["null", "int"],
        Rule.NO_BRANCH,
        "a",
        ["change the reader's field `a` to `[null, int, string]`", "change the writer's field `a` to `int`"],
    ),
    (
        fixed(2),
        fixed(3),
        Rule.SIZES_DIFFER,
        "a",
        ["change the size of the reader's `n.F` to 2 bytes", "change the size of the writer's `n.F` to 3 bytes"],
    ),
    (
        fixed(2),
        fixed(2, "n.G"),
        Rule.NAMES_DIFFER,
        "a",
        ["add the alias `n.F` to the reader's `n.G`", "rename the writer's `n.F` to `n.G`"],
    ),
    (
        choice("A", "B"),
        choice("A"),
        Rule.SYMBOLS_MISSING,
        "a",
        ["add `B` to the reader's `n.E`", "remove `B` from the writer's `n.E`"],
    ),
]


@pytest.mark.parametrize(("writer", "reader", "rule", "path", "changes"), INCOMPATIBLE)
def test_each_rule_gives_its_reason_and_changes_that_do(
    writer: Any, reader: Any, rule: Rule, path: str, changes: list[str]
) -> None:
    """The reason has the rule, the path, the severity error, and a working change of either schema."""
    old, new = of(writer), of(reader)
    reason = only(check(old, new))
    assert (reason.rule, reason.path, reason.severity) == (rule, path, Severity.ERROR)
    assert [change.text for change in reason.changes] == changes
    for change in reason.changes:
        pair = (apply_edit(change.edit, old), new) if change.side == "writer" else (old, apply_edit(change.edit, new))
        assert check(*pair).compatible


COMPATIBLE: list[tuple[Any, Any]] = [
    ("int", "long"),
    ("float", "double"),
    ("int", "double"),
    ("string", "bytes"),
    ("int", ["null", "int"]),
    (["int", "string"], ["string", "int", "null"]),
    (["int"], "long"),
    (choice("A", "B"), choice("A", default="A")),
    (choice("A"), choice("B", "A")),
    (fixed(2), fixed(2, "n.G", aliases=["F"])),
    (
        {"type": "record", "name": "n.S", "fields": []},
        {"type": "record", "name": "T", "fields": [], "aliases": ["n.S"]},
    ),
]


@pytest.mark.parametrize(("writer", "reader"), COMPATIBLE)
def test_what_the_specification_lets_pass_gives_no_reason(writer: Any, reader: Any) -> None:
    """Promotions, unions, defaults of enums and aliases give no reasons."""
    assert check(of(writer), of(reader)).reasons == ()


WARNINGS: list[tuple[Any, Any, Rule]] = [
    ("bytes", "string", Rule.BYTES_AS_STRING),
    ("int", "float", Rule.PRECISION_LOST),
    ("long", "float", Rule.PRECISION_LOST),
    ("long", "double", Rule.PRECISION_LOST),
    ({"type": "long", "logicalType": "timestamp-millis"}, "long", Rule.LOGICAL_TYPES_DIFFER),
    (
        {"type": "long", "logicalType": "timestamp-millis"},
        {"type": "long", "logicalType": "timestamp-micros"},
        Rule.LOGICAL_TYPES_DIFFER,
    ),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2},
        Rule.DECIMALS_DIFFER,
    ),
    (fixed(2), fixed(2, "m.F"), Rule.NAMESPACES_DIFFER),
]


@pytest.mark.parametrize(("writer", "reader", "rule"), WARNINGS)
def test_what_may_surprise_is_a_warning(writer: Any, reader: Any, rule: Rule) -> None:
    """The pair is compatible according to the specification, and the reader's author gets a warning."""
    resolution = check(of(writer), of(reader))
    reason = only(resolution)
    assert (reason.rule, reason.severity) == (rule, Severity.WARNING)
    assert resolution.compatible
    assert resolution.warnings == (reason,)


def test_an_alias_says_that_another_namespace_is_meant() -> None:
    """A full name among the aliases silences the warning about namespaces; so does a name without any."""
    assert check(of(fixed(2)), of(fixed(2, "m.F", aliases=["n.F"]))).reasons == ()
    assert check(of(fixed(2)), of({"type": "fixed", "name": "F", "namespace": "", "size": 2})).reasons == ()


def test_a_writer_with_both_names_of_a_field_is_a_warning() -> None:
    """The field with the name is read, and a warning says that the field with the alias is ignored."""
    reader = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "aliases": ["b"]}]}
    reason = only(check(of("int", "string"), load(reader)))
    assert (reason.rule, reason.path, reason.severity) == (Rule.NAME_AND_ALIAS, "a", Severity.WARNING)


def test_a_field_without_default_offers_the_nearest_way() -> None:
    """An alias if the writer has a similar name, the default null if null is allowed, else a nullable field."""
    near = only(check(load("temprature double"), load({"type": "record", "name": "R", "fields": [
        {"name": "temperature", "type": ["null", "double"]}]})))  # fmt: skip
    assert near.rule is Rule.FIELD_WITHOUT_DEFAULT
    assert near.changes[0].text == "add the alias `temprature`, the writer's name, to the reader's field `temperature`"
    fits = only(check(of("int"), of("int", ["null", "int"])))
    assert [change.text for change in fits.changes] == [
        "add the default null to the reader's field `b`",
        "add the field `b` of type `[null, int]` to the writer's `n.R`",
    ]
    optional = only(check(of("int"), of("int", fixed(2))))
    assert optional.changes[0].text == "change the reader's field `b` to `[null, n.F]` with the default null"


def test_all_reasons_are_told_in_the_order_of_the_reader() -> None:
    """A pair with several errors has a reason for each."""
    resolution = check(of("long", ["null", "int"], choice("A")), of("int", "int", choice("B")))
    assert [(reason.path, reason.rule) for reason in resolution.errors] == [
        ("a", Rule.TYPES_DIFFER),
        ("b", Rule.BRANCH_NOT_READ),
        ("c", Rule.SYMBOLS_MISSING),
    ]


def test_a_type_used_twice_is_told_once() -> None:
    """A definition that is used several times has one reason."""
    assert only(check(of(fixed(2), "n.F", "n.F"), of(fixed(3), "n.F", "n.F"))).path == "a"


def test_records_that_hold_themselves_are_compared_once() -> None:
    """A recursive type is compared once, with a reason at its first place; its plan contains `Again`."""
    writer, reader = of(["null", "R"], "int"), of(["null", "R"], "string")
    assert only(check(writer, reader)).path == "b"
    assert check(writer, of(["null", "R"], "long")).compatible
    plan = resolve_plan(writer, of(["null", "R"], "long"))
    inner = plan.fields[0]
    assert isinstance(inner, FromField)
    assert isinstance(inner.plan, FromUnion)
    assert isinstance(inner.plan.branches[1], IntoUnion)
    assert inner.plan.branches[1].plan == Again("n.R", "n.R")


def test_reasons_point_into_both_files(tmp_path: Path) -> None:
    """Spans are those of the types in the `.avsc` files; for a field the writer lacks, of its record."""
    (tmp_path / "w.avsc").write_text('{"type": "record", "name": "R", "fields": [\n {"name": "a", "type": "long"}]}')
    (tmp_path / "r.avsc").write_text(
        '{"type": "record", "name": "R", "fields": [\n {"name": "a", "type": "int"},\n {"name": "b", "type": "int"}]}'
    )
    writer, reader = (
        load_contract(name, base_directory=tmp_path, declared=HERE).contract for name in ("w.avsc", "r.avsc")
    )
    assert writer is not None
    assert reader is not None
    first, second = check(writer, reader).errors
    assert first.writer_span == Span(str(tmp_path / "w.avsc"), 2, 24, 2, 30)
    assert first.reader_span == Span(str(tmp_path / "r.avsc"), 2, 24, 2, 29)
    assert second.writer_span is not None
    assert second.writer_span.line == 1
    assert second.reader_span == Span(str(tmp_path / "r.avsc"), 3, 11, 3, 14)


def test_records_from_ddl_match_records_of_any_name() -> None:
    """Records from DDL have no names, so they match records of any name."""
    inner = {"type": "record", "name": "n.S", "fields": [{"name": "b", "type": ["null", "long"]}]}
    named = load({"type": "record", "name": "n.R", "fields": [{"name": "a", "type": ["null", inner]}]})
    assert check(load("a struct<b: int>"), named).reasons == ()
    assert check(named, load("a struct<b: bigint>")).reasons == ()


def test_a_branch_of_the_equal_type_is_preferred_to_a_promotion() -> None:
    """[double, int] reads an int as int, and an equal full name is preferred to an equal short name."""
    plan = resolve_plan(of("int"), of(["double", "int"]))
    assert [getattr(one.plan, "branch", None) for one in plan.fields if isinstance(one, FromField)] == [1]
    plan = resolve_plan(of(fixed(2)), of([fixed(2, "m.F"), fixed(2)]))
    assert [getattr(one.plan, "branch", None) for one in plan.fields if isinstance(one, FromField)] == [1]


def test_a_plan_says_what_becomes_of_every_field() -> None:
    """Fields are in the reader's order, each from the writer's field, or from the default with its branch."""
    writer = of("int", {"type": "array", "items": choice("A", "B")}, fixed(2))
    fields: list[dict[str, Any]] = [
        {"name": "d", "type": ["null", "string"], "default": "x"},
        {"name": "z", "type": "long", "aliases": ["a"]},
        {"name": "b", "type": {"type": "array", "items": choice("B", default="B")}},
        {"name": "c", "type": fixed(2)},
    ]
    plan = resolve_plan(writer, load({"type": "record", "name": "R", "fields": fields}))
    default, promoted, items, taken = plan.fields
    assert default == FromDefault("d", plan.reader.fields[0].schema, "x", 1)
    assert isinstance(promoted, FromField)
    assert (promoted.name, promoted.source) == ("z", "a")
    assert isinstance(promoted.plan, Promote)
    assert isinstance(items, FromField)
    assert isinstance(items.plan, ReadArray)
    assert isinstance(items.plan.items, MapEnum)
    assert items.plan.items.symbols == {"A": "B", "B": "B"}
    assert not items.plan.items.same
    assert isinstance(taken, FromField)
    assert isinstance(taken.plan, Take)
    assert isinstance(taken.plan.writer, Fixed)
    assert isinstance(plan, ReadRecord)


def test_there_is_no_plan_for_an_incompatible_pair() -> None:
    """`resolve_plan` raises with the resolution."""
    with pytest.raises(IncompatibleError, match="a: the writer has `string`, the reader expects `int`") as caught:
        resolve_plan(of("string"), of("int"))
    assert not caught.value.resolution.compatible
