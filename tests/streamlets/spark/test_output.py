"""The output of a process is passed on or kept, and the process is never blocked."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from streamlets.spark.output import append, forward, keep, masked_output


def test_lines_are_passed_on_after_one_that_failed() -> None:
    """A closed terminal loses the line, but not the following ones; at the end the stream is closed."""
    taken: list[str] = []

    def take(line: str) -> None:
        if line == "lost":
            raise BrokenPipeError
        taken.append(line)

    stream = io.BytesIO(b"first\r\nlost\nna\xffme\nlast")
    forward(stream, take)
    assert taken == ["first", "na\ufffdme", "last"]
    assert stream.closed


def test_a_long_file_of_output_is_replaced(tmp_path: Path) -> None:
    """One earlier file is kept, also that of an earlier process."""
    file, before = tmp_path / "jvm.log", tmp_path / "jvm.1.log"
    file.write_text("of the one before\n")
    keep(io.BytesIO(b"first\n"), file, 20)
    assert (file.read_text(), before.read_text()) == ("first\n", "of the one before\n")
    keep(io.BytesIO(b"".join(b"%03d\n" % n for n in range(100))), file, 20)
    assert (file.read_text().split(), before.read_text().split()) == (
        [f"{n:03}" for n in range(95, 100)],
        [f"{n:03}" for n in range(90, 95)],
    )


def test_output_is_read_on_where_it_cannot_be_kept(tmp_path: Path) -> None:
    """The process is not blocked by the disk; once the directory exists, the file is written."""
    file = tmp_path / "logs" / "jvm.log"

    def lines() -> bytes:
        file.parent.mkdir()
        return b"kept"

    stream = _Lines([lambda: b"lost\n", lines])
    keep(stream, file)
    assert file.read_text() == "kept\n"


def test_files_have_no_secrets(tmp_path: Path) -> None:
    """Neither the one that is replaced by each start, nor the one that all starts append to."""
    for _ in range(2):
        keep(io.BytesIO(b"key: open\n"), tmp_path / "jvm.log", mask=lambda line: line.replace("open", "***"))
        append(io.BytesIO(b"key: open\n"), tmp_path / "spark.log", mask=lambda line: line.replace("open", "***"))
    assert (tmp_path / "jvm.log").read_text() == "key: ***\n"
    assert (tmp_path / "spark.log").read_text() == "key: ***\n" * 2


def test_prints_have_no_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    """Those of this process, on both streams, until the block is left."""
    with masked_output(lambda text: text.replace("open", "***")):
        print("key:", "open")
        print("open", file=sys.stderr)
        sys.stdout.writelines(["open", " ", "open\n"])
        assert not sys.stdout.isatty()
    print("open")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("key: ***\n*** ***\nopen\n", "***\n")


class _Lines(io.BytesIO):
    """Lines that are created when they are read."""

    def __init__(self, made: list[Callable[[], bytes]]) -> None:
        super().__init__()
        self._made = made

    def __next__(self) -> bytes:
        if not self._made:
            raise StopIteration
        return self._made.pop(0)()
