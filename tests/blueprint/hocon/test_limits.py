"""Texts that would exhaust a careless reader: one finding after little time, and no exception."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprint.hocon import parse_json, parse_text, resolve
from blueprint.hocon.source import Source
from blueprint.hocon.values import plain
from blueprint.hocon.yaml import parse_yaml
from tests.random_examples import examples


def codes(text: str) -> list[str]:
    """Return the codes of all findings of a text."""
    layer = parse_text(text, "t")
    return [finding.code for finding in (*layer.diagnostics, *resolve([layer], {})[1])]


@pytest.mark.parametrize("text", ["{" * 10_000_000, "[" * 10_000_000, '{"a":' * 2_000_000])
def test_json_of_braces(text: str) -> None:
    """10 MB of braces are not a value, and one finding."""
    value, findings = parse_json(text, "t")
    assert value is None
    assert len(findings) == 1


@pytest.mark.parametrize("text", ["{" * 300_000, "a{" * 500_000, "a=[" * 300_000, "{}" * 500_000, "a." * 500_000,
                                  "a " * 500_000, '"' * 1_000_001, '"""' + "x" * 1_000_000])  # fmt: skip
def test_hocon_of_braces(text: str) -> None:
    """Repeated beginnings are one finding."""
    assert len(codes(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "b " * 30_000 + "^",
        "a = " + "b/" * 100_000 + "^",
        "a = " + "b" * 200_000 + "^",
        "a = " + " b/c" * 20_000 + "$",
        "a = " + "1" * 100_000 + "." + "1" * 100_000 + "e+",
        "a." * 100_000 + "^",
        "a" * 200_000 + " ^",
        'a = "' + '\\"' * 100_000,
        'a = ["' + "\\" * 100_001 + "\n",
        "include required(" + "# " * 100_000,
        "include required(file(" + "\n# // " * 50_000,
        "include required(" + " \n" * 100_000 + "x = 1",
    ],
    ids=lambda text: text[:24],
)
def test_near_misses_of_long_words_take_linear_time(text: str) -> None:
    """Expressions of the lexer that match a long beginning and then fail do not backtrack."""
    assert 1 <= len(codes(text)) <= 3


@pytest.mark.parametrize("text", ["[" * 1_000_000, "{" * 1_000_000, "a: " * 100_000, "- " * 1000])
def test_yaml_of_braces(text: str) -> None:
    """The same for YAML."""
    assert len(parse_yaml(Source("t", text)).diagnostics) == 1


def test_deep_paths_and_nesting_are_findings() -> None:
    """Keys of a path count as levels."""
    assert codes(".".join("a" * 60) + " = 1") == []
    assert codes(".".join("a" * 70) + " = 1") == ["too-deep"]
    assert codes("a = " + "[" * 60 + "]" * 60) == []
    assert codes("a = " + "[" * 70 + "]" * 70) == ["too-deep"]


def test_long_chains_of_substitutions_are_findings() -> None:
    """A chain of 40 is resolved; one of a thousand is a finding, not a stack overflow."""
    assert codes("\n".join(f"k{i} = ${{k{i + 1}}}" for i in range(40)) + "\nk40 = 1") == []
    assert set(codes("\n".join(f"k{i} = ${{k{i + 1}}}" for i in range(1000)) + "\nk1000 = 1")) == {"too-deep"}


