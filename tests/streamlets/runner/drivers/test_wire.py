"""Messages between the runner and its drivers arrive completely or not at all."""

from __future__ import annotations

import os
import socket
import threading

import pytest

from streamlets.runner.drivers.messages import Logged, StartUnit
from streamlets.runner.drivers.wire import BrokenWireError, Wire
from streamlets.runner.events.status import UnitId


def _pair() -> tuple[Wire, socket.socket]:
    ours, theirs = socket.socketpair()
    return Wire(ours), theirs


def test_messages_arrive_whole_and_in_order() -> None:
    """Also if they are longer than the buffer of a socket, and several threads send at the same time."""
    here, end = _pair()
    there, received = Wire(end), []
    messages = [Logged(UnitId("a", "x"), letter * 1_000_000) for letter in "abcd"]
    senders = [threading.Thread(target=here.send, args=(message,)) for message in messages]
    for sender in senders:
        sender.start()
    for _ in messages:
        message = there.receive()
        assert isinstance(message, Logged)
        received.append(message)
    assert sorted(received, key=lambda message: message.text) == messages
    here.send(StartUnit(UnitId("a", ""), 1))
    assert there.receive() == StartUnit(UnitId("a", ""), 1)
    here.close()
    assert there.receive() is None


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_an_exit_in_the_middle_of_a_message_closes_the_wire(cut: int) -> None:
    """The incomplete message is dropped."""
    here, end = _pair()
    here.send("a complete message")
    message = end.recv(1000)
    here, end = _pair()
    end.sendall(message[:cut])
    end.close()
    assert here.receive() is None


@pytest.mark.parametrize(
    "noise", [b"print() of somebody's\n", b"\x9fflow" + b"\xff" * 8, b"\x9fflow" + (3).to_bytes(8, "big") + b"abc"]
)
def test_stray_bytes_are_an_error(noise: bytes) -> None:
    """They are not taken for a message, and no further bytes are awaited."""
    here, end = _pair()
    end.sendall(noise)
    with pytest.raises(BrokenWireError):
        here.receive()


def test_child_processes_do_not_inherit_the_wire() -> None:
    """They would otherwise keep the wire open after the exit of the driver."""
    _, end = _pair()
    end.set_inheritable(True)
    Wire.of(end.detach())
    here, other = _pair()
    assert not os.get_inheritable(here._end.fileno())
    other.close()
