"""`Deliveries`: receives the transactions of a program on a loopback port, stages them on disk, commits them."""

from __future__ import annotations

import hmac
import json
import secrets
import shutil
import socket
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any, Self

from blueprint.plan import OutletPlan
from streamlets.channels.base import TopicDamagedError, TopicLostError, TopicWriteError, WriterFencedError
from streamlets.ingress.spouts.client import ADDRESS, CHUNK, LONGEST_MESSAGE, TOKEN, Stream
from streamlets.ingress.spouts.codecs import Row, RowsOf, open_codec
from streamlets.ingress.spouts.pulse import Pulse
from streamlets.ingress.spouts.writer import Committed, RefusedError, TransactionWriter
from streamlets.storage.crash import crash_point


class Deliveries:
    """A server for the program of one spout; each connection is a transaction. It is a context manager.

    Arguments:
        writer: appends the transactions.
        rows_of: the codec by outlet.
        staging: the directory for the files of open transactions; what is in it belongs to dead ones and is deleted.
        pulse: takes the signs of life of the program.
        fenced: takes the reason why another instance has taken over.
        log: takes a line about a refused or aborted transaction.

    Raises:
        OSError: the directory or the port cannot be used.
    """

    def __init__(
        self,
        writer: TransactionWriter,
        rows_of: Mapping[str, RowsOf],
        staging: Path,
        *,
        pulse: Pulse | None = None,
        fenced: Callable[[str], None],
        log: Callable[[str], None],
    ) -> None:
        self._writer, self._rows_of, self._staging = writer, rows_of, staging
        self._fenced, self._log, self._pulse = fenced, log, pulse or Pulse()
        self._open: dict[socket.socket, Pulse] = {}  # the transactions, and when their last data has come
        self._token = secrets.token_urlsafe(24)
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True, mode=0o700)
        self._server = socket.create_server(("127.0.0.1", 0))
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, name="spout-deliveries", daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which a program reaches the server."""
        host, port = self._server.getsockname()
        return {ADDRESS: f"{host}:{port}", TOKEN: self._token}

    @property
    def silence(self) -> float:
        """The seconds since an open transaction has got its last data; 0 without one."""
        with self._lock:
            return max((pulse.silence for pulse in self._open.values()), default=0.0)

    def close(self) -> None:
        """Abort the open transactions; one that is being committed is finished by the writer."""
        with suppress(OSError):  # wakes `accept`
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        with self._lock:
            connections = tuple(self._connections)
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                connection, _ = self._server.accept()
                with self._lock:
                    self._connections.add(connection)
                threading.Thread(target=self._serve, args=(connection,), name="spout-delivery", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rwb") as stream:
                self._pulse.beat()
                try:
                    self._carry_out(connection, stream)
                except _AbortedError:
                    self._log("a transaction was aborted: the program closed the connection without a commit")
                except WriterFencedError as error:
                    self._fenced(str(error))
                    _refuse(connection, stream, "another runner has taken over this spout")
                except Exception as error:  # noqa: BLE001 - a custom codec may raise anything
                    reason = _reason(error)
                    self._log(f"a transaction was refused: {reason}")
                    _refuse(connection, stream, reason)
        except (OSError, ValueError):  # the program has ended
            pass
        finally:
            with self._lock:
                self._connections.discard(connection)
                self._open.pop(connection, None)

    def _carry_out(self, connection: socket.socket, stream: Stream) -> None:
        """Receive a transaction, commit it, and acknowledge it."""
        greeting = _message(stream)
        if greeting is None:  # a check of the port
            return
        if not hmac.compare_digest(str(greeting.get("token", "")).encode(), self._token.encode()):
            raise RefusedError(
                f"the token in `{TOKEN}` is not the token of this spout, or belongs to an earlier start of it"
            )
        if greeting.get("query") == "alive":
            _answer(stream, {"alive": True})
            return
        if greeting.get("query") == "marker":
            if greeting.get("outlet"):
                self._writer.outlet(str(greeting["outlet"]))
            marker = self._writer.marker
            _answer(stream, {"marker": None if marker is None else json.loads(marker)})
            return
        outlet = self._writer.outlet(str(greeting.get("outlet", "")))
        _answer(stream, {"ready": True})
        pulse = Pulse()
        with self._lock:
            self._open[connection] = pulse
        staged = _Staged(self._staging / uuid.uuid4().hex)
        try:
            marker = self._receive(stream, staged, pulse)
            crash_point("before-delivery-commit")
            with pulse.resting(), self._pulse.resting():  # the program waits for the runner
                committed = self._commit(outlet, staged, marker)
            crash_point("before-delivery-answer")
        finally:
            staged.remove()
        _answer(stream, {"records": committed.records, "dead-letters": committed.dead_letters})

    def _receive(self, stream: Stream, staged: _Staged, pulse: Pulse) -> bytes | None:
        """Stage a transaction; return its marker."""
        while (message := _message(stream)) is not None:
            pulse.beat()
            self._pulse.beat()
            if message.get("commit"):
                marker = message.get("marker")
                return None if marker is None else json.dumps(marker).encode()
            if message.get("emit"):
                target = staged.emitted()
            elif "put" in message:
                target = staged.file(str(message["put"]), append=bool(message.get("append")))
            else:
                raise RefusedError("invalid message")
            with target:
                for chunk in _content(stream):
                    pulse.beat()
                    self._pulse.beat()
                    target.write(chunk)
        raise _AbortedError

    def _commit(self, outlet: OutletPlan, staged: _Staged, marker: bytes | None) -> Committed:
        with ExitStack() as files:
            rows: list[Iterator[Row]] = []
            for part in staged.parts:
                file = files.enter_context(part.file.open("rb"))
                rows_of = _codec_of_records(outlet) if part.path is None else self._rows_of[outlet.name]
                rows.append(_named_rows(rows_of, part.path or "", file))
            return self._writer.commit_rows(outlet, chain.from_iterable(rows), marker)


class _AbortedError(Exception):
    """The connection was closed without a commit."""


@dataclass(slots=True)
class _Part:
    """A file of a transaction, with its path, or without one for records."""

    path: str | None
    file: Path


@dataclass(slots=True)
class _Staged:
    """The files of an open transaction, in a directory of its own, in the order of their delivery."""

    directory: Path
    parts: list[_Part] = field(default_factory=list)

    def emitted(self) -> IO[bytes]:
        """Return the file that further records are added to."""
        if not self.parts or self.parts[-1].path is not None:
            self._add(None)
        return self.parts[-1].file.open("ab")

    def file(self, path: str, *, append: bool) -> IO[bytes]:
        """Return the file for a delivered file. One with the same path is continued, or else replaced."""
        known = next((part for part in self.parts if path and part.path == path), None)
        if known is not None and append:
            return known.file.open("ab")
        if known is not None:
            self.parts.remove(known)
            known.file.unlink()
        return self._add(path).file.open("wb")

    def remove(self) -> None:
        """Delete the files."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _add(self, path: str | None) -> _Part:
        self.directory.mkdir(exist_ok=True)
        part = _Part(path, self.directory / uuid.uuid4().hex)
        self.parts.append(part)
        return part


