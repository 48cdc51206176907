"""Messages between the runner and its drivers: whole or not at all."""

from __future__ import annotations

import os
import socket
import threading

import pytest

from streamlets.runner.drivers.messages import Logged, StartUnit
from streamlets.runner.drivers.wire import BrokenWireError, Wire
from streamlets.runner.events.model import UnitId


def _pair() -> tuple[Wire, socket.socket]:
    ours, theirs = socket.socketpair()
    return Wire(ours), theirs


def test_messages_arrive_whole_and_in_order() -> None:
    """Also when they are longer than what a socket holds, and several threads send at a time."""
    here, end = _pair()
    there, found = Wire(end), []
    messages = [Logged(UnitId("a", "x"), letter * 1_000_000) for letter in "abcd"]
    senders = [threading.Thread(target=here.send, args=(message,)) for message in messages]
    for sender in senders:
        sender.start()
    for _ in messages:
        message = there.receive()
        assert isinstance(message, Logged)
        found.append(message)
    assert sorted(found, key=lambda each: each.text) == messages
    here.send(StartUnit(UnitId("a", ""), 1))
    assert there.receive() == StartUnit(UnitId("a", ""), 1)
    here.close()
    assert there.receive() is None


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_death_in_the_middle_of_a_message_is_an_end(cut: int) -> None:
    """What was only begun is not heard."""
    here, end = _pair()
    here.send("a whole message")
    begun = end.recv(1000)
    here, end = _pair()
    end.sendall(begun[:cut])
    end.close()
    assert here.receive() is None


@pytest.mark.parametrize(
    "noise", [b"print() of somebody's\n", b"\x9fflow" + b"\xff" * 8, b"\x9fflow" + (3).to_bytes(8, "big") + b"abc"]
)
def test_what_is_no_message_is_refused(noise: bytes) -> None:
    """Whatever strays onto the wire is never taken for a message, nor waited for."""
    here, end = _pair()
    end.sendall(noise)
    with pytest.raises(BrokenWireError):
        here.receive()


def test_nothing_that_is_started_inherits_the_wire() -> None:
    """Else it would hold the wire open when its process is dead."""
    _, end = _pair()
    end.set_inheritable(True)
    Wire.of(end.detach())
    here, other = _pair()
    assert not os.get_inheritable(here._end.fileno())
    other.close()
