"""Decoding of files so that no byte is lost: one that is not in the encoding becomes a lone surrogate, which no valid
text has."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

UNDECODABLE = "streamlets.undecodable"
"""The name of the error handler that makes a lone surrogate of each byte that is not in the encoding."""

_MARK = "\ufeff"
_CHUNK = 64 * 1024


def _as_surrogates(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(0xDC00 + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error(UNDECODABLE, _as_surrogates)


def is_utf_8(encoding: str) -> bool:
    """Return whether an encoding is UTF-8, with or without a byte order mark."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


def shown_encoding(encoding: str) -> str:
    """Return the name of an encoding for messages."""
    return "UTF-8" if is_utf_8(encoding) else encoding


def text_of(line: bytes, *, first: bool) -> str:
    """Return a line of a file in UTF-8 as text, in which bytes that are not are lone surrogates.

    Arguments:
        line: the line.
        first: whether it is the first one, whose byte order mark is removed.
    """
    try:
        text = line.decode("utf-8", "surrogatepass")  # as `in_utf_8` has them
    except UnicodeDecodeError:
        text = line.decode("utf-8", UNDECODABLE)
    return text.removeprefix(_MARK) if first else text


def without_mark(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a file without its byte order mark."""
    for number, line in enumerate(lines):
        yield line if number else line.removeprefix(_MARK)


def in_utf_8(file: IO[bytes], encoding: str) -> IO[bytes]:
    """Return the content of a file in UTF-8; `text_of` decodes its lines.

    Arguments:
        file: the file.
        encoding: its encoding.
    """
    return cast("IO[bytes]", io.BufferedReader(_Recoded(file, encoding)))


class _Recoded(io.RawIOBase):
    """A file in UTF-8 that is stored in another encoding."""

    def __init__(self, file: IO[bytes], encoding: str) -> None:
        self._file, self._left, self._ended = file, b"", False
        self._decoder = codecs.getincrementaldecoder(encoding)(UNDECODABLE)

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read the next bytes, and return their number."""
        while not self._left and not self._ended:
            chunk = self._file.read(_CHUNK)
            self._ended = not chunk
            self._left = self._decoder.decode(chunk, self._ended).encode("utf-8", "surrogatepass")
        view = memoryview(buffer).cast("B")
        count = min(len(view), len(self._left))
        view[:count], self._left = self._left[:count], self._left[count:]
        return count
