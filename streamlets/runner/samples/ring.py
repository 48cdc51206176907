"""`Ring`: lines in numbered files, of which the oldest is deleted when a new one is begun."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Resolution:
    """How often samples are taken, and how many are kept.

    Arguments:
        name: the first part of the names of the files.
        interval: seconds between two samples.
        lines: the lines of a file.
        files: the number of files, of which the last is not full.
    """

    name: str
    interval: float
    lines: int
    files: int

    @property
    def most(self) -> int:
        """The most lines that are kept."""
        return self.lines * self.files

    @property
    def least_seconds(self) -> float:
        """The time that the kept lines cover at least, once so much has passed."""
        return self.interval * self.lines * (self.files - 1)


FINE = Resolution("fine", interval=5.0, lines=120, files=7)
"""A sample in 5 seconds, over the last hour."""

COARSE = Resolution("coarse", interval=60.0, lines=240, files=7)
"""A sample in a minute, over the last day."""

RESOLUTIONS = (FINE, COARSE)


class Ring:
    """The files of one resolution. Each line is written by itself, so that a run that is killed loses none.

    Arguments:
        directory: is created with the first line.
        resolution: how many lines are kept.
    """

    def __init__(self, directory: Path, resolution: Resolution) -> None:
        self._directory = directory
        self._resolution = resolution
        self._last: tuple[int, int] | None = None  # the number of the last file, and of its lines

    def append(self, line: str) -> None:
        """Append a line, which ends with a line feed.

        Raises:
            OSError: it cannot be written.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        last, lines = self._last or self._found()
        if lines >= self._resolution.lines:
            last, lines = last + 1, 0
            for number in self._numbers()[: -self._resolution.files + 1]:
                with suppress(OSError):
                    self._file(number).unlink()
        with self._file(last).open("ab+") as file:
            if size := file.tell():
                file.seek(size - 1)
            file.write((b"\n" if size and file.read(1) != b"\n" else b"") + line.encode())
        self._last = last, lines + 1

    def _found(self) -> tuple[int, int]:
        """Return the number of the last file of earlier runs, and of its lines."""
        last = max(self._numbers(), default=0)
        return last, self._text(last).count("\n")

    def lines(self) -> Iterator[str]:
        """Yield the lines from the oldest; files that cannot be read have none."""
        for number in self._numbers():
            yield from self._text(number).splitlines()

    def _numbers(self) -> list[int]:
        pattern = re.compile(rf"{self._resolution.name}-(\d{{1,12}})\.jsonl")
        try:
            names = [path.name for path in self._directory.iterdir()]
        except OSError:
            return []
        return sorted(int(match[1]) for name in names if (match := pattern.fullmatch(name)))

    def _file(self, number: int) -> Path:
        return self._directory / f"{self._resolution.name}-{number}.jsonl"

    def _text(self, number: int) -> str:
        with suppress(OSError):
            return self._file(number).read_text(encoding="utf-8", errors="replace")
        return ""
