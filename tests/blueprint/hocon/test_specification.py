"""The rules of the HOCON specification, one by one, with our own examples."""

from __future__ import annotations

import pytest

from blueprint.hocon import parse_text, plain, resolve


def read(text: str, **environment: str) -> object:
    """Return the values of a valid text."""
    layer = parse_text(text, "text.conf")
    value, findings = resolve([layer], environment)
    assert [finding.headline for finding in (*layer.diagnostics, *findings)] == []
    return plain(value)


def faults(text: str) -> list[str]:
    """Return the codes of all findings of a text."""
    layer = parse_text(text, "text.conf")
    _, findings = resolve([layer], {})
    return [finding.code for finding in (*layer.diagnostics, *findings)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{ a = 1 }", {"a": 1}),
        ("a = 1 // b = 2\n# c = 3\nd : 4", {"a": 1, "d": 4}),
        ('a = "x // y # z"', {"a": "x // y # z"}),
        ("a { b = 1 }, c = { }", {"a": {"b": 1}, "c": {}}),
        ("a = [1, 2,\n3\n4,]", {"a": [1, 2, 3, 4]}),
        ("a =\n  1", {"a": 1}),
        ("a\n{ b = 1 }", {"a": {"b": 1}}),
        ("a = 1\n, b = 2", {"a": 1, "b": 2}),
        ("\ufeffa = 1\r\nb = 2\r\n", {"a": 1, "b": 2}),
        ("a\u00a0=\u20071", {"a": 1}),
        ("", {}),
    ],
)
def test_separators_and_space(text: str, value: object) -> None:
    """Commas or line ends separate; root braces are optional; comments and all kinds of white space are skipped."""
    assert read(text) == value


@pytest.mark.parametrize("text", ["a = [1,,2]", "a = [,1]", "a = 1,,b = 2", ",a = 1", "a = 1 }", "{ a = 1", "[1]"])
def test_stray_separators_and_brackets_are_findings(text: str) -> None:
    """Two commas in a row, a leading one, and unmatched brackets are one finding each."""
    assert faults(text) == ["syntax"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a = 10.0bar", "10.0bar"),
        ("a = truefoo", "truefoo"),
        ("a = bar10.0", "bar10.0"),
        ("a = one  two", "one  two"),
        ('a = one "two  three"', "one two  three"),
        ("a = 1e5", 100000.0),
        ("a = -7", -7),
        ("a = include", "include"),
        ("a = 2001:db8", None),
    ],
)
def test_unquoted_text(text: str, value: object) -> None:
    """Words on a line are one string with the space between them; a single number, boolean or null keeps its type."""
    if value is None:
        assert faults(text) == ["syntax"]
    else:
        assert read(text) == {"a": value}


def test_numbers_keep_their_spelling_in_text() -> None:
    """A number in a string is written as in the source."""
    assert read("n = 1e5, a = ${n} km") == {"n": 100000.0, "a": "1e5 km"}


def test_triple_quotes() -> None:
    """Nothing is special between triple quotes, line ends stay, and extra quotes at the end belong to the string."""
    assert read('a = """x\n  "y" \\n""""') == {"a": 'x\n  "y" \\n"'}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a.b.c = 1, a.b.d = 2", {"a": {"b": {"c": 1, "d": 2}}}),
        ('"a.b".c = 1', {"a.b": {"c": 1}}),
        ('a"b.c"d = 1', {"ab.cd": 1}),
        ("a b c = 1", {"a b c": 1}),
        ("3.14 = 1", {"3": {"14": 1}}),
        ("true = 1", {"true": 1}),
        ('a."".b = 1', {"a": {"": {"b": 1}}}),
        ("foo include = 1", {"foo include": 1}),
        ('"include" = 1', {"include": 1}),
        ("includes = 1, include.x = 2", {"includes": 1, "include": {"x": 2}}),
    ],
)
def test_paths_as_keys(text: str, value: object) -> None:
    """Dots outside quotes separate keys; inner space belongs to the key; numbers and words are strings."""
    assert read(text) == value


@pytest.mark.parametrize("text", ["a..b = 1", ".a = 1", "a. = 1", "${a} = 1", "include = 1", "include x"])
def test_broken_keys_are_findings(text: str) -> None:
    """Empty keys, substitutions as keys and a bare `include` are one finding each."""
    assert faults(text) == ["syntax"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a = {x=1}, a = {y=2}", {"x": 1, "y": 2}),
        ("a = {x=1}, a = null, a = {y=2}", {"y": 2}),
        ("a = {x=1} {y=2}", {"x": 1, "y": 2}),
        ("a = {x {p=1, q=1}}, a.x.p = 2", {"x": {"p": 2, "q": 1}}),
        ("a = [1] [2, 3]", [1, 2, 3]),
        ("a = [[1] [2]\n[3]]", [[1, 2], [3]]),
        ("a = [1 2\n3]", ["1 2", 3]),
    ],
)
def test_merging_and_joining(text: str, value: object) -> None:
    """Objects of a key merge, lists on one line concatenate; a value between two objects hides the first."""
    assert read(text) == {"a": value}


