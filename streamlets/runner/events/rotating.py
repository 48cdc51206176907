"""`RotatingFile`: a file of lines that does not grow beyond a size, and that stops nothing if it cannot be written."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path


class RotatingFile:
    """Lines in a file, and the ones before in further files. A full disk loses lines, never the run.

    Arguments:
        file: the file; it is created with the first line.
        size: the bytes after which a new file is begun.
        kept: the number of files that are kept beside it, as `<name>.1` and so on.
    """

    def __init__(self, file: Path, *, size: int, kept: int) -> None:
        self._handler = RotatingFileHandler(file, maxBytes=size, backupCount=kept, encoding="utf-8", delay=True)
        self._handler.handleError = lambda record: None  # type: ignore[method-assign]

    def write(self, text: str) -> None:
        """Append a text, and a line feed."""
        self._handler.handle(logging.LogRecord("events", logging.INFO, "", 0, text, (), None))

    def close(self) -> None:
        """Close the file."""
        self._handler.close()
