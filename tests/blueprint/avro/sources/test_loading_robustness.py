"""Any value given as a schema results in a contract or findings, never in an exception."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blueprint.avro import load_contract, parse_contract
from blueprint.avro.spark_problems import spark_problems
from blueprint.avro.spark_types import spark_ddl
from blueprint.diagnostics import Severity, Span
from tests.random_examples import examples

HERE = Span("ports.py", 7, 5, 7, 30)
EXAMPLES = settings(max_examples=examples(400), deadline=None, suppress_health_check=list(HealthCheck), database=None)

keys = st.sampled_from(
    [
        "type",
        "name",
        "namespace",
        "fields",
        "items",
        "values",
        "symbols",
        "size",
        "default",
        "aliases",
        "doc",
        "logicalType",
        "precision",
        "scale",
        "x",
    ]
)
words = st.sampled_from(
    [
        "record",
        "enum",
        "fixed",
        "array",
        "map",
        "null",
        "int",
        "long",
        "bytes",
        "string",
        "decimal",
        "date",
        "n.A",
        "A",
        "B",
        "x",
        "n.",
        ".A",
        "a-b",
        "",
    ]
)
plain = st.none() | st.booleans() | st.integers(-3, 40) | st.floats() | words
data = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6), max_leaves=40
)
named = st.fixed_dictionaries({"type": st.sampled_from(["record", "enum", "fixed"]), "name": words}, optional={
    "fields": st.lists(st.fixed_dictionaries({"name": words, "type": data}, optional={"default": data}), max_size=4),
    "symbols": data, "size": data, "aliases": data, "namespace": data, "logicalType": words})  # fmt: skip
ddl = st.lists(
    st.sampled_from(
        [
            "a",
            "b",
            "int",
            "string",
            "array",
            "map",
            "struct",
            "decimal",
            "not",
            "null",
            "comment",
            "'x'",
            "1",
            "39",
            "<",
            ">",
            "(",
            ")",
            ",",
            ":",
            "`",
            "\t",
        ]
    )
)


def check_outcome(source: Any) -> None:
    """Check that there is a complete contract without errors, or at least one error with a location."""
    loaded = load_contract(source, base_directory="there-is-none", declared=HERE)
    errors = [problem for problem in loaded.problems if problem.severity is Severity.ERROR]
    assert (loaded.contract is None) == bool(errors)
    assert all(problem.primary is not None for problem in loaded.problems)
    if loaded.contract is not None:
        assert parse_contract(loaded.contract.json) == loaded.contract
        if not spark_problems(loaded.contract):
            assert spark_ddl(loaded.contract) is not None


@EXAMPLES
@given(data | named)
def test_any_data(schema: Any) -> None:
    """JSON data of any shape, similar to Avro or not."""
    check_outcome(schema)


@EXAMPLES
@given(st.text() | ddl.map(" ".join))
def test_any_text(text: str) -> None:
    """Any text: paths, JSON and DDL, valid or not."""
    check_outcome(text)


@settings(EXAMPLES, max_examples=examples(150))
@given(st.binary(max_size=60) | named.map(lambda one: json.dumps(one).encode()))
def test_any_file(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """Any bytes in an `.avsc`."""
    path = tmp_path_factory.getbasetemp() / "any.avsc"
    path.write_bytes(content)
    check_outcome(path)


@pytest.mark.parametrize(
    "source",
    [
        '{"type":' * 50_000,
        "[" * 50_000 + "]" * 50_000,
        '{"type":"array","items":' * 20_000 + '"int"' + "}" * 20_000,
        "a " + "array<" * 20_000 + "int" + ">" * 20_000,
    ],
)
def test_nesting_without_end_is_one_finding(tmp_path: Path, source: str) -> None:
    """Extreme nesting is a finding, as text, as data and in a file."""
    check_outcome(source)
    (tmp_path / "deep.avsc").write_text(source)
    check_outcome(tmp_path / "deep.avsc")
    deep: Any = "int"
    for _ in range(20_000):
        deep = {"type": "array", "items": deep}
    check_outcome({"type": "record", "name": "R", "fields": [{"name": "x", "type": deep}]})