@pytest.mark.parametrize("text", ["a = [1] {x=1}", "a = x {y=1}", "a = [1] x", "b = [1], a = x${b}", "a = 1, a += 2"])
def test_types_do_not_mix(text: str) -> None:
    """Strings, lists and objects cannot be concatenated, and `+=` requires an earlier list."""
    assert faults(text) == ["concatenation"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a = ${b}, b = 1, b = 2", 2),
        ("a = ${?none}, b = 1", None),
        ("a = 1, a = ${?none}", 1),
        ("a = ${?none}${?nothing}", None),
        ("a = ${?none}x", "x"),
        ("a = [${?none}, 1]", [1]),
        ("a = [0] ${?none}", [0]),
        ("a = {x=1} ${?none}", {"x": 1}),
        ("b { c = 1 }, a = ${b.c}", 1),
        ('b { "c.d" = 1 }, a = ${b."c.d"}', 1),
        ("b { x = 1 }, a = ${b} { y = 2 }", {"x": 1, "y": 2}),
        ("b { x = 1 }, a = ${b}, b.x = 3", {"x": 3}),
        ('a = "${b}"', "${b}"),
        ("b = null, a = ${b}", None),
    ],
)
def test_substitutions(text: str, value: object) -> None:
    """They see the last value of their path, keep its type when alone, and vanish when optional and unset."""
    assert read(text).get("a") == value  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a = x, a = ${a}y", "xy"),
        ("a = ${?a}y", "y"),
        ("a = [1], a = ${a} [2]", [1, 2]),
        ("a { b { c = 1 } }\na = ${a.b}\na { b = 2 }", {"b": 2, "c": 1}),
        ("a { x = 1, y = ${a.x} }, a.x = 2", {"x": 2, "y": 2}),
        ("a = ${none}, a = 1", 1),
        ("a = ${a}, a = 1", 1),
        ("a = ${b}, b { x = 1, y = ${a.x} }", {"x": 1, "y": 1}),
        ("a += 1, a += { x = 2 }", [1, {"x": 2}]),
        ("b { l = [1] }, a = ${b} { l += 2 }", {"l": [1, 2]}),
        ("a = [{ l = [1], l += 2 }]", [{"l": [1, 2]}]),
    ],
)
def test_self_reference_looks_back(text: str, value: object) -> None:
    """A definition that refers to itself gets the older value; inside objects look-ups go forward."""
    assert read(text).get("a") == value  # type: ignore[attr-defined]


def test_mutually_referring_objects() -> None:
    """Objects may refer to keys of each other; each sees the last value."""
    text = "p { a = ${q.d}, b = 1 }\np.b = 3\nq { c = ${p.b}, d = 2 }\nq.d = 4"
    assert read(text) == {"p": {"a": 4, "b": 3}, "q": {"c": 3, "d": 4}}


def test_two_keys_that_refer_to_each_other_agree() -> None:
    """When older values break a cycle, all keys of the cycle have the same value."""
    value = read("a = 1\nb = 2\na = ${b}\nb = ${a}")
    assert value["a"] == value["b"]  # type: ignore[index]


@pytest.mark.parametrize(
    "text",
    ["a = ${a}", "a = ${b}, b = ${a}", "a = ${b}, b = ${c}, c = ${a}", "a { b = ${a} }", "a = [${a}]",
     "x = ${a}, a = ${b}, b = ${a}", "a = {x = ${b}}, b = {y = ${a}}"],
)  # fmt: skip
def test_cycles_are_one_finding(text: str) -> None:
    """A cycle is reported once, whichever key is resolved first."""
    assert faults(text) == ["substitution-cycle"]


def test_missing_value_is_one_finding() -> None:
    """Values that depend on a missing value are not reported again."""
    assert faults("a = ${none}, b = ${a}, c = [${b}], d = ${a}x") == ["unresolved-substitution"]


def test_the_environment_comes_last_and_gives_strings() -> None:
    """Variables replace unset values; a null in the text excludes them; empty ones count."""
    assert read("a = ${N}, E = null, b = ${?E}, c = ${EMPTY}", N="5", E="x", EMPTY="") == {
        "a": "5", "E": None, "b": None, "c": "",
    }  # fmt: skip


def test_numbered_keys_join_as_lists() -> None:
    """Where a list is required, an object whose keys are numbers is one, in their order."""
    assert read("b { 2 = z, 0 = x, note = n }, a = [w] ${b}")["a"] == ["w", "x", "z"]  # type: ignore[index]


def test_layers_win_before_substitution() -> None:
    """A substitution in an earlier layer sees the later layer's value; a self-reference sees the earlier one."""
    first = parse_text("rate = 1, a = ${rate}, path = [x]", "first.conf")
    second = parse_text("rate = 2, path = ${path} [y]", "second.conf")
    value, findings = resolve([first, second], {})
    assert findings == ()
    assert plain(value) == {"rate": 2, "a": 2, "path": ["x", "y"]}


def test_layers_can_be_resolved_again() -> None:
    """Resolving does not change layers."""
    layers = [parse_text("a { x = 1 }, l = [1]", "1"), parse_text("a { y = 2 }, l += 2", "2")]
    assert resolve(layers, {}) == resolve(layers, {})
    assert plain(resolve(layers[:1], {})[0]) == {"a": {"x": 1}, "l": [1]}
