"""The gate of a unit: what its inlets wait for before it starts."""

from __future__ import annotations

import pytest

from streamlets.runner.supervision.gate import Go, Opening, Refused, TimedOut, Wait, gate, outlet_gate

_BOTH = ("flights", "weather")
_ALL = frozenset(_BOTH)


@pytest.mark.parametrize(
    ("opening", "opened", "ended", "expected"),
    [
        (Opening(producers=_ALL), "", "", Go()),
        (Opening(producers=_ALL, opened=1), "", "", Wait(_BOTH, (), 10.0)),
        (Opening(producers=_ALL, opened=1), "weather", "", Go()),
        (Opening(producers=_ALL, opened=2), "weather", "", Wait(("flights",), (), 10.0)),
        (Opening(producers=_ALL, opened=2), "flights weather", "", Go()),
        (Opening(producers=_ALL, sequential=True), "flights", "weather", Wait((), ("flights",), 10.0)),
        (Opening(producers=_ALL, sequential=True), "", "flights weather", Go()),
        (Opening(producers=_ALL, opened=2, within=30.0), "weather", "", Wait(("flights",), (), 10.0, 40.0)),
        (Opening(producers=_ALL, opened=1, within=5.0), "", "", TimedOut(_BOTH, 5.0)),
        (Opening(producers=_ALL, opened=2, within=5.0), "weather", "", TimedOut(("flights",), 5.0)),
        (Opening(producers=_ALL, opened=1, within=5.0, sequential=True), "flights", "", Wait((), _BOTH, 10.0)),
    ],
)  # fmt: skip
def test_an_inlet_waits_for_its_producers(
    opening: Opening, opened: str, ended: str, expected: Go | Wait | TimedOut
) -> None:
    """It waits for the opening of as many as required, and if it is sequential for the end of all."""
    assert gate([opening], opened=opened.split(), ended=ended.split(), since=10.0, now=20.0) == expected


def test_all_inlets_must_be_open() -> None:
    """The wait names the producers of all inlets, and ends with the first limit that is reached."""
    first = Opening(producers=frozenset("b"), opened=1, within=30.0)
    second = Opening(producers=frozenset("a"), opened=1, within=15.0)
    third = Opening(producers=frozenset("c"), sequential=True)
    openings = [first, second, third]
    assert gate(openings, opened=(), ended=(), since=0.0, now=1.0) == Wait(("a", "b"), ("c",), 0.0, 15.0)
    assert gate(openings, opened=(), ended=(), since=0.0, now=15.0) == TimedOut(("a",), 15.0)
    assert gate(openings, opened="ab", ended="c", since=0.0, now=15.0) == Go()


@pytest.mark.parametrize(
    ("refusals", "now", "expected"),
    [
        ({}, 500.0, Go()),
        ({"flights": "", "weather": "down"}, 20.0, Wait((), (), 10.0, 40.0, ("flights", "weather"))),
        ({"weather": "down"}, 20.0, Wait((), (), 10.0, 70.0, ("weather",))),
        ({"flights": "", "weather": "down"}, 40.0, Refused("flights", "", 30.0)),
        ({"weather": "down"}, 70.0, Refused("weather", "down", 60.0)),
    ],
)
def test_an_outlet_waits_for_the_channel_of_its_topic(
    refusals: dict[str, str], now: float, expected: Go | Wait | Refused
) -> None:
    """It waits until all channels accept records, and fails at the first limit of one that does not."""
    assert outlet_gate({"flights": 30.0, "weather": 60.0}, refusals, since=10.0, now=now) == expected


def test_the_reason_of_a_failed_opening() -> None:
    """It names the producers that are missing, or the topic with the answer of its channel."""
    assert TimedOut(_BOTH, 5.0).cause == "flights, weather did not open within 5 s"
    assert Refused("flights", "no broker", 30.0).cause == (
        "the channel of flights did not accept records within 30 s: no broker"
    )
    assert Refused("flights", "", 30.0).cause.endswith("within 30 s: it has not answered")
