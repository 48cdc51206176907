"""Delivers data from inside the program of a spout: `from streamlets import spout`. `flow put` uses it, too.

    with spout.transaction() as orders:
        orders.put("2024/05/orders.csv", open("orders.csv", "rb"))
        orders.emit({"id": 1, "price": "9.95"})

The transaction is committed at the end of the block: one commit of the outlet's topic, durable when the block is left.
If the block raises, or the program ends, nothing of it is published.
"""

from __future__ import annotations

import base64
import datetime
import io
import json
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

ADDRESS = "STREAMLETS_SPOUT_ADDRESS"
TOKEN = "STREAMLETS_SPOUT_TOKEN"
PORT = "STREAMLETS_SPOUT_PORT"
BOUNDED = "STREAMLETS_BOUNDED"

CHUNK = 256 * 1024
"""The maximum size in bytes of a part of a file on the wire."""

LONGEST_MESSAGE = 1024 * 1024
"""The maximum size in bytes of a message without content."""

_LENGTH = 4


Stream = io.BufferedRWPair
"""A connection, for reading and writing."""


class SpoutError(Exception):
    """Data cannot be delivered; nothing of the transaction was published unless the message says so."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """A committed transaction: how many records it has in the topic, and how many became dead letters."""

    records: int
    dead_letters: int


class Transaction:
    """An open transaction of an outlet; see `transaction`.

    Attributes:
        marker: a JSON value that is committed with the data, such as the place in a source from which to continue.
        receipt: the result, after the commit.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._emitted: list[str] = []
        self._size = 0
        self.marker: Any = None
        self.receipt: Receipt | None = None

    def put(self, path: str, data: str | bytes | IO[bytes] | Path, *, append: bool = False) -> None:
        """Add a file, which the codec of the spout turns into records.

        Arguments:
            path: the path under which it is delivered; "" for none. A second file with the same path replaces the
                first one of the transaction.
            data: its content, a binary file to read it from, or the path of a local file.
            append: add the content to the file with this path in the transaction, if there is one.

        Raises:
            SpoutError: the runner has ended or refuses the file.
        """
        self._flush()
        self._send({"put": path, "append": append})
        match data:
            case Path():
                with data.open("rb") as file:
                    self._send_content(file)
            case str():
                self._send_content(io.BytesIO(data.encode()))
            case bytes():
                self._send_content(io.BytesIO(data))
            case _:
                self._send_content(data)

    def emit(self, record: Mapping[str, Any]) -> None:
        """Add a record: a dict by field name, with times as `datetime` or ISO string, and decimals as `Decimal`."""
        text = json.dumps(record, default=_json)
        self._emitted.append(text)
        self._size += len(text)
        if self._size >= CHUNK:
            self._flush()

    def _commit(self) -> None:
        self._flush()
        self._send({"commit": True, "marker": self.marker})
        answer = _receive(self._stream)
        self.receipt = Receipt(int(answer["records"]), int(answer["dead-letters"]))

    def _flush(self) -> None:
        if self._emitted:
            self._send({"emit": True})
            self._send_content(io.BytesIO("".join(f"{line}\n" for line in self._emitted).encode()))
            self._emitted, self._size = [], 0

    def _send(self, message: Mapping[str, Any]) -> None:
        with _broken_wire(self._stream):
            self._stream.write(json.dumps(message).encode() + b"\n")

    def _send_content(self, file: IO[bytes]) -> None:
        chunks: Iterable[bytes] = iter(lambda: file.read(CHUNK), b"")
        for chunk in chunks:
            with _broken_wire(self._stream):
                self._stream.write(len(chunk).to_bytes(_LENGTH, "big") + chunk)
        with _broken_wire(self._stream):
            self._stream.write((0).to_bytes(_LENGTH, "big"))


