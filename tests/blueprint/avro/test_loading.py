"""Loading schemas: from where, with which findings, at which places."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from blueprint.avro import Loaded, load_contract, parse_contract
from blueprint.avro.model import NO_DEFAULT, Array, Named, Primitive, Record, Union
from blueprint.diagnostics import Severity, Span
from blueprint.diagnostics.codes import CODES

HERE = Span("ports.py", 7, 5, 7, 30)


def load(source: object, folder: Path | str = "there-is-none") -> Loaded:
    """Load as a port at `HERE` would."""
    return load_contract(source, base_folder=folder, declared=HERE)


def record(*fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A record `n.R` of these fields."""
    return {"type": "record", "name": "n.R", "fields": list(fields), **more}


def of_type(kind: Any, **more: Any) -> dict[str, Any]:
    """A record whose one field `x` is of a type."""
    return record({"name": "x", "type": kind, **more})


def test_a_file_gives_every_part_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields and types of an `.avsc` know their file, line and columns; the file is named as the user would."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "R.avsc"
    path.write_text(
        '{"type": "record", "name": "R",\n "fields": [\n'
        '  {"name": "tags", "type": {"type": "array", "items": "string"}}]}'
    )
    contract = load("R.avsc", tmp_path).contract
    assert contract is not None
    assert contract.file == "R.avsc"
    field = contract.record.fields[0]
    assert field.span == Span("R.avsc", 3, 12, 3, 18)
    assert isinstance(field.schema, Array)
    assert field.schema.items.span == Span("R.avsc", 3, 55, 3, 63)


def test_text_data_and_paths_give_one_contract(tmp_path: Path) -> None:
    """JSON text, JSON data, a path as text and a `Path` with the same schema give equal contracts."""
    schema = of_type(["null", "long"], default=None, doc="how many", aliases=["y"])
    (tmp_path / "R.avsc").write_text(json.dumps(schema))
    sources: list[object] = [schema, json.dumps(schema), "R.avsc", Path("R.avsc"), tmp_path / "R.avsc"]
    contracts = [load(source, tmp_path).contract for source in sources]
    assert len({contract for contract in contracts if contract}) == 1
    assert None not in contracts


def test_names_are_found_in_files_beside_the_schema(tmp_path: Path) -> None:
    """A name that a schema does not define comes from `<full name>.avsc` in its folder, also through several files."""
    (tmp_path / "R.avsc").write_text(json.dumps(record({"name": "a", "type": "n.A"}, {"name": "b", "type": "n.B"})))
    a = {"type": "record", "name": "A", "namespace": "n", "fields": [{"name": "b", "type": ["null", "B"]}]}
    (tmp_path / "n.A.avsc").write_text(json.dumps(a))
    (tmp_path / "n.B.avsc").write_text(json.dumps({"type": "fixed", "name": "n.B", "size": 2}))
    loaded = load("R.avsc", tmp_path)
    assert loaded.problems == ()
    assert loaded.contract is not None
    assert set(loaded.contract.names) == {"n.R", "n.A", "n.B"}
    assert loaded.contract.record.fields[1].schema == Named("n.B")
    assert parse_contract(loaded.contract.json) == loaded.contract


def test_a_mistake_in_another_file_is_shown_there(tmp_path: Path) -> None:
    """What is wrong in a file that a name led to is a finding in that file."""
    (tmp_path / "R.avsc").write_text(json.dumps(of_type("n.A")))
    (tmp_path / "n.A.avsc").write_text('{"type": "record", "name": "n.A",\n "fields": [{"name": "z", "type": "lnog"}]}')
    (problem,) = load("R.avsc", tmp_path).problems
    assert problem.primary is not None
    assert (problem.code, problem.primary.span.file) == ("schema-unknown-type", str(tmp_path / "n.A.avsc"))
    assert problem.primary.span.line == 2
    assert problem.help == ("did you mean `long`?",)


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("n.A.avsc", '{"type": "fixed", "name": "n.B", "size": 2}', "schema-wrong-file"),
        ("n.A.avsc", "", "schema-unreadable"),
    ],
)
def test_a_file_that_does_not_define_its_name(tmp_path: Path, name: str, content: str, code: str) -> None:
    """A file called like a type must define it; the use is shown as well, and used twice it is told once."""
    (tmp_path / name).write_text(content)
    schema = record({"name": "a", "type": "A"}, {"name": "b", "type": "A"})
    (problem,) = load(schema, tmp_path).problems
    assert problem.code == code
    assert problem.secondary[-1].span == HERE


