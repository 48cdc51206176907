"""Syntax errors: all errors of a text in one pass, one finding each, and the valid rest is read."""

from __future__ import annotations

import pytest

from blueprint.hocon import parse_text, plain, resolve


def read(text: str) -> tuple[object, list[tuple[int, int]]]:
    """Return the values that could be read, and the places of the findings."""
    layer = parse_text(text, "t")
    value, findings = resolve([layer], {})
    assert findings == ()
    return plain(value), [
        (finding.primary.span.line, finding.primary.span.column) for finding in layer.diagnostics if finding.primary
    ]


@pytest.mark.parametrize(
    ("text", "values", "places"),
    [
        ("a\nb = 1", {"b": 1}, [(1, 1)]),
        ("a =\nb = 1", {"b": 1}, [(1, 1)]),
        ("a = , b = 1", {"b": 1}, [(1, 1)]),
        ("x { a = }\nb = 1", {"x": {}, "b": 1}, [(1, 5)]),
        ("a = h:1, b = 1", {"b": 1}, [(1, 6)]),
        ("a = x = y\nb = 1", {"b": 1}, [(1, 7)]),
        ("a = *\nb = 1", {"b": 1}, [(1, 5)]),
        ('a = "x\nb = 1', {"b": 1}, [(1, 5)]),
        ('a = "\\q", b = 1', {"b": 1}, [(1, 6)]),
        ("a = ${b\nb = 1", {"b": 1}, [(1, 5)]),
        ("a = ${}, b = 1", {"b": 1}, [(1, 5)]),
        ("a = ${ ?b}, b = 1", {"b": 1}, [(1, 5)]),
        ("a = $b, b = 1", {"b": 1}, [(1, 5)]),
        ("a = [1, *, 3]\nb = 1", {"a": [1, 3], "b": 1}, [(1, 9)]),
        ("a b\nb = 1", {"b": 1}, [(1, 1)]),
        ("@a = 2\nb = 1", {"b": 1}, [(1, 1)]),
        ('a = "x" b = 1', {"a": None}, [(1, 11)]),
        ("t { c = [[[[a.b] }", {"t": {"c": [[[["a.b"]]]]}}, [(1, 18)]),
        ("a = [ 10e+3e ]\nb = 10e+3", {"a": [], "b": 10000.0}, [(1, 10)]),
        ("a = 1e+2.5, b = 1e+2-3, c = 1e+2x", {"c": "1e+2x"}, [(1, 7), (1, 19)]),
        ("x { a = ] , c = 2 }\nb = 1", {"b": 1}, None),
        ("a..b = 2\nb = 1", {"b": 1}, [(1, 3)]),
        ("x { y { a = * } }\nb = 1", {"x": {"y": {}}, "b": 1}, [(1, 13)]),
        ("include\nb = 1", {"b": 1}, [(1, 1)]),
        ("a = 1 }\nb = 1", {"a": 1, "b": 1}, [(1, 7)]),
        ("a = [1\nb = 1", None, [(1, 5)]),
        ("x { a = [1 }\nb = 1", {"x": {"a": [1]}, "b": 1}, [(1, 12)]),
    ],
)  # fmt: skip
def test_one_error_is_one_finding_and_the_rest_is_read(
    text: str, values: object, places: list[tuple[int, int]] | None
) -> None:
    """The finding is at the fault, and keys after it keep their values."""
    read_values, at = read(text)
    if places is not None:
        assert at == places
    if values is not None and values != {"a": None}:
        assert {key: value for key, value in read_values.items() if key in values} == values  # type: ignore[attr-defined, operator]


def test_all_errors_of_a_text_are_reported() -> None:
    """Reading continues after each error."""
    _, places = read('a = *\nb = 1\nc\nd = [1,,2]\ne = "x\nf = 2 }')
    assert [line for line, _ in places] == [1, 3, 4, 5, 6]


def test_indentation_shows_a_missing_brace() -> None:
    """The finding is at the bracket that the layout shows to be unclosed."""
    assert read("a {\n  b {\n    c = 1\n  d {\n  }\n}\n")[1] == [(2, 5)]


def test_fix_puts_a_value_in_quotes() -> None:
    """A value with a character that must be quoted has a fix that quotes it."""
    for text in (
        "servers = host:9092\n",
        "servers = host:9092 # x",
        "a = 1, servers = host:9092, b = 2",
        "a { servers = host:9092 }",
    ):
        (finding,) = parse_text(text, "t").diagnostics
        assert finding.fix is not None, text
        (edit,) = finding.fix.edits
        begin = text.index("host") + 1
        assert (edit.span.column, edit.span.end_column, edit.replacement) == (begin, begin + 9, '"host:9092"')


def test_the_number_of_findings_is_limited() -> None:
    """The findings of a text in a different language do not fill the screen."""
    assert len(parse_text("*\n" * 1000, "t").diagnostics) == 30
