"""Strict JSON with places."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blueprint.diagnostics import Span
from blueprint.hocon import Origin, parse_json, plain

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)  # fmt: skip


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_reads_what_json_writes(value: object, ascii_only: bool, indent: int | None) -> None:
    """Every value is equal to what the standard library reads."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    result, findings = parse_json(text, "x.json")
    assert findings == ()
    assert result is not None
    assert plain(result) == json.loads(text)


@given(st.text(st.sampled_from('{}[]",:.0123456789eE+-truefalsn \\u\t\n'), max_size=12))
def test_accepts_what_json_accepts(text: str) -> None:
    """A text is rejected exactly when the standard library rejects it, except for duplicate keys."""

    def refuse(_: str) -> object:
        raise ValueError("no JSON")

    try:
        expected = json.loads(text, parse_constant=refuse)
    except ValueError:
        assert parse_json(text, "x.json")[0] is None
        return
    result, _ = parse_json(text, "x.json")
    assert result is not None
    assert plain(result) == expected


def test_values_and_keys_have_places() -> None:
    """Each value has its place and that of its key."""
    value, _ = parse_json('{\n  "key": [1, "é"]\n}', "x.json")
    assert value is not None
    assert value.fields["key"].origins == (  # type: ignore[union-attr]
        Origin(Span("x.json", 2, 10, 2, 18), Span("x.json", 2, 3, 2, 8)),
    )
    assert value.fields["key"].items[1].origins == (Origin(Span("x.json", 2, 14, 2, 17)),)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1), ("{", 1, 2), ('{"a" 1}', 1, 6), ("[1,\n]", 2, 1), ("[1] x", 1, 5), ("[01]", 1, 2), ("{a: 1}", 1, 2),
        ('["a\nb"]', 1, 2), ('["\\x"]', 1, 3), ("[NaN]", 1, 2), ("nul", 1, 1), ('"\\ud800"', 1, 1),
        ("# a\n1", 1, 1), ("[1.]", 1, 2), ("9" * 5000, 1, 1),
    ],
)  # fmt: skip
def test_faults_are_one_finding_with_a_place(text: str, line: int, column: int) -> None:
    """No value, and one finding at the first invalid character."""
    value, (finding,) = parse_json(text, "x.json")
    assert value is None
    assert finding.primary is not None
    assert (finding.primary.span.line, finding.primary.span.column) == (line, column)


def test_duplicate_keys_are_findings_and_the_last_wins() -> None:
    """Each repetition is reported, with the first place."""
    value, findings = parse_json('{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}', "x.json")
    assert value is not None
    assert plain(value) == {"a": 3, "b": {"c": 2}}
    assert [finding.code for finding in findings] == ["duplicate-key"] * 2