@pytest.mark.parametrize(
    "text",
    [
        "\n".join([*(f"k{i} = [${{k{i + 1}}}, ${{k{i + 1}}}, ${{k{i + 1}}}]" for i in range(16)), "k16 = 1"]),
        "\n".join([*(f"o{i} = {{ l = ${{o{i + 1}}}, r = ${{o{i + 1}}} }}" for i in range(40)), "o40 = {}"]),
        "\n".join([*(f"k{i} = x${{k{i + 1}}}${{k{i + 1}}}" for i in range(40)), "k40 = 1"]),
        "a = [1]\n" + "a = ${a} ${a}\n" * 40,
        "\n".join(f"a{i} = ${{?a{i + 1}}} ${{?b{i + 1}}}\nb{i} = ${{?b{i + 1}}} ${{?a{i + 1}}}" for i in range(40)),
        "a = " + "x" * 900_000 + "\n" + "\n".join(f"b{i} = ${{a}}y" for i in range(2000)),
        "a = " + "x" * 900_000 + "\nb = " + "${a}" * 2000,
        "a += 1\n" * 3000 + "\n".join(f"b{i} = ${{a}}" for i in range(3000)),
        "a = 1\n" * 5000 + "\n".join(f"b{i} = ${{a}}" for i in range(5000)),
    ],
    ids=lambda text: text[:24],
)
def test_multiplying_substitutions_are_findings(text: str) -> None:
    """A few lines that expand to billions of values, or take as many steps, are a finding after bounded work."""
    layer = parse_text(text, "t")
    assert {finding.code for finding in resolve([layer], {})[1]} == {"too-large"}


@pytest.mark.parametrize("text", ["a = []\n" + "a += ${a}\n" * 40, "a = []\n" + "a += ${a}\na += 1\n" * 500])
def test_lists_that_contain_themselves_in_many_ways_are_findings(text: str) -> None:
    """The cycle is reported, and no further finding about the number of steps."""
    assert set(codes(text)) == {"substitution-cycle"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n".join(f"a += {i}" for i in range(2000)), list(range(2000))),
        ("a = [x]\n" + "a += y\n" * 331, ["x"] + ["y"] * 331),
        ("a = []\n" + "a = ${a} ${a}\n" * 40, []),
        ("a = {}\n" + "a = ${a} ${a}\n" * 40, {}),
        ('a = ""\n' + "a = ${a}${a}\n" * 40, ""),
        ("a = { x = 1 }\n" + "\n".join(f"a = ${{a}} {{ k{i} = {i} }}" for i in range(40)),
         {"x": 1} | {f"k{i}": i for i in range(40)}),
        ("a = { x = 0 }\n" + "\n".join(f"a = {{ x = {i} }} ${{a}}" for i in range(40)), {"x": 0}),
        ("a { x = ${b} }\n" * 300 + "b { y = ${c} }\n" * 300 + "c = 1", {"x": {"y": 1}}),
    ],
    ids=lambda text: str(text)[:24],
)  # fmt: skip
def test_small_results_take_little_work(text: str, expected: object) -> None:
    """The work depends on the size of the result, not on the number of repetitions, merges or appends."""
    value, findings = resolve([parse_text(text, "t")], {})
    assert findings == ()
    assert plain(value.fields["a"]) == expected


def test_multiplying_aliases_are_findings() -> None:
    """The same in YAML."""
    lines = ["k0: &k0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"k{i}: &k{i} [{', '.join([f'*k{i - 1}'] * 10)}]" for i in range(1, 10)]
    assert [finding.code for finding in parse_yaml(Source("t", "\n".join(lines))).diagnostics] == ["too-large"]


@settings(max_examples=examples(200), deadline=None)
@given(st.text(st.sampled_from('abc01.{}[],:=+"#/$?\\\n\t -*@`<>&!|%é\u2028include'), max_size=60))
def test_no_text_breaks_a_reader(text: str) -> None:
    """Every reader returns a value or a finding for any text, and all places are inside the text."""
    layer = parse_text(text, "t")
    yaml = parse_yaml(Source("t", text))
    _, json_findings = parse_json(text, "t")
    lines = text.removeprefix("\ufeff").split("\n")
    findings = (
        *layer.diagnostics,
        *resolve([layer], {})[1],
        *yaml.diagnostics,
        *resolve([yaml], {})[1],
        *json_findings,
    )
    for finding in findings:
        assert finding.primary is not None
        span = finding.primary.span
        assert 1 <= span.line <= span.end_line <= len(lines)
        assert 1 <= span.column <= len(lines[span.line - 1]) + 1
        assert 1 <= span.end_column <= len(lines[span.end_line - 1]) + 1
