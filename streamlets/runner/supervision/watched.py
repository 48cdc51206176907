"""`Watched`: one unit under supervision: the state it is in, its present run, and what somebody wants of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from streamlets.runner.events.model import Event, State, UnitChanged
from streamlets.runner.supervision.backoff import Attempts
from streamlets.runner.supervision.facts import Unit
from streamlets.spark.failure import Failure

FINAL: frozenset[State] = frozenset({"stopped", "completed", "failed"})
"""The states of a unit that is down and has no next attempt before it."""


@dataclass(slots=True)
class Watched:
    """A unit and what is known of it; each change of its state is told as an event.

    Attributes:
        run: the number of its present run, counted from 1.
        launched: `start` was called and its end is not yet known.
        asked: `drain` or `stop` was called in this run.
        due: when to start it; None while it waits for others, is up, or is over.
        attempts: the memory of its failures.
        then: what becomes of it once it is down; because: why.
        until: when its own drain has taken too long.
        paused: it is down and stays down until it is resumed.
        waiting: what it waits for while it is starting.
    """

    unit: Unit
    clock: Callable[[], float]
    timer: Callable[[], float]
    emit: Callable[[Event], None]
    state: State = "starting"
    run: int = 0
    launched: bool = False
    asked: bool = False
    due: float | None = None
    attempts: Attempts = field(default_factory=Attempts)
    then: Literal["pause", "restart"] | None = None
    because: str = ""
    until: float | None = None
    paused: bool = False
    waiting: str = ""

    @property
    def waits(self) -> bool:
        """Whether it is to start, and only others keep it from it."""
        return self.state == "starting" and not self.launched and self.due is None

    def enter(
        self,
        state: State,
        cause: str = "",
        frames: tuple[str, ...] = (),
        wait: float | None = None,
        *,
        paused: bool = False,
        waiting: str = "",
    ) -> None:
        """Be in a state from now on; see `UnitChanged` for the arguments."""
        self.state, self.paused, self.waiting = state, paused, waiting
        restarts = self.attempts.restarts
        self.emit(UnitChanged(self.clock(), self.unit.id, state, cause, frames, wait, restarts, paused, waiting))

    def start(self) -> None:
        """Begin its next run."""
        self.due = None
        self.run += 1
        self.launched, self.asked = True, False
        if self.state == "backing-off":
            self.attempts = self.attempts.restarted()
            self.enter("starting")
        elif self.waiting:
            self.enter("starting")
        self.unit.start(self.run)

    def drain(self) -> None:
        """Ask it once to end after its running batch."""
        if not self.asked:
            self.asked = True
            self.unit.drain()

    def stop(self) -> None:
        """Ask it to end at once."""
        self.asked = True
        self.unit.stop()

    def go_down(self, within: float | None) -> None:
        """Have it drained for what somebody wants of it, within so many seconds."""
        if not self.asked:
            self.until = None if within is None else self.timer() + within
            self.enter("running", f"draining: {self.because}")
            self.drain()

    def turn(self, failure: Failure | None) -> None:
        """It is down as somebody wanted: do with it what they wanted."""
        why = f"{self.because}; its last batch failed: {failure.cause}" if failure else self.because
        if self.then == "pause":
            self.pause(why, failure.frames if failure else ())
        else:
            self.come_back(why)

    def pause(self, cause: str, frames: tuple[str, ...] = ()) -> None:
        """Stay down, as it is, until somebody resumes it."""
        self.then, self.due = None, None
        self.enter("stopped", cause, frames, paused=True)

    def come_back(self, cause: str) -> None:
        """Start anew as soon as nothing holds it up, its failures forgotten."""
        self.then, self.due, self.attempts = None, None, Attempts()
        self.enter("starting", cause)
