"""From a call's place to the part of it that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamlets.api.declared import Declared
from streamlets.plans import pinpoint

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
    """A file with the text."""
    path = tmp_path / "logic.py"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


def at(file: str, text: str, end: str = "") -> Declared:
    """The place of a text, up to the end of another one."""
    start = TEXT.index(text)
    stop = TEXT.index(end, start) + len(end) if end else start + len(text)
    return Declared(file, *_position(start), *_position(stop))


def _position(offset: int) -> tuple[int, int]:
    before = TEXT[:offset]
    return before.count("\n") + 1, len(before.rpartition("\n")[2].encode())


def test_arguments_by_position_and_by_name(file: str) -> None:
    """The argument's place; None for one that is not given."""
    call = at(file, "self.write(", "mode='y')")
    assert pinpoint.argument(call, 0, "df") == at(file, "rows, {me", "rows")
    assert pinpoint.argument(call, 5, "name") == at(file, '"x"')
    assert pinpoint.argument(call, 5, "trigger") is None


def test_an_entry_of_a_dict(file: str) -> None:
    """The value under the key whose attribute is named."""
    call = at(file, "self.write(", "mode='y')")
    assert pinpoint.entry(call, 1, "outlets", "one") == at(file, "lambda part: part.one")
    assert pinpoint.entry(call, 1, "outlets", "three") is None


def test_a_name_in_the_call_comes_first(file: str) -> None:
    """As a text, as the last part of one, as a word of SQL on its own line; columns count bytes."""
    chain = at(file, "select(", '"""\n        )'.replace("\n        )", "") + ")")
    assert pinpoint.mention("c", at(file, 'select("a"', 'F.col("b.c"))')) == at(file, '"b.c"')
    assert pinpoint.mention("long_name", at(file, 'where("""', '""")')) == at(file, "long_name")
    assert pinpoint.mention("ärmel", chain) == at(file, '"ärmel"')


def test_a_name_elsewhere_must_be_the_only_one(file: str) -> None:
    """In the function around, two places are one too many, and none is none."""
    call = at(file, "wide\n", "wide")
    assert pinpoint.mention("a", call) == at(file, '"a"')
    assert pinpoint.mention("one", call) is None
    assert pinpoint.mention("nowhere", call) is None


def test_a_line_without_the_name_is_meant_whole(file: str) -> None:
    """From its first to its last character that is no blank."""
    assert pinpoint.on_line("b.c", file, 5) == at(file, '"b.c"')
    assert pinpoint.on_line("", file, 4) == at(file, "wide\n", "wide")


def test_definitions_and_statements(file: str) -> None:
    """The name in the `def`, and the statement around a place."""
    assert pinpoint.definition(file, 1, "logic") == at(file, "logic")
    assert pinpoint.definition(file, 1, "other") is None
    assert pinpoint.statement(at(file, 'select("a"')) == at(file, "rows = (", ")\n    )")


def test_a_file_that_is_gone_or_no_python_tells_nothing(tmp_path: Path) -> None:
    """The place stays what it was."""
    broken = tmp_path / "broken.py"
    broken.write_text("def (")
    for file in (str(broken), str(tmp_path / "gone.py")):
        place = Declared(file, 1, 0, 1, 4)
        assert pinpoint.argument(place, 0, "df") is None
        assert pinpoint.mention("def", place) is None
        assert pinpoint.statement(place) == place
