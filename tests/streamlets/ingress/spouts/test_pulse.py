"""Signs of life, and the event that gives one whenever somebody looks at it."""

from __future__ import annotations

import threading

from streamlets.ingress.spouts.pulse import Pulse, WatchedEvent


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_silence_counts_from_the_last_sign_of_life_unless_none_is_expected() -> None:
    """Contexts without signs may overlap, and their end is a sign."""
    clock = Clock()
    pulse = Pulse(clock)
    clock.now += 5
    assert pulse.silence == 5
    pulse.beat()
    assert pulse.silence == 0
    with pulse.resting():
        with pulse.resting():
            clock.now += 60
        assert pulse.silence == 0
    clock.now += 7
    assert pulse.silence == 7


def test_looking_at_an_event_and_waiting_for_it_are_signs_of_life() -> None:
    """A wait may take as long as it wants to. The runner that sets the event gives no sign."""
    clock = Clock()
    pulse = Pulse(clock)
    event = WatchedEvent(pulse)
    waiting = threading.Thread(target=event.wait)
    waiting.start()
    while not event._cond._waiters:  # type: ignore[attr-defined]
        pass
    clock.now += 60
    assert pulse.silence == 0
    event.set()
    waiting.join()
    clock.now += 3
    event.set()
    assert pulse.silence == 3
    assert event.is_set() and event.wait(0)
    assert pulse.silence == 0