class SpoutClient:
    """Delivers to the spout that an environment names.

    Arguments:
        environment: the variables `STREAMLETS_SPOUT_ADDRESS` and `STREAMLETS_SPOUT_TOKEN`.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    @contextmanager
    def transaction(self, outlet: str = "") -> Iterator[Transaction]:
        """Open a transaction; see `transaction`."""
        with self._connection() as stream:
            opened = Transaction(stream)
            self._greet(stream, {"outlet": outlet})
            yield opened
            opened._commit()  # noqa: SLF001 - only the block's end commits

    def marker(self, outlet: str = "") -> Any:
        """Return the last marker; see `marker`."""
        with self._connection() as stream:
            return self._greet(stream, {"query": "marker", "outlet": outlet})["marker"]

    def alive(self) -> None:
        """Give a sign of life; see `alive`."""
        with self._connection() as stream:
            self._greet(stream, {"query": "alive"})

    def _greet(self, stream: Stream, message: Mapping[str, str]) -> dict[str, Any]:
        with _broken_wire(stream):
            stream.write(json.dumps({"token": self._environment.get(TOKEN, ""), **message}).encode() + b"\n")
        return _receive(stream)

    @contextmanager
    def _connection(self) -> Iterator[Stream]:
        address = self._environment.get(ADDRESS, "")
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            found = f"is `{address}`, expected `host:port`" if address else "is not set"
            raise SpoutError(
                f"this process was not started by a spout: the environment variable `{ADDRESS}` {found}. Run it as the "
                "`cmd` of a `streamlets.Spout`"
            )
        try:
            connected = socket.create_connection((host, int(port)))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise SpoutError(
                f"the runner of the spout does not answer at {address}: {reason}. Each start of the program has an "
                "address of its own, and a spout that is paused or stopped has none"
            ) from None
        with connected:
            stream = connected.makefile("rwb")
            try:
                yield stream
            finally:
                with suppress(OSError, ValueError):
                    connected.shutdown(socket.SHUT_RDWR)
                with suppress(OSError, ValueError):
                    stream.close()


def transaction(outlet: str = "") -> AbstractContextManager[Transaction]:
    """Open a transaction, and commit it at the end of the block unless the block raises.

    Arguments:
        outlet: the name of the outlet; it may be omitted if the spout has only one.

    Raises:
        SpoutError: the process was not started by a spout, or the transaction is refused.
    """
    return SpoutClient(os.environ).transaction(outlet)


def put(outlet: str, path: str, data: str | bytes | IO[bytes] | Path, *, append: bool = False) -> Receipt:
    """Deliver a file in a transaction of its own; see `Transaction.put`.

    Arguments:
        outlet: the name of the outlet; "" for the only one.
        path: see `Transaction.put`.
        data: see `Transaction.put`.
        append: whether it is the appended part of a file instead of its whole content.
    """
    with transaction(outlet) as opened:
        opened.put(path, data, append=append)
    assert opened.receipt is not None
    return opened.receipt


def emit(record: Mapping[str, Any], outlet: str = "") -> Receipt:
    """Deliver a record in a transaction of its own.

    Arguments:
        record: see `Transaction.emit`.
        outlet: the name of the outlet; "" for the only one.
    """
    with transaction(outlet) as opened:
        opened.emit(record)
    assert opened.receipt is not None
    return opened.receipt


def marker(outlet: str = "") -> Any:
    """Return the marker of the last committed transaction that had one, to any outlet; None before the first.

    Arguments:
        outlet: the name of an outlet, which must exist; "" for none.

    Raises:
        SpoutError: the process was not started by a spout, or there is no such outlet.
    """
    return SpoutClient(os.environ).marker(outlet)


def alive() -> None:
    """Give a sign of life. A spout whose `heartbeat` is set is stuck if there is none for longer.

    Each delivery, each question for the marker and each line of output is one, too.

    Raises:
        SpoutError: the process was not started by a spout, or its runner has ended.
    """
    SpoutClient(os.environ).alive()


def _receive(stream: Stream) -> dict[str, Any]:
    """Return the answer of the runner.

    Raises:
        SpoutError: it refuses, or has ended.
    """
    with suppress(OSError):  # it may have refused and closed the connection; then the reason is still to be read
        stream.flush()
    try:
        line = stream.readline(LONGEST_MESSAGE)
        answer = json.loads(line) if line else {}
    except (OSError, ValueError):
        answer = {}
    if not isinstance(answer, dict) or not answer:
        raise SpoutError("the runner of the spout has ended; it is unknown whether the transaction was committed")
    if "refused" in answer:
        raise SpoutError(str(answer["refused"]))
    return answer


@contextmanager
def _broken_wire(stream: Stream) -> Iterator[None]:
    try:
        yield
    except OSError:
        _receive(stream)
        raise SpoutError("the runner of the spout has closed the connection") from None


def _json(value: object) -> object:
    match value:
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            raise TypeError(f"a record cannot have a value of type `{type(value).__name__}`")