@pytest.mark.parametrize(
    ("make", "code", "says"),
    [
        (lambda path: None, "schema-not-found", "there is no schema file"),
        (lambda path: path.mkdir(), "schema-unreadable", "it is a folder"),
        (lambda path: path.write_text(" \n"), "schema-unreadable", "is empty"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00\x81"), "schema-unreadable", "no UTF-8"),
        (lambda path: path.write_text('"string"'), "schema-not-a-record", "none"),
    ],
)
def test_files_that_hold_no_schema(tmp_path: Path, make: Any, code: str, says: str) -> None:
    """A missing, empty or binary file, a folder, and a schema that is no record are one finding each."""
    make(tmp_path / "R.avsc")
    loaded = load("R.avsc", tmp_path)
    assert loaded.contract is None
    (problem,) = loaded.problems
    assert problem.code == code
    assert says in problem.headline
    assert problem.primary is not None


def test_a_missing_file_suggests_its_neighbour(tmp_path: Path) -> None:
    """A typo in a path names the file that is nearly called so."""
    (tmp_path / "SensorReading.avsc").write_text("{}")
    (problem,) = load("SensorRaeding.avsc", tmp_path).problems
    assert problem.help == (f"did you mean `{tmp_path / 'SensorReading.avsc'}`?",)


def test_a_file_that_is_no_json_points_at_the_place(tmp_path: Path) -> None:
    """A syntax error of a file stands at its line."""
    (tmp_path / "R.avsc").write_text('{"type": "record",\n "name" "R"}')
    loaded = load("R.avsc", tmp_path)
    assert loaded.contract is None
    assert [problem.primary.span.line for problem in loaded.problems if problem.primary] == [2]


MISTAKES: list[tuple[object, str, str]] = [
    (of_type("strnig"), "schema-unknown-type", "there is no type `strnig`"),
    (of_type("A" * 500), "schema-unknown-type", "there is no type"),
    ("A" * 5000 + ".avsc", "schema-unreadable", "cannot be read"),
    ("a\0.avsc", "schema-unreadable", "cannot be read"),
    (of_type("array"), "schema-unknown-type", "there is no type `array`"),
    (of_type(3), "schema-bad-type", "`3` is no Avro type"),
    (of_type({"type": "array"}), "schema-missing-attribute", "an array has no `items`"),
    (of_type({"type": "map"}), "schema-missing-attribute", "a map has no `values`"),
    (of_type({"items": "int"}), "schema-missing-attribute", "a schema has no `type`"),
    ({"type": "record", "fields": []}, "schema-missing-attribute", "the record has no `name`"),
    ({"type": "record", "name": "R"}, "schema-missing-attribute", "record `R` has no `fields`"),
    ({"type": "record", "name": "R", "fields": {}}, "schema-bad-attribute", "`fields` of record `R`"),
    (record({"name": "x"}), "schema-missing-attribute", "field `x` of record `n.R` has no `type`"),
    (record({"type": "int"}), "schema-missing-attribute", "a field of record `n.R` has no `name`"),
    (record("x"), "schema-bad-attribute", "a field of record `n.R` is no object"),  # type: ignore[arg-type]
    (record({"name": "my-x", "type": "int"}), "schema-bad-name", "`my-x` cannot name a field"),
    (of_type("int", aliases="y"), "schema-bad-attribute", "`aliases` of field `x` is no list"),
    (of_type("int", aliases=[1]), "schema-bad-attribute", "`aliases` of field `x` holds what is no string"),
    ({"type": "record", "name": "my R", "fields": []}, "schema-bad-name", "`my R` cannot name the record"),
    ({"type": "record", "name": "string", "fields": []}, "schema-bad-name", "Avro's own"),
    ({"type": "record", "name": "R", "namespace": "a b", "fields": []}, "schema-bad-name", "the namespace"),
    (record(aliases=["a-b"]), "schema-bad-name", "an alias of `n.R`"),
    (record({"name": "x", "type": "int"}, {"name": "x", "type": "int"}), "schema-duplicate-field", "`x` twice"),
    (
        record({"name": "x", "type": "int"}, {"name": "y", "type": "int", "aliases": ["x"]}),
        "schema-ambiguous-alias",
        "the name or alias `x` twice",
    ),
    (of_type({"type": "record", "name": "R", "fields": []}), "schema-duplicate-name", "`n.R` is defined twice"),
    (of_type({"type": "fixed", "name": "F"}), "schema-missing-attribute", "fixed `n.F` has no `size`"),
    (of_type({"type": "fixed", "name": "F", "size": -1}), "schema-bad-attribute", "the size of fixed `n.F`"),
    (of_type({"type": "enum", "name": "E"}), "schema-missing-attribute", "enum `n.E` has no `symbols`"),
    (of_type({"type": "enum", "name": "E", "symbols": ["a-b"]}), "schema-bad-name", "`a-b` cannot name a symbol"),
    (of_type({"type": "enum", "name": "E", "symbols": ["A", "A"]}), "schema-bad-attribute", "`A` twice"),
    (of_type({"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}), "schema-bad-default", "none of its"),
    (of_type([]), "schema-bad-union", "no branch"),
    (of_type(["int", "int"]), "schema-bad-union", "`int` twice"),
    (of_type([{"type": "int", "logicalType": "date"}, "int"]), "schema-bad-union", "`int` twice"),
    (of_type(["null", ["int"]]), "schema-bad-union", "directly in a union"),
    (of_type("int", default="1"), "schema-bad-default", '`"1"` is no `int`'),
    (of_type("int", default=True), "schema-bad-default", "`true` is no `int`"),
    (of_type("int", default=2**31), "schema-bad-default", "is beyond `int`"),
    (of_type("bytes", default="€"), "schema-bad-default", "code points 0 to 255"),
    (of_type({"type": "fixed", "name": "F", "size": 2}, default="a"), "schema-bad-default", "has not 2 bytes"),
    (of_type({"type": "array", "items": "int"}, default=[1, None]), "schema-bad-default", "`null` is no `int`"),
    (of_type({"type": "map", "values": "int"}, default=[]), "schema-bad-default", "is no object"),
    (of_type(["null", "int"], default="a"), "schema-bad-default", "a value of no branch"),
    (of_type({"type": "record", "name": "S", "fields": [{"name": "y", "type": "int"}]}, default={}),
     "schema-bad-default", "says nothing of `y`"),
    ({"a": {1: 2}}, "schema-no-schema", "the key 1"),
    ({"a": object}, "schema-no-schema", "of type `type`"),
    (int, "schema-no-schema", "no dataclass"),
    (3, "schema-no-schema", "`3` is no schema"),
    ('{"type": ', "schema-syntax", "no JSON"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "code", "says"), MISTAKES, ids=[f"{code}-{at}" for at, (_, code, _) in enumerate(MISTAKES)]
)
def test_one_mistake_gives_one_finding(source: object, code: str, says: str) -> None:
    """Each mistake is told once, with its own code, and leaves no contract."""
    loaded = load(source)
    assert [problem.code for problem in loaded.problems] == [code]
    assert says in loaded.problems[0].headline
    assert loaded.contract is None
    assert CODES[code].severity is Severity.ERROR


def test_every_mistake_is_found_in_one_pass() -> None:
    """Several mistakes in one schema are all told."""
    schema = record(
        {"name": "a", "type": "itn"}, {"name": "b", "type": "int", "default": "x"}, {"name": "b-", "type": []}
    )
    codes = {problem.code for problem in load(schema).problems}
    assert codes == {"schema-unknown-type", "schema-bad-default", "schema-bad-name", "schema-bad-union"}


def test_a_use_before_the_definition_says_where_that_is() -> None:
    """Avro wants a definition at the first use; the finding points at where it stands."""
    definition = {"type": "fixed", "name": "F", "size": 1}
    (problem,) = load(record({"name": "a", "type": "F"}, {"name": "b", "type": definition})).problems
    assert problem.code == "schema-unknown-type"
    assert problem.help == ("move the definition of `n.F` to its first use",)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ({"type": "int", "logicalType": "dtae"}, "did you mean `date`?"),
        ({"type": "string", "logicalType": "date"}, "it stands on `int`, not on `string`"),
        ({"type": "bytes", "logicalType": "decimal"}, "its `precision` must be"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}, "above its precision"),
        ({"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 5}, "2 bytes hold 4 digits"),
        ({"type": "fixed", "name": "F", "size": 2, "logicalType": "duration"}, "a fixed of 12 bytes, not 2"),
        ({"type": "int", "logicalType": 3}, "its name must be a string"),
    ],
)
def test_a_bogus_logical_type_is_ignored_with_a_warning(kind: Any, says: str) -> None:
    """As the specification wants, the underlying type is used; the author is told."""
    loaded = load(of_type(kind))
    (problem,) = loaded.problems
    assert (problem.code, problem.severity) == ("schema-logical-type-ignored", Severity.WARNING)
    assert says in problem.headline
    assert loaded.contract is not None
    schema = loaded.contract.record.fields[0].schema
    assert getattr(schema, "logical", "?") is None


def test_recursive_types_load_and_can_be_used_as_keys() -> None:
    """A record that holds itself loads; contracts are hashable, also with lists as defaults."""
    children = {"type": "array", "items": "R"}
    contract = load(of_type(children, default=[])).contract
    assert contract is not None
    assert contract.resolve(Named("n.R")) is contract.record
    assert len({contract, parse_contract(contract.json)}) == 1


def test_a_contract_survives_pickling() -> None:
    """Contracts go to other processes; a field without a default has none there either."""
    contract = load(
        record({"name": "x", "type": ["null", "long"]}, {"name": "y", "type": "int", "default": 1})
    ).contract
    again = pickle.loads(pickle.dumps(contract))
    assert again == contract
    assert again.record.fields[0].default is NO_DEFAULT
    assert not again.record.fields[0].has_default


def test_names_inherit_their_namespace() -> None:
    """A name without dots is of the namespace around it; an empty namespace leaves it; aliases follow the type."""
    inner = {"type": "fixed", "name": "F", "size": 1, "aliases": ["Old"]}
    plain = {"type": "record", "name": "P", "namespace": "", "fields": [{"name": "q", "type": "int"}]}
    contract = load(
        record({"name": "a", "type": inner}, {"name": "b", "type": plain}, {"name": "c", "type": "P"})
    ).contract
    assert contract is not None
    assert set(contract.names) == {"n.R", "n.F", "P"}
    assert contract.names["n.F"].aliases == ("n.Old",)
    assert parse_contract(contract.json) == contract


def test_a_type_may_be_wrapped() -> None:
    """`{"type": {"type": "array", ...}}` and `{"type": [...]}` mean what is inside."""
    contract = load(
        record({"name": "a", "type": {"type": {"type": "int"}}}, {"name": "b", "type": {"type": ["null", "int"]}})
    ).contract
    assert contract is not None
    assert [one.schema for one in contract.record.fields] == [
        Primitive("int"),
        Union((Primitive("null"), Primitive("int"))),
    ]
    assert isinstance(contract.record, Record)


def test_text_that_travelled_wrongly_is_refused() -> None:
    """`parse_contract` raises for text that is no record's schema."""
    with pytest.raises(ValueError, match="no type `x`"):
        parse_contract(json.dumps(of_type("x")))


@pytest.mark.parametrize("default", [["OPEN"], {"OPEN": 1}, "LOST", 5, True])
def test_the_default_of_an_enum_is_one_of_its_symbols(default: object) -> None:
    """Any other default is a finding, also one that is no text."""
    loaded = load(of_type({"type": "enum", "name": "State", "symbols": ["OPEN"], "default": default}))
    assert [problem.code for problem in loaded.problems] == ["schema-bad-default"]


@pytest.mark.parametrize("size", [-1, 2**31, 10**400, 1.0, True, "4", None, [4]])
def test_the_size_of_a_fixed_is_a_whole_number_that_bytes_can_have(size: object) -> None:
    """Any other size is a finding, also beside a logical type that counts digits."""
    fixed = {"type": "fixed", "name": "F", "size": size, "logicalType": "decimal", "precision": 4}
    assert [problem.code for problem in load(of_type(fixed)).problems] == ["schema-bad-attribute"]


@pytest.mark.parametrize("kind", ["float", "double"])
def test_a_whole_number_is_a_default_of_a_number_unless_no_number_is_that_large(kind: str) -> None:
    """A default that a reader could never take is refused."""
    assert load(of_type(kind, default=10**300)).contract is not None
    assert [problem.code for problem in load(of_type(kind, default=10**400)).problems] == ["schema-bad-default"]


def test_a_key_that_stands_twice_in_json_text_is_a_finding() -> None:
    """As in a file: no reader can know which of the two is meant."""
    loaded = load('{"type": "record", "name": "A", "name": "B", "fields": []}')
    assert [(problem.code, problem.headline) for problem in loaded.problems] == [
        ("duplicate-key", "the key `name` stands twice in one object of the schema")
    ]


@pytest.mark.parametrize("place", ["doc", "default"])
@pytest.mark.parametrize("as_text", [True, False])
def test_half_of_a_surrogate_pair_is_refused_wherever_it_stands(place: str, as_text: bool) -> None:
    """A schema travels with its records as UTF-8, which cannot say it."""
    schema = of_type("string", **{place: "\ud83d"})
    loaded = load(json.dumps(schema) if as_text else schema)
    assert [problem.code for problem in loaded.problems] == ["schema-no-schema"]
    assert loaded.problems[0].headline.encode()
    assert load(of_type("string", **{place: "\U0001f600"})).contract is not None


@pytest.mark.parametrize(("given", "shown"), [(None, "null"), (True, "true"), (1.5, "1.5")])
def test_what_is_no_type_is_shown_as_json_has_it(given: object, shown: str) -> None:
    """Python's spelling of a value says nothing to whoever wrote JSON."""
    assert load(json.dumps(of_type(given))).problems[0].headline == f"`{shown}` is no Avro type"
