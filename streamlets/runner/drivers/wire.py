"""`Wire`: messages between two processes of the same release and user; a message is a pickled object.

A wire is a pair of sockets that only these two processes have: neither output of the author's code nor a child process
can write to it, and one end is closed as soon as the process at the other end has exited.
"""

from __future__ import annotations

import pickle
import socket
import struct
import threading
from contextlib import suppress

# The start of each message, so that stray bytes on the wire are not taken for a length.
_MARK = b"\x9fflow"
_HEAD = struct.Struct(f">{len(_MARK)}sQ")
_MAX_LENGTH = 2**31


class BrokenWireError(Exception):
    """The received bytes are not a message, so that the following bytes cannot be read."""


class Wire:
    """One end of a wire.

    Arguments:
        end: a connected socket.
    """

    def __init__(self, end: socket.socket) -> None:
        end.set_inheritable(False)
        self._end = end
        self._sending = threading.Lock()

    @classmethod
    def of(cls, descriptor: int) -> Wire:
        """Return the end that a process was started with, from its file descriptor."""
        return cls(socket.socket(fileno=descriptor))

    def send(self, message: object) -> None:
        """Send a message, from any thread; waits until the other end reads.

        Raises:
            OSError: the other end is closed.
        """
        body = pickle.dumps(message)
        with self._sending:
            self._end.sendall(_HEAD.pack(_MARK, len(body)) + body)

    def receive(self) -> object | None:
        """Return the next message; None when the other end is closed.

        Raises:
            BrokenWireError: the received bytes are not a message.
        """
        head = self._read(_HEAD.size)
        if len(head) < _HEAD.size:
            return None
        mark, length = _HEAD.unpack(head)
        if mark != _MARK or length > _MAX_LENGTH:
            raise BrokenWireError(f"{head!r} is not the start of a message")
        body = self._read(length)
        if len(body) < length:
            return None  # the other process exited in the middle of a message
        try:
            return pickle.loads(body)  # type: ignore[no-any-return]
        except Exception as error:
            raise BrokenWireError(f"a message cannot be read: {error}") from error

    def end(self) -> None:
        """Receive no more: `receive` returns the messages that have arrived, then None.

        To be called when the other process has exited, as a process that it had forked may keep its end open.
        """
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RD)

    def close(self) -> None:
        """Close this end; a waiting `receive` returns None."""
        with suppress(OSError):  # the other end is closed already
            self._end.shutdown(socket.SHUT_RDWR)
        self._end.close()

    def _read(self, count: int) -> bytes:
        """Return so many bytes; fewer if the other end is closed before."""
        data = bytearray()
        try:
            while len(data) < count and (more := self._end.recv(min(count - len(data), 1 << 20))):
                data += more
        except OSError:
            return b""  # closed while it had unread data
        return bytes(data)
