"""Values have every place that set them: in characters, from 1, the end exclusive."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.diagnostics import Span
from blueprint.hocon import ListValue, ObjectValue, Origin, Value, parse_file, parse_text, resolve


def value(text: str, *path: str) -> Value:
    """Return the value at a path of a valid text."""
    layer = parse_text(text, "t")
    root, findings = resolve([layer], {"HOME": "/root"})
    assert (layer.diagnostics, findings) == ((), ())
    inner = root.get(*path)
    assert inner is not None
    return inner


def at(line: int, start: int, end: int, file: str = "t", end_line: int | None = None) -> Span:
    """Return a span on one line."""
    return Span(file, line, start, end_line or line, end)


@pytest.mark.parametrize(
    ("text", "span", "key"),
    [
        ("a = 12", at(1, 5, 7), at(1, 1, 2)),
        ("\n  a  :  one two  # note", at(2, 9, 16), at(2, 3, 4)),
        ('a = "x\\ty"', at(1, 5, 11), at(1, 1, 2)),
        ('a = """x\ny""" ', at(1, 5, 5, end_line=2), at(1, 1, 2)),
        ("a = [1,\n 2]", at(1, 5, 4, end_line=2), at(1, 1, 2)),
        ("a { b = 1 }", at(1, 3, 12), at(1, 1, 2)),
        ('"ä😀" = é, a = 1', at(1, 15, 16), at(1, 11, 12)),
        ("\ufeffa = 1", at(1, 5, 6), at(1, 1, 2)),
        ("x = 1\r\na = 2\r\n", at(2, 5, 6), at(2, 1, 2)),
        ("x = 1\x0c\u2028\na = 2", at(2, 5, 6), at(2, 1, 2)),
        ("a = one${HOME} two", at(1, 5, 19), at(1, 1, 2)),
    ],
)
def test_spans_of_values_and_keys(text: str, span: Span, key: Span) -> None:
    """A span excludes white space around a value; wide characters count one, only line feeds end lines."""
    assert value(text, "a").origins == (Origin(span, key),)


def test_keys_of_paths_have_their_own_places() -> None:
    """Each key of a path has its own place."""
    text = 'one."two.x".three = 1'
    assert value(text, "one").origins[-1].key == at(1, 1, 4)
    assert value(text, "one", "two.x").origins[-1].key == at(1, 5, 12)
    assert value(text, "one", "two.x", "three").origins == (Origin(at(1, 21, 22), at(1, 13, 18)),)


def test_list_items_have_places_and_no_keys() -> None:
    """Items of a list have a place, and no key."""
    items = value("a = [x, { k = y }]", "a")
    assert isinstance(items, ListValue)
    assert items.items[0].origins == (Origin(at(1, 6, 7)),)
    inner = items.items[1]
    assert isinstance(inner, ObjectValue)
    assert inner.fields["k"].origins == (Origin(at(1, 15, 16), at(1, 11, 12)),)


def test_every_place_that_set_a_value_is_kept_in_order() -> None:
    """Overridden places come first, whatever the type of their value; the last one is effective."""
    overridden = value("a = 1\na = [2]\na = x", "a")
    assert [origin.span.line for origin in overridden.origins] == [1, 2, 3]


def test_merged_objects_keep_the_places_of_all_parts() -> None:
    """An object has the places of all objects that it was merged from."""
    merged = value("a { x = 1 }\na.y = 2\na { z = 3 }", "a")
    assert [origin.key for origin in merged.origins] == [at(line, 1, 2) for line in (1, 2, 3)]


def test_substituted_values_have_the_place_of_the_substitution() -> None:
    """The place is that of the target, the key the one that was set, `via` the substitution."""
    substituted = value("b = 5\na = ${b}", "a")
    assert substituted.origins == (Origin(at(1, 5, 6), at(2, 1, 2), at(2, 5, 9)),)


def test_values_inside_a_substituted_object_have_the_place_of_the_substitution() -> None:
    """Values of the object have the place of the substitution; values set next to it do not."""
    text = "b { x = 1, y = 1 }\na = ${b} { y = 2 }"
    assert value(text, "a", "x").origins == (Origin(at(1, 9, 10), at(1, 5, 6), at(2, 5, 9)),)
    assert value(text, "a", "y").origins == (
        Origin(at(1, 16, 17), at(1, 12, 13), at(2, 5, 9)),
        Origin(at(2, 16, 17), at(2, 12, 13)),
    )


def test_the_place_of_a_variable_is_the_substitution() -> None:
    """An environment variable has the place of the substitution that refers to it."""
    variable = value("a = 1\na = ${?HOME}", "a")
    assert variable.origins == (Origin(at(1, 5, 6), at(1, 1, 2)), Origin(at(2, 5, 13), at(2, 1, 2), at(2, 5, 13)))


def test_included_values_have_places_in_their_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans name the included file, relative to the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.conf").write_text('a { include "sub/part.conf" }\na.x = 2')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "part.conf").write_text("x = 1")
    root, _ = resolve([parse_file(tmp_path / "main.conf")], {})
    included = root.get("a", "x")
    assert included is not None
    assert [origin.span for origin in included.origins] == [at(1, 5, 6, "sub/part.conf"), at(2, 7, 8, "main.conf")]
