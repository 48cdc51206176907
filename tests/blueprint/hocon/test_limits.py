"""Texts that would exhaust a careless reader: one finding, soon, and no exception."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprint.hocon import parse_json, parse_text, resolve
from blueprint.hocon.source import Source
from blueprint.hocon.yaml import parse_yaml


def codes(text: str) -> list[str]:
    """The codes of what is wrong with a text."""
    layer = parse_text(text, "t")
    return [each.code for each in (*layer.diagnostics, *resolve([layer], {})[1])]


@pytest.mark.parametrize("text", ["{" * 10_000_000, "[" * 10_000_000, '{"a":' * 2_000_000])
def test_json_of_braces(text: str) -> None:
    """10 MB of braces are no value and one finding."""
    value, findings = parse_json(text, "t")
    assert value is None
    assert len(findings) == 1


@pytest.mark.parametrize("text", ["{" * 300_000, "a{" * 500_000, "a=[" * 300_000, "{}" * 500_000, "a." * 500_000,
                                  "a " * 500_000, '"' * 1_000_001, '"""' + "x" * 1_000_000])  # fmt: skip
def test_hocon_of_braces(text: str) -> None:
    """Repeated beginnings are one finding."""
    assert len(codes(text)) == 1


@pytest.mark.parametrize("text", ["[" * 1_000_000, "{" * 1_000_000, "a: " * 100_000, "- " * 1000])
def test_yaml_of_braces(text: str) -> None:
    """The same for YAML."""
    assert len(parse_yaml(Source("t", text)).diagnostics) == 1


def test_deep_paths_and_nesting_are_refused() -> None:
    """Keys of a path count as levels."""
    assert codes(".".join("a" * 60) + " = 1") == []
    assert codes(".".join("a" * 70) + " = 1") == ["too-deep"]
    assert codes("a = " + "[" * 60 + "]" * 60) == []
    assert codes("a = " + "[" * 70 + "]" * 70) == ["too-deep"]


def test_long_chains_of_substitutions_are_refused() -> None:
    """A chain of 40 is followed; one of a thousand is a finding, not a full stack."""
    assert codes("\n".join(f"k{i} = ${{k{i + 1}}}" for i in range(40)) + "\nk40 = 1") == []
    assert set(codes("\n".join(f"k{i} = ${{k{i + 1}}}" for i in range(1000)) + "\nk1000 = 1")) == {"too-deep"}


@pytest.mark.parametrize("form", ["[{0}, {0}, {0}, {0}]", "{{ x = {0}, y = {0}, z = {0} }}", "x{0}{0}{0}{0}"])
def test_multiplying_substitutions_are_refused(form: str) -> None:
    """A few lines that stand for billions of values are a finding."""
    lines = [f"k{i} = " + form.format(f"${{k{i + 1}}}") for i in range(16)]
    assert set(codes("\n".join([*lines, "k16 = 1"]))) == {"too-large"}


def test_multiplying_aliases_are_refused() -> None:
    """The same in YAML."""
    lines = ["k0: &k0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"k{i}: &k{i} [{', '.join([f'*k{i - 1}'] * 10)}]" for i in range(1, 10)]
    assert [each.code for each in parse_yaml(Source("t", "\n".join(lines))).diagnostics] == ["too-large"]


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from('abc01.{}[],:=+"#/$?\\\n\t -*@`<>&!|%é\u2028include'), max_size=60))
def test_no_text_breaks_a_reader(text: str) -> None:
    """Whatever the text, every reader answers with a value or a finding, and all places lie inside the text."""
    layer = parse_text(text, "t")
    yaml = parse_yaml(Source("t", text))
    _, json_findings = parse_json(text, "t")
    lines = text.removeprefix("\ufeff").split("\n")
    found = (*layer.diagnostics, *resolve([layer], {})[1], *yaml.diagnostics, *resolve([yaml], {})[1], *json_findings)
    for each in found:
        assert each.primary is not None
        span = each.primary.span
        assert 1 <= span.line <= span.end_line <= len(lines)
        assert 1 <= span.column <= len(lines[span.line - 1]) + 1
        assert 1 <= span.end_column <= len(lines[span.end_line - 1]) + 1