def _codec_of_records(outlet: OutletPlan) -> RowsOf:
    return open_codec("json-lines", {}, outlet.contract)


def _named_rows(rows_of: RowsOf, path: str, file: IO[bytes]) -> Iterator[Row]:
    for row in rows_of(path, file):
        yield Row(row.values, f"{path}: {row.place}", row.text) if path else row


def _message(stream: Stream) -> dict[str, Any] | None:
    """Return the next message; None at the end of the stream."""
    line = stream.readline(LONGEST_MESSAGE)
    if not line.endswith(b"\n"):
        return None
    try:
        message = json.loads(line)
    except ValueError:
        raise RefusedError("invalid message") from None
    if not isinstance(message, dict):
        raise RefusedError("invalid message")
    return message


def _content(stream: Stream) -> Iterator[bytes]:
    while True:
        length = stream.read(4)
        if len(length) < 4:
            raise _AbortedError
        remaining = int.from_bytes(length, "big")
        if remaining == 0:
            return
        if remaining > CHUNK:
            raise RefusedError("invalid message")
        chunk = stream.read(remaining)
        if len(chunk) < remaining:
            raise _AbortedError
        yield chunk


def _answer(stream: Stream, answer: Mapping[str, object]) -> None:
    with suppress(OSError, ValueError):  # the program has ended
        stream.write(json.dumps(answer).encode() + b"\n")
        stream.flush()


def _reason(error: Exception) -> str:
    """Return why a transaction cannot be committed."""
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return f"its data cannot be stored: {error.strerror}{where}"
    known = isinstance(error, RefusedError | TopicLostError | TopicDamagedError | TopicWriteError | OSError)
    return str(error) if known else f"{type(error).__name__}: {error}"


def _refuse(connection: socket.socket, stream: Stream, reason: str) -> None:
    """Answer with a refusal; what is still being sent is read first, as closing would discard the answer."""
    _answer(stream, {"refused": reason})
    with suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(CHUNK):
            pass
