"""`Wire`: whole messages between two processes. Both are of one release and one user, so a message is a pickled object.

It is a pair of sockets that only these two have: neither the author's code, which may print what it likes, nor anything
that a process starts writes to it, and it is closed for one as soon as the other is dead.
"""

from __future__ import annotations

import pickle
import socket
import struct
import threading
from contextlib import suppress

# Something that nothing else begins with, so that whatever strays onto the wire is not taken for a length.
_MARK = b"\x9fflow"
_HEAD = struct.Struct(f">{len(_MARK)}sQ")
_LONGEST = 2**31


class BrokenWireError(Exception):
    """What came is no message; nothing behind it can be trusted."""


class Wire:
    """One end.

    Arguments:
        end: a connected socket.
    """

    def __init__(self, end: socket.socket) -> None:
        end.set_inheritable(False)
        self._end = end
        self._sending = threading.Lock()

    @classmethod
    def of(cls, descriptor: int) -> Wire:
        """The end that a process was started with."""
        return cls(socket.socket(fileno=descriptor))

    def send(self, message: object) -> None:
        """Send a message as a whole, from any thread; waits as long as the other end does not read.

        Raises:
            OSError: nobody is there to receive it.
        """
        body = pickle.dumps(message)
        with self._sending:
            self._end.sendall(_HEAD.pack(_MARK, len(body)) + body)

    def receive(self) -> object | None:
        """The next message; None when the other end is closed.

        Raises:
            BrokenWireError: what came is no message.
        """
        head = self._read(_HEAD.size)
        if len(head) < _HEAD.size:
            return None
        mark, length = _HEAD.unpack(head)
        if mark != _MARK or length > _LONGEST:
            raise BrokenWireError(f"{head!r} begins no message")
        body = self._read(length)
        if len(body) < length:
            return None  # it died in the middle of a sentence
        try:
            return pickle.loads(body)  # type: ignore[no-any-return]
        except Exception as error:
            raise BrokenWireError(f"a message cannot be read: {error}") from error

    def end(self) -> None:
        """No more is to come: `receive` gives what has, then None. The other process is dead, but one that it had
        forked may hold its end open."""
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RD)

    def close(self) -> None:
        """Close this end; a `receive` that waits gets None."""
        with suppress(OSError):  # the other end is closed already
            self._end.shutdown(socket.SHUT_RDWR)
        self._end.close()

    def _read(self, count: int) -> bytes:
        """So many bytes; fewer when the other end is closed before."""
        found = bytearray()
        try:
            while len(found) < count and (more := self._end.recv(min(count - len(found), 1 << 20))):
                found += more
        except OSError:
            return b""  # closed while something of ours lay unread
        return bytes(found)
