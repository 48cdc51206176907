"""What a process prints, handed on line by line."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import IO


def forward(stream: IO[bytes], take: Callable[[str], None]) -> None:
    """Hand on each line of a process's output, without its end, until the process closes it.

    Arguments:
        take: may fail, as a terminal does that is gone: the line is lost, and the process does not have to wait for
            somebody to read.
    """
    with stream:
        for line in stream:
            with suppress(OSError, ValueError):
                take(line.decode("utf-8", errors="replace").rstrip("\r\n"))
