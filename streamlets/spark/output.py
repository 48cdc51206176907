"""The output of a process, passed on line by line or kept in a file of limited size, without secrets."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO, Any, cast

_LONGEST = 20 * 1024 * 1024
_KEPT = 3


def forward(stream: IO[bytes], take: Callable[[str], None]) -> None:
    """Pass on each line of a process's output, without its line end, until the process closes it.

    Arguments:
        take: takes a line. If it raises an `OSError` or `ValueError`, as for a closed terminal, the line is lost, so
            that the process never blocks.
    """
    with stream:
        for line in stream:
            with suppress(OSError, ValueError):
                take(line.decode("utf-8", errors="replace").rstrip("\r\n"))


def keep(stream: IO[bytes], file: Path, longest: int = _LONGEST, *, mask: Callable[[str], str] = str) -> None:
    """Keep a process's output in a file until the process closes it; lines are lost on a full disk.

    Arguments:
        file: the file. An existing one is renamed (`jvm.log` to `jvm.1.log`), also whenever it has `longest` bytes.
        mask: replaces secrets in a line.
    """
    out: IO[bytes] | None = None

    def begin() -> IO[bytes]:
        if file.exists():
            file.replace(file.with_suffix(f".1{file.suffix}"))
        return file.open("wb", buffering=0)

    def take(line: str) -> None:
        nonlocal out
        if out is not None and out.tell() >= longest:
            out.close()
            out = None
        out = out or begin()
        out.write(f"{mask(line)}\n".encode())

    with suppress(OSError):
        out = begin()
    try:
        forward(stream, take)
    finally:
        if out is not None:
            out.close()


def append(stream: IO[bytes], file: Path, *, mask: Callable[[str], str] = str) -> None:
    """Append a process's log to a file until the process closes it; lines are lost on a full disk.

    Arguments:
        file: the file. When it is full, it is renamed (`spark.log` to `spark.log.1`).
        mask: replaces secrets in a line.
    """
    handler = RotatingFileHandler(file, maxBytes=_LONGEST, backupCount=_KEPT, encoding="utf-8", delay=True)
    handler.handleError = lambda record: None  # type: ignore[method-assign]
    try:
        forward(
            stream, lambda line: handler.emit(logging.LogRecord("spark", logging.INFO, "", 0, mask(line), (), None))
        )
    finally:
        handler.close()


class MaskedStream:
    """A stream of text without secrets; everything but writing is delegated to the other stream.

    Arguments:
        stream: takes the text.
        mask: replaces secrets in what is written at once, such as an argument of `print`.
    """

    def __init__(self, stream: IO[str], mask: Callable[[str], str]) -> None:
        self._stream, self._mask = stream, mask

    def write(self, text: str) -> int:
        """Write a text without its secrets; return the length of the text."""
        self._stream.write(self._mask(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def masked_output(mask: Callable[[str], str]) -> Iterator[None]:
    """Have the code of this process print without secrets, also the code of authors.

    Arguments:
        mask: replaces secrets.
    """
    out, errors = (cast("IO[str]", MaskedStream(stream, mask)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(errors):
        yield
