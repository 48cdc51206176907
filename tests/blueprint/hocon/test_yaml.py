"""YAML gives the same tree as HOCON, with the same places."""

from __future__ import annotations

import pytest

from blueprint.diagnostics import Span
from blueprint.hocon import Origin, parse_text, plain, resolve
from blueprint.hocon.source import Source
from blueprint.hocon.yaml import parse_yaml


def read(text: str) -> object:
    """Return the values of a text without fault."""
    layer = parse_yaml(Source("t.yaml", text))
    value, findings = resolve([layer], {})
    assert (layer.diagnostics, findings) == ((), ())
    return plain(value)


def test_same_tree_as_hocon() -> None:
    """A blueprint is equal in both."""
    yaml = """
streamlets:
  average: {class: weather.Average, trigger.processing-time: 2 seconds}
topics:
  readings:
    producers: [sensors.out]   # note
    managed: no
    bootstrap.servers: "h:1"
"""
    hocon = """
streamlets { average { class = weather.Average, trigger.processing-time = 2 seconds } }
topics { readings { producers = [sensors.out], managed = no, bootstrap.servers = "h:1" } }
"""
    assert read(yaml) == plain(resolve([parse_text(hocon, "t")], {})[0])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-1.5", -1.5), ("1e3", 1000.0), ("true", True), ("False", False), ("null", None),
        ("~", None), ("", None),
        ("no", "no"), ("on", "on"), ("012", "012"), ("1:30", "1:30"), ("0x1F", "0x1F"), ("1_000", "1_000"),
        ("2024-01-01", "2024-01-01"), ("'5'", "5"), ('"a\\tb"', "a\tb"), ("!!str 5", "5"), ("${x}", "${x}"),
        ("a b", "a b"),
        ("|\n  x\n  y\n", "x\ny\n"), (">-\n  x\n  y\n", "x y"), ("[1, [2]]", [1, [2]]), ("{x: 1}", {"x": 1}),
    ],
)  # fmt: skip
def test_scalars_have_the_values_of_hocon(text: str, value: object) -> None:
    """JSON numbers, `true`, `false`, `null`; all else is a string, and `${...}` is not resolved."""
    assert read(f"a: {text}") == {"a": value}


def test_anchors_and_merge_keys() -> None:
    """A merge key adds what the mapping does not set itself; of several, the first wins."""
    text = "b: &b {x: 1, y: {p: 1}}\nc: &c {x: 9, z: 3}\na: {<<: [*b, *c], y: {q: 2}}\nd: *b"
    assert read(text) == {
        "b": {"x": 1, "y": {"p": 1}}, "c": {"x": 9, "z": 3}, "a": {"x": 1, "z": 3, "y": {"q": 2}},
        "d": {"x": 1, "y": {"p": 1}},
    }  # fmt: skip


def test_places_are_characters() -> None:
    """Spans count characters from 1, in block and in flow style, after wide characters."""
    layer = parse_yaml(Source("t.yaml", "é😀: {k: [x, yy]}\nb:\n  c: one two   # note\n"))
    value, _ = resolve([layer], {})
    inner = value.get("é😀", "k")
    assert inner is not None
    assert inner.origins == (Origin(Span("t.yaml", 1, 9, 1, 16), Span("t.yaml", 1, 6, 1, 7)),)
    leaf = value.get("b", "c")
    assert leaf is not None
    assert leaf.origins == (Origin(Span("t.yaml", 3, 6, 3, 13), Span("t.yaml", 3, 3, 3, 4)),)
    block = value.get("b")
    assert block is not None
    assert block.origins[0].span == Span("t.yaml", 3, 3, 3, 13)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("a: [1", "syntax", 1), ("a: 1\nb: c: d", "syntax", 2), ("- 1", "syntax", 1), ("a: 1\n---\nb: 1", "syntax", 2),
        ("a: !!python/object:os.system x", "syntax", 1), ("a: *x", "syntax", 1), ("a: &x [*x]", "syntax", 1),
        ("a: 1\nb: 2\na: 3", "duplicate-key", 3), ("? [1]\n: 2", "syntax", 1), ("a..b: 1", "syntax", 1),
        ("<<: 1", "syntax", 1),
    ],
)  # fmt: skip
def test_faults_are_one_finding(text: str, code: str, line: int) -> None:
    """Invalid YAML, tags, unknown aliases, several documents and duplicate keys."""
    (finding,) = parse_yaml(Source("t.yaml", text)).diagnostics
    assert finding.code == code
    assert finding.primary is not None
    assert finding.primary.span.line == line


def test_layers_of_both_formats_merge() -> None:
    """A YAML layer and a HOCON layer are one tree; substitutions see both."""
    value, findings = resolve([parse_yaml(Source("a.yaml", "a: {x: 1}")), parse_text("a.y = ${a.x}", "b.conf")], {})
    assert findings == ()
    assert plain(value) == {"a": {"x": 1, "y": 1}}
