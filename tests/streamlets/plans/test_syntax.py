"""Locations of parts of a call."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamlets.api.source_location import SourceLocation
from streamlets.plans import syntax

TEXT = '''\
def logic(df, me):
    wide = df.where(F.col("ärmel") > 1)
    rows = (
        wide
        .select("a", F.col("b.c"))
        .where("""
            a > 1 AND
            long_name < 2
        """)
    )
    return self.write(rows, {me.one: lambda part: part.one, me.two: other(rows)}, name="x", mode=*rest)
'''.replace("mode=*rest", "mode='y'")


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Create a file with the text."""
    path = tmp_path / "logic.py"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


def at(file: str, text: str, end: str = "") -> SourceLocation:
    """Return the location of a text, up to the end of another text."""
    start = TEXT.index(text)
    stop = TEXT.index(end, start) + len(end) if end else start + len(text)
    return SourceLocation(file, *_position(start), *_position(stop))


def _position(offset: int) -> tuple[int, int]:
    before = TEXT[:offset]
    return before.count("\n") + 1, len(before.rpartition("\n")[2].encode())


def test_an_argument_is_found_by_position_or_name(file: str) -> None:
    """A missing argument has no location."""
    call = at(file, "self.write(", "mode='y')")
    assert syntax.argument(call, 0, "df") == at(file, "rows, {me", "rows")
    assert syntax.argument(call, 5, "name") == at(file, '"x"')
    assert syntax.argument(call, 5, "trigger") is None


def test_an_entry_of_a_dict_is_found(file: str) -> None:
    """The key of the entry is an attribute."""
    call = at(file, "self.write(", "mode='y')")
    assert syntax.entry(call, 1, "outlets", "one") == at(file, "lambda part: part.one")
    assert syntax.entry(call, 1, "outlets", "three") is None


def test_a_name_in_the_call_has_precedence(file: str) -> None:
    """The name is a string, the last part of a string, or a word of SQL on another line; columns count bytes."""
    chain = at(file, "select(", '"""\n        )'.replace("\n        )", "") + ")")
    assert syntax.mention("c", at(file, 'select("a"', 'F.col("b.c"))')) == at(file, '"b.c"')
    assert syntax.mention("long_name", at(file, 'where("""', '""")')) == at(file, "long_name")
    assert syntax.mention("ärmel", chain) == at(file, '"ärmel"')


def test_a_name_outside_of_the_call_must_be_unique(file: str) -> None:
    """It is searched in the function; two occurrences are ambiguous."""
    call = at(file, "wide\n", "wide")
    assert syntax.mention("a", call) == at(file, '"a"')
    assert syntax.mention("one", call) is None
    assert syntax.mention("nowhere", call) is None


def test_without_the_name_the_location_is_the_whole_line(file: str) -> None:
    """White space at both ends is not part of it."""
    assert syntax.on_line("b.c", file, 5) == at(file, '"b.c"')
    assert syntax.on_line("", file, 4) == at(file, "wide\n", "wide")


def test_definitions_and_statements_are_found(file: str) -> None:
    """A definition has the location of its name."""
    assert syntax.definition(file, 1, "logic") == at(file, "logic")
    assert syntax.definition(file, 1, "other") is None
    assert syntax.statement(at(file, 'select("a"')) == at(file, "rows = (", ")\n    )")


def test_an_unreadable_file_has_no_locations(tmp_path: Path) -> None:
    """The file was deleted, or is not valid Python."""
    broken = tmp_path / "broken.py"
    broken.write_text("def (")
    for file in (str(broken), str(tmp_path / "deleted.py")):
        place = SourceLocation(file, 1, 0, 1, 4)
        assert syntax.argument(place, 0, "df") is None
        assert syntax.mention("def", place) is None
        assert syntax.statement(place) == place
