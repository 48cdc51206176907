"""Bytes that are not in the encoding of their file, and text that UTF-8 cannot represent: never changed in silence, and
never in the way of other records."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamlets.contract.text import escaped, is_unicode
from streamlets.testkit import Testkit
from tests.streamlets.ingress.sources.bench import Bench

NAMED = "id long, name string"
LINES = "line string, n int"


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Testkit]:
    """Provide a kit."""
    with Testkit(directory=tmp_path / "kit") as created:
        yield created


def test_text() -> None:
    """A lone surrogate is escaped as Python and JSON write it; other text stays."""
    assert is_unicode("aä😀") and not is_unicode("a\udc8b")
    assert escaped("aä😀\\") == "aä😀\\" and escaped("a\udc8b") == "a\\udc8b"


@pytest.mark.parametrize(
    ("encoding", "broken", "named"),
    [
        ("utf-8", b"caf\xe9", "UTF-8"),
        ("utf8", b"\xed\xa0\x80", "UTF-8"),
        ("ascii", b"caf\xc3\xa9", "ascii"),
        ("shift_jis", b"caf\xff", "shift_jis"),
        ("utf-16-le", b"\x00\xd8a\x00", "utf-16-le"),
    ],
)
@pytest.mark.parametrize("source", ["csv", "json", "text"])
def test_bytes_that_are_not_in_the_encoding(
    kit: Testkit, tmp_path: Path, source: str, encoding: str, broken: bytes, named: str
) -> None:
    """The line is a dead letter; the others are records."""
    codec = encoding if encoding.startswith("utf-16") else "ascii"
    forms = {"csv": ("1,a\n2,", "\n3,c\n"), "text": ("1,a\n2,", "\n3,c\n"),
             "json": ('{"id":1,"name":"a"}\n{"id":2,"name":"', '"}\n{"id":3,"name":"c"}\n')}  # fmt: skip
    before, after = (part.encode(codec) for part in forms[source])
    more = {"line_column": "n"} if source == "text" else {"header": False} if source == "csv" else {}
    bench = Bench(kit, tmp_path / "data", source, LINES if source == "text" else NAMED, encoding=encoding, **more)
    bench.write("a", before + broken + after)
    assert [row.get("id", row.get("n")) for row in bench.read()] == [1, 3]
    ((_, reason),) = bench.letters()
    assert "line 2: " in reason and reason.endswith(f"is not valid {named}")


@pytest.mark.parametrize("source", ["json", "text"])
def test_lines_end_at_line_feeds_in_every_encoding(kit: Testkit, tmp_path: Path, source: str) -> None:
    """Other characters that Unicode counts as ends of lines are part of them, as they are in UTF-8."""
    bench = Bench(kit, tmp_path / "data", source, "line string", encoding="utf-16")
    content = "a\u2028b\x85c"
    bench.write("a", (content if source == "text" else f'{{"line": "{content}"}}').encode("utf-16"))
    assert bench.read() == [{"line": content}] and bench.letters() == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
@pytest.mark.parametrize(
    ("source", "text", "row"),
    [
        ("csv", "line\na\ufeff\n", {"line": "a\ufeff"}),
        ("json", '{"line": "a\ufeff"}\n', {"line": "a\ufeff"}),
        ("text", "a\ufeff\n", {"line": "a\ufeff"}),
    ],
)
def test_a_byte_order_mark_is_not_part_of_the_first_line(
    kit: Testkit, tmp_path: Path, source: str, text: str, row: dict[str, str], encoding: str
) -> None:
    """As some programs of Windows write it."""
    bench = Bench(kit, tmp_path / "data", source, "line string", encoding=encoding)
    bench.write("a", f"\ufeff{text}".encode(encoding))
    assert bench.read() == [row] and bench.letters() == []


def test_a_header_that_is_not_in_the_encoding(kit: Testkit, tmp_path: Path) -> None:
    """The file is a dead letter that can be stored, and the others are read."""
    bench = Bench(kit, tmp_path / "data", "csv", NAMED)
    bench.write("a.csv", "id,name\n2,u16\n".encode("utf-16"))
    bench.write("b.csv", "id,name\n1,good\n")
    bench.write("c.csv", b"id,name\x8b\n1,good\n")
    assert bench.read() == [{"id": 1, "name": "good"}]
    reasons = [reason for _, reason in bench.letters()]
    assert reasons == ["CodecError: the first line is not valid UTF-8: set the option `encoding`"] * 2


def test_a_name_that_is_not_utf_8(kit: Testkit, tmp_path: Path) -> None:
    """The file is read, as the others are, and messages escape its name."""
    bench = Bench(kit, tmp_path / "data", "csv", NAMED)
    bench.write("a.csv", "id,name\n1,a\n")
    name = os.fsdecode(b"bad\xff.csv")
    bench.write(name, "id,name\n2,b\nx,c\n")
    assert [row["id"] for row in bench.read()] == [1, 2]
    ((_, reason),) = bench.letters()
    assert reason.startswith(f"{bench.root}/bad\\udcff.csv, line 3: `id`")
    bench.source.restart()
    assert bench.read() == [], "it is known by its name"
    bench.write(name, "id,name\n3,b\n")
    assert [row["id"] for row in bench.read()] == [3]


def test_a_name_that_is_not_utf_8_in_a_column(kit: Testkit, tmp_path: Path) -> None:
    """No column can have it, so the file is a dead letter."""
    root = tmp_path / "data"
    bench = Bench(kit, root, "csv", f"{NAMED}, file string, day string", path=f"{root}/**/*.csv", file_column="file")
    for directory in ("day=1", os.fsdecode(b"day=\xff"), "day=%FF"):
        bench.write(f"{directory}/a.csv", "id,name\n1,a\n")
    assert [row["day"] for row in bench.read()] == ["1"]
    reasons = sorted(reason for _, reason in bench.letters())
    assert reasons == ["RecordError: `day`: is not valid UTF-8"] * 2
