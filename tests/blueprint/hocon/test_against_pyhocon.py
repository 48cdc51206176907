"""Our values are those of pyhocon for random documents; deliberate differences follow the specification.

Divergences, each with a test of its own below and kept out of the random documents:

* durations: pyhocon turns `5 minutes` into a `relativedelta`; the specification leaves units to the application.
* `True`: pyhocon ignores case; JSON's words are lower case.
* `012`: pyhocon reads 12; JSON has no leading zeros, so it is text. `.5`: the same.
* `a += 2`: pyhocon replaces the value unless the right side is a list; the specification appends one element.
* `[${?missing}, 1]`: pyhocon leaves a null; the specification adds no element.
* `x//c`: pyhocon begins comments only behind space; the specification bars `//` from unquoted text.
* `true x`: pyhocon writes Python's `True` and loses the space; the specification keeps what is written.
* `${n}` of a null: pyhocon drops the key, and in text the word (as a former edition of the specification said);
  the present one keeps null and writes `null`.
* `[""]`: pyhocon drops the empty text.
* `x${n}y` of a number: pyhocon writes Python's spelling (`300.0`); the specification keeps what is written (`3e2`).
* `{..}`, then a number, then `{..}` for one key: pyhocon raises; the specification drops what came before.
"""

from __future__ import annotations

import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyhocon import ConfigFactory

from blueprint.hocon import parse_text, plain, resolve
from tests.random_examples import examples

logging.getLogger("pyhocon").setLevel(logging.CRITICAL)


def ours(text: str) -> object:
    """Return our values; no finding is expected."""
    layer = parse_text(text, "text.conf")
    value, findings = resolve([layer], {})
    assert (layer.diagnostics, findings) == ((), ())
    return plain(value)


def theirs(text: str) -> object:
    """Return the values of pyhocon as plain dictionaries."""

    def bare(value: object) -> object:
        if isinstance(value, dict):
            return {key: bare(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [bare(item) for item in value]
        return None if type(value).__name__ == "NoneValue" else value

    return bare(ConfigFactory.parse_string(text).as_plain_ordered_dict())


# Words that are not a unit, number, boolean or null, and do not become one after another word.
WORDS = st.sampled_from(["alpha", "beta-2", "gamma_x", "v1.2", "a/b", "x.y.z", "half;", "é"])
NUMBERS = st.one_of(st.integers(-999, 999).map(str), st.sampled_from(["1.5", "-0.25", "3e2", "10.0"]))
QUOTED = st.text(st.sampled_from("abc #{}[]=:,$.äß"), min_size=1, max_size=8).map(lambda text: f'"{text}"')
KEYS = st.sampled_from(["a", "b", "c", "d-e", "f_1", '"q.r"', "a.b", "b.c.d"])
GAPS = st.sampled_from(["", " ", "  ", "\t"])


@st.composite
def lists(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    """Return a list, with commas or line ends, sometimes with one comma more."""
    items = draw(st.lists(values, max_size=4))
    separator = draw(st.sampled_from([",", ", ", "\n", " ,\n"]))
    return f"[{separator.join(items)}{draw(st.sampled_from(['', ','])) if items else ''}]"


@st.composite
def objects(draw: st.DrawFn, values: st.SearchStrategy[str], braces: bool = True) -> str:
    """Return an object's fields; every key at most once, so that merging is tested apart."""
    fields = []
    for key in draw(st.lists(KEYS, max_size=5, unique_by=lambda key: key.split(".")[0])):
        value = draw(values)
        signs = ["=", " = ", ": ", " : "] + ([" "] if value.startswith("{") else [])
        comment = draw(st.sampled_from(["", " # note", " // note {"]))
        fields.append(f"{draw(GAPS)}{key}{draw(st.sampled_from(signs))}{value}{comment}")
    inner = "\n".join(fields)
    return f"{{\n{inner}\n}}" if braces else inner


SIMPLE = st.one_of(WORDS, NUMBERS, QUOTED, st.sampled_from(["true", "false", "null"]))
TEXTS = st.lists(WORDS, min_size=2, max_size=3).map(" ".join)
VALUES = st.recursive(
    st.one_of(SIMPLE, TEXTS), lambda inner: st.one_of(lists(inner), objects(inner)), max_leaves=8
)  # fmt: skip


@settings(max_examples=examples(50), deadline=None)
@given(objects(VALUES, braces=False))
def test_documents_have_the_same_values(text: str) -> None:
    """Objects, lists, strings, numbers, separators and comments have the values that pyhocon reads."""
    assert ours(text) == theirs(text)


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(objects(st.one_of(WORDS, NUMBERS)), min_size=2, max_size=3))
def test_objects_merge_alike(objects: list[str]) -> None:
    """Objects of one key, set in turn, merge, whatever their keys."""
    text = "\n".join(f"top {text}" for text in objects)
    try:
        expected = theirs(text)
    except Exception:  # noqa: BLE001  # pyhocon fails where text and object take turns; see the divergences
        return
    assert ours(text) == expected


def _pythons(value: str) -> str:
    """Return a number as Python would spell it, other text as it is."""
    try:
        number = float(value)
    except ValueError:
        return value
    return str(int(value)) if value.lstrip("-").isdigit() else str(number)


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcd"), SIMPLE), min_size=1, max_size=4), st.data())
def test_substitutions_mean_the_same(fields: list[tuple[str, str]], data: st.DataObject) -> None:
    """A substitution keeps the type when alone, and is part of a string among words, wherever its target is."""
    nulls = {key for key, value in fields if value == "null"}
    targets = st.sampled_from(sorted({key for key, _ in fields} - nulls | {"w"}))
    lines = [f"{key} = {value}" for key, value in fields] + ["w = word"]
    for index in range(data.draw(st.integers(1, 3))):
        target = data.draw(targets)
        form = data.draw(st.sampled_from(["${%s}", "${?%s}", "x${%s}y", "[${%s}]", "{ in = ${%s} }", "${?none}x"]))
        respelt = any(value in ("true", "false") or value != _pythons(value) for key, value in fields if key == target)
        if respelt and form.startswith("x"):
            form = "${%s}"
        lines.append(f"r{index} = {form % target if '%' in form else form}")
    text = "\n".join(data.draw(st.permutations(lines)))
    assert ours(text) == theirs(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a = 5 minutes", "5 minutes"),
        ("a = True", "True"),
        ("a = 012", "012"),
        ("a = .5", ".5"),
        ("a = [1]\na += 2", [1, 2]),
        ("a = [${?missing}, 1]", [1]),
        ("a = x//c", "x"),
        ("a = true x", "true x"),
        ("n = null\na = ${n}x", "nullx"),
        ('a = [""]', [""]),
        ("a = {b=1}\na = 2\na = {c=3}", {"c": 3}),
    ],
)
def test_divergences_follow_the_specification(text: str, value: object) -> None:
    """Where pyhocon differs, our value is that of the specification, and pyhocon's is not."""
    assert ours(text)["a"] == value  # type: ignore[index]
    try:
        other = theirs(text)["a"]  # type: ignore[index]
    except Exception:  # noqa: BLE001  # that is its divergence
        return
    assert (other, type(other)) != (value, type(value))
