"""Loading of schemas: sources, findings and their locations."""

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


def load(source: object, directory: Path | str = "there-is-none") -> Loaded:
    """Load a schema as for a port at `HERE`."""
    return load_contract(source, base_directory=directory, declared=HERE)


def record(*fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a record `n.R` with the given fields."""
    return {"type": "record", "name": "n.R", "fields": list(fields), **more}


def of_type(kind: Any, **more: Any) -> dict[str, Any]:
    """Return a record with a field `x` of a type."""
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
    """A name that a schema does not define comes from `<full name>.avsc` in its directory, also in several steps."""
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
    """An error in the file of a named type is a finding in that file."""
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
    """A file named after a type must define it; the finding shows the use, and two uses give one finding."""
    (tmp_path / name).write_text(content)
    schema = record({"name": "a", "type": "A"}, {"name": "b", "type": "A"})
    (problem,) = load(schema, tmp_path).problems
    assert problem.code == code
    assert problem.secondary[-1].span == HERE


@pytest.mark.parametrize(
    ("make", "code", "message"),
    [
        (lambda path: None, "schema-not-found", "does not exist"),
        (lambda path: path.mkdir(), "schema-unreadable", "it is a directory"),
        (lambda path: path.write_text(" \n"), "schema-unreadable", "is empty"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00\x81"), "schema-unreadable", "not valid UTF-8"),
        (lambda path: path.write_text('"string"'), "schema-not-a-record", "found `string`"),
    ],
)
def test_files_that_hold_no_schema(tmp_path: Path, make: Any, code: str, message: str) -> None:
    """A missing, empty or binary file, a directory, and a schema that is not a record are one finding each."""
    make(tmp_path / "R.avsc")
    loaded = load("R.avsc", tmp_path)
    assert loaded.contract is None
    (problem,) = loaded.problems
    assert problem.code == code
    assert message in problem.headline
    assert problem.primary is not None


def test_a_missing_file_suggests_its_neighbour(tmp_path: Path) -> None:
    """For a typo in a path, the finding suggests the file with the most similar name."""
    (tmp_path / "SensorReading.avsc").write_text("{}")
    (problem,) = load("SensorRaeding.avsc", tmp_path).problems
    assert problem.help == (f"did you mean `{tmp_path / 'SensorReading.avsc'}`?",)


def test_a_file_that_is_not_json_points_at_the_place(tmp_path: Path) -> None:
    """A syntax error in a file is reported at its line."""
    (tmp_path / "R.avsc").write_text('{"type": "record",\n "name" "R"}')
    loaded = load("R.avsc", tmp_path)
    assert loaded.contract is None
    assert [problem.primary.span.line for problem in loaded.problems if problem.primary] == [2]


MISTAKES: list[tuple[object, str, str]] = [
    (of_type("strnig"), "schema-unknown-type", "unknown type `strnig`"),
    (of_type("A" * 500), "schema-unknown-type", "unknown type"),
    ("A" * 5000 + ".avsc", "schema-unreadable", "cannot be read"),
    ("a\0.avsc", "schema-unreadable", "cannot be read"),
    (of_type("array"), "schema-unknown-type", "unknown type `array`"),
    (of_type(3), "schema-bad-type", "`3` is not an Avro type"),
    (of_type({"type": "array"}), "schema-missing-attribute", "an array has no `items`"),
    (of_type({"type": "map"}), "schema-missing-attribute", "a map has no `values`"),
    (of_type({"items": "int"}), "schema-missing-attribute", "a schema has no `type`"),
    ({"type": "record", "fields": []}, "schema-missing-attribute", "the record has no `name`"),
    ({"type": "record", "name": "R"}, "schema-missing-attribute", "record `R` has no `fields`"),
    ({"type": "record", "name": "R", "fields": {}}, "schema-bad-attribute", "`fields` of record `R`"),
    (record({"name": "x"}), "schema-missing-attribute", "field `x` of record `n.R` has no `type`"),
    (record({"type": "int"}), "schema-missing-attribute", "a field of record `n.R` has no `name`"),
    (record("x"), "schema-bad-attribute", "a field of record `n.R` must be an object"),  # type: ignore[arg-type]
    (record({"name": "my-x", "type": "int"}), "schema-bad-name", "`my-x` is not a valid name for a field"),
    (of_type("int", aliases="y"), "schema-bad-attribute", "`aliases` of field `x` must be a list"),
    (of_type("int", aliases=[1]), "schema-bad-attribute", "`aliases` of field `x` must contain only strings"),
    ({"type": "record", "name": "my R", "fields": []}, "schema-bad-name", "`my R` is not a valid name for the record"),
    ({"type": "record", "name": "string", "fields": []}, "schema-bad-name", "a built-in Avro type"),
    ({"type": "record", "name": "R", "namespace": "a b", "fields": []}, "schema-bad-name", "the namespace"),
    (record(aliases=["a-b"]), "schema-bad-name", "an alias of `n.R`"),
    (record({"name": "x", "type": "int"}, {"name": "x", "type": "int"}), "schema-duplicate-field", "duplicate field"),
    (
        record({"name": "x", "type": "int"}, {"name": "y", "type": "int", "aliases": ["x"]}),
        "schema-ambiguous-alias",
        "duplicate name or alias `x`",
    ),
    (of_type({"type": "record", "name": "R", "fields": []}), "schema-duplicate-name", "`n.R` is defined twice"),
    (of_type({"type": "fixed", "name": "F"}), "schema-missing-attribute", "fixed `n.F` has no `size`"),
    (of_type({"type": "fixed", "name": "F", "size": -1}), "schema-bad-attribute", "the size of fixed `n.F`"),
    (of_type({"type": "enum", "name": "E"}), "schema-missing-attribute", "enum `n.E` has no `symbols`"),
    (of_type({"type": "enum", "name": "E", "symbols": ["a-b"]}), "schema-bad-name", "`a-b` is not a valid name for"),
    (of_type({"type": "enum", "name": "E", "symbols": ["A", "A"]}), "schema-bad-attribute", "duplicate symbol `A`"),
    (of_type({"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}), "schema-bad-default", "not one of its"),
    (of_type([]), "schema-bad-union", "at least one branch"),
    (of_type(["int", "int"]), "schema-bad-union", "duplicate branch `int`"),
    (of_type([{"type": "int", "logicalType": "date"}, "int"]), "schema-bad-union", "duplicate branch `int`"),
    (of_type(["null", ["int"]]), "schema-bad-union", "directly contain another union"),
    (of_type("int", default="1"), "schema-bad-default", '`"1"` is not of type `int`'),
    (of_type("int", default=True), "schema-bad-default", "`true` is not of type `int`"),
    (of_type("int", default=2**31), "schema-bad-default", "is out of range for `int`"),
    (of_type("bytes", default="€"), "schema-bad-default", "code points 0 to 255"),
    (of_type({"type": "fixed", "name": "F", "size": 2}, default="a"), "schema-bad-default", "is not 2 bytes long"),
    (of_type({"type": "array", "items": "int"}, default=[1, None]), "schema-bad-default", "`null` is not of type"),
    (of_type({"type": "map", "values": "int"}, default=[]), "schema-bad-default", "is not an object"),
    (of_type(["null", "int"], default="a"), "schema-bad-default", "does not match any branch"),
    (of_type({"type": "record", "name": "S", "fields": [{"name": "y", "type": "int"}]}, default={}),
     "schema-bad-default", "has no value for `y`"),
    ({"a": {1: 2}}, "schema-no-schema", "the key 1"),
    ({"a": object}, "schema-no-schema", "of type `type`"),
    (int, "schema-no-schema", "the class `int` is not a schema"),
    (3, "schema-no-schema", "`3` is not a schema"),
    ('{"type": ', "schema-syntax", "invalid JSON"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "code", "says"), MISTAKES, ids=[f"{code}-{at}" for at, (_, code, _) in enumerate(MISTAKES)]
)
def test_one_mistake_gives_one_finding(source: object, code: str, says: str) -> None:
    """Each mistake is reported once, with its own code, and there is no contract."""
    loaded = load(source)
    assert [problem.code for problem in loaded.problems] == [code]
    assert says in loaded.problems[0].headline
    assert loaded.contract is None
    assert CODES[code].severity is Severity.ERROR


def test_every_mistake_is_found_in_one_pass() -> None:
    """Several mistakes in one schema are all reported."""
    schema = record(
        {"name": "a", "type": "itn"}, {"name": "b", "type": "int", "default": "x"}, {"name": "b-", "type": []}
    )
    codes = {problem.code for problem in load(schema).problems}
    assert codes == {"schema-unknown-type", "schema-bad-default", "schema-bad-name", "schema-bad-union"}


def test_a_use_before_the_definition_says_where_that_is() -> None:
    """Avro requires a definition at the first use; the finding points at the definition."""
    definition = {"type": "fixed", "name": "F", "size": 1}
    (problem,) = load(record({"name": "a", "type": "F"}, {"name": "b", "type": definition})).problems
    assert problem.code == "schema-unknown-type"
    assert problem.help == ("move the definition of `n.F` to its first use",)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ({"type": "int", "logicalType": "dtae"}, "did you mean `date`?"),
        ({"type": "string", "logicalType": "date"}, "it applies to `int`, not to `string`"),
        ({"type": "bytes", "logicalType": "decimal"}, "its `precision` must be"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}, "greater than its precision"),
        ({"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 5}, "2 bytes hold 4 digits"),
        ({"type": "fixed", "name": "F", "size": 2, "logicalType": "duration"}, "a fixed of 12 bytes, not 2"),
        ({"type": "int", "logicalType": 3}, "its name must be a string"),
    ],
)
def test_a_bogus_logical_type_is_ignored_with_a_warning(kind: Any, says: str) -> None:
    """As the specification requires, the underlying type is used; the author gets a warning."""
    loaded = load(of_type(kind))
    (problem,) = loaded.problems
    assert (problem.code, problem.severity) == ("schema-logical-type-ignored", Severity.WARNING)
    assert says in problem.headline
    assert loaded.contract is not None
    schema = loaded.contract.record.fields[0].schema
    assert getattr(schema, "logical", "?") is None


def test_recursive_types_load_and_can_be_used_as_keys() -> None:
    """A recursive record can be loaded; contracts are hashable, also with lists as defaults."""
    children = {"type": "array", "items": "R"}
    contract = load(of_type(children, default=[])).contract
    assert contract is not None
    assert contract.resolve(Named("n.R")) is contract.record
    assert len({contract, parse_contract(contract.json)}) == 1


def test_a_contract_survives_pickling() -> None:
    """Contracts are sent to other processes; a field without a default still has none there."""
    contract = load(
        record({"name": "x", "type": ["null", "long"]}, {"name": "y", "type": "int", "default": 1})
    ).contract
    again = pickle.loads(pickle.dumps(contract))
    assert again == contract
    assert again.record.fields[0].default is NO_DEFAULT
    assert not again.record.fields[0].has_default


def test_names_inherit_their_namespace() -> None:
    """A name without dots belongs to the enclosing namespace; an empty namespace ends it; aliases follow the type."""
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
    """`{"type": {"type": "array", ...}}` and `{"type": [...]}` are the inner type."""
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
    """`parse_contract` raises for text that is not a record schema."""
    with pytest.raises(ValueError, match="unknown type `x`"):
        parse_contract(json.dumps(of_type("x")))


@pytest.mark.parametrize("default", [["OPEN"], {"OPEN": 1}, "LOST", 5, True])
def test_the_default_of_an_enum_is_one_of_its_symbols(default: object) -> None:
    """Any other default is a finding, also one that is not a string."""
    loaded = load(of_type({"type": "enum", "name": "State", "symbols": ["OPEN"], "default": default}))
    assert [problem.code for problem in loaded.problems] == ["schema-bad-default"]


@pytest.mark.parametrize("size", [-1, 2**31, 10**400, 1.0, True, "4", None, [4]])
def test_the_size_of_a_fixed_is_a_whole_number_that_bytes_can_have(size: object) -> None:
    """Any other size is a finding, also with a logical type."""
    fixed = {"type": "fixed", "name": "F", "size": size, "logicalType": "decimal", "precision": 4}
    assert [problem.code for problem in load(of_type(fixed)).problems] == ["schema-bad-attribute"]


@pytest.mark.parametrize("kind", ["float", "double"])
def test_a_whole_number_is_a_default_of_a_number_unless_no_number_is_that_large(kind: str) -> None:
    """A default that no reader could use is a finding."""
    assert load(of_type(kind, default=10**300)).contract is not None
    assert [problem.code for problem in load(of_type(kind, default=10**400)).problems] == ["schema-bad-default"]


def test_a_duplicate_key_in_json_text_is_a_finding() -> None:
    """As in a file: it is not clear which of the two is meant."""
    loaded = load('{"type": "record", "name": "A", "name": "B", "fields": []}')
    assert [(problem.code, problem.headline) for problem in loaded.problems] == [
        ("duplicate-key", "duplicate key `name` in an object of the schema")
    ]


@pytest.mark.parametrize("place", ["doc", "default"])
@pytest.mark.parametrize("as_text", [True, False])
def test_an_unpaired_surrogate_is_rejected_everywhere(place: str, as_text: bool) -> None:
    """A schema is stored with its records as UTF-8, which cannot represent it."""
    schema = of_type("string", **{place: "\ud83d"})
    loaded = load(json.dumps(schema) if as_text else schema)
    assert [problem.code for problem in loaded.problems] == ["schema-no-schema"]
    assert loaded.problems[0].headline.encode()
    assert load(of_type("string", **{place: "\U0001f600"})).contract is not None


@pytest.mark.parametrize(("given", "shown"), [(None, "null"), (True, "true"), (1.5, "1.5")])
def test_an_invalid_type_is_shown_as_json(given: object, shown: str) -> None:
    """An author of JSON may not know how Python spells a value."""
    assert load(json.dumps(of_type(given))).problems[0].headline == f"`{shown}` is not an Avro type"
