"""The output of a process, passed on line by line or kept in a file of limited size."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

_LONGEST = 20 * 1024 * 1024


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


def keep(stream: IO[bytes], file: Path, longest: int = _LONGEST) -> None:
    """Keep a process's output in a file until the process closes it; lines are lost on a full disk.

    Arguments:
        file: the file. An existing one is renamed (`jvm.log` to `jvm.1.log`), also whenever it has `longest` bytes.
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
        out.write(f"{line}\n".encode())

    with suppress(OSError):
        out = begin()
    try:
        forward(stream, take)
    finally:
        if out is not None:
            out.close()
