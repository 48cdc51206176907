"""The output of a process is passed on or kept, and the process is never blocked."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

from streamlets.spark.output import forward, keep


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


class _Lines(io.BytesIO):
    """Lines that are created when they are read."""

    def __init__(self, made: list[Callable[[], bytes]]) -> None:
        super().__init__()
        self._made = made

    def __next__(self) -> bytes:
        if not self._made:
            raise StopIteration
        return self._made.pop(0)()
