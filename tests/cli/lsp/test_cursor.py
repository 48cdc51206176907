"""What is written at a place of a blueprint that may be incomplete. `|` is the cursor."""

from __future__ import annotations

import pytest

from cli.lsp.cursor import Cursor, cursor_at, without_statement


@pytest.mark.parametrize(
    ("text", "cursor"),
    [
        ("|", Cursor("key", (), "")),
        ("blue|", Cursor("key", (), "blue")),
        ("blueprint { str|", Cursor("key", ("blueprint",), "str")),
        ("blueprint { streamlets { a = |", Cursor("value", ("blueprint", "streamlets", "a"), "")),
        ("blueprint { streamlets { a = my.Cl|", Cursor("value", ("blueprint", "streamlets", "a"), "my.Cl")),
        ('blueprint { streamlets { a = "my.Cl|', Cursor("value", ("blueprint", "streamlets", "a"), "my.Cl")),
        ("blueprint { streamlets { a { class = m.C, param|", Cursor("key", ("blueprint", "streamlets", "a"), "param")),
        (
            "blueprint { streamlets { a { parameters.li|mit = 3",
            Cursor("key", ("blueprint", "streamlets", "a", "parameters"), "li"),
        ),
        ("topics.t { producers = [a.out, b.|", Cursor("item", ("topics", "t", "producers"), "b.")),
        ("topics.t {\n producers = [\n  a.out\n  b|", Cursor("item", ("topics", "t", "producers"), "b")),
        ("a { b = [1, 2] }\nc { d|", Cursor("key", ("c",), "d")),
        ("a { b { c = 1 }, d|", Cursor("key", ("a",), "d")),
        ("a { b { c = 1 } } }\nd|", Cursor("key", (), "d")),
        ("flow.streamlets.a.retry.en|", Cursor("key", ("flow", "streamlets", "a", "retry"), "en")),
        ('flow.topics."a.b".chan|', Cursor("key", ("flow", "topics", "a.b"), "chan")),
        ("flow { trigger : |", Cursor("value", ("flow", "trigger"), "")),
        ("a = ${x.y}, b|", Cursor("key", (), "b")),
        ("a = [b] # c\nd|", Cursor("key", (), "d")),
        ('a = """x\n{ [ """\nb|', Cursor("key", (), "b")),
        ('{"blueprint": {"streamlets": {"a": {"cl|', Cursor("key", ("blueprint", "streamlets", "a"), "cl")),
        ("fl|ow { }", Cursor("key", (), "fl")),
        ("a | = 1", Cursor("key", (), "a")),
        ('a { b = "x, y|', Cursor("value", ("a", "b"), "y")),
    ],
)  # fmt: skip
def test_the_keys_to_the_cursor_are_read(text: str, cursor: Cursor) -> None:
    """Through open brackets, dotted and quoted keys, lists, strings and comments."""
    before, after = text.split("|")
    assert cursor_at(before + after, len(before)) == cursor


@pytest.mark.parametrize("text", ["# comm|ent", "a = 1 // |", "a { # b { |"])
def test_nothing_is_proposed_in_comments(text: str) -> None:
    """A comment has no keys."""
    assert cursor_at(text.replace("|", ""), text.index("|")) is None


@pytest.mark.parametrize(
    ("text", "remaining"),
    [
        ("|", ""),
        ("blue|", ""),
        ("a { b = |", "a { \n}"),
        ("a { b { c = 1\n  d|", "a { b { c = 1\n  \n}\n}"),
        ("a { b = 1, c.d| }\ne = 2", "a { b = 1, }\ne = 2"),
        ("a { b = x|\n}\ne = 2", "a { \n}\ne = 2"),
        ("a = [b, c|", "a = [b, \n]"),
        ("a { # {\n b|", "a { # {\n \n}"),
        ("a { b { |}", "a { b { }\n}"),
    ],
)
def test_the_rest_of_an_incomplete_text_is_complete(text: str, remaining: str) -> None:
    """What is being written is omitted, and open brackets are closed."""
    assert without_statement(text.replace("|", ""), text.index("|")) == remaining
