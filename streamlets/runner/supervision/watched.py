"""`Watched`: a unit under supervision with its state, its current run, and requests to it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

from streamlets.runner.events.status import UP, State, UnitId
from streamlets.runner.events.unit_events import UnitChanged
from streamlets.runner.supervision.backoff import Attempts
from streamlets.runner.supervision.environment import Environment
from streamlets.runner.supervision.facts import Unit
from streamlets.runner.supervision.gate import Wait
from streamlets.spark.failure import Failure

FINAL: frozenset[State] = frozenset({"stopped", "completed", "failed"})
"""The states of a unit that has ended and will not be started again by itself."""

Runs = tuple[tuple[UnitId, int], ...]
"""The numbers of the last runs of units that have ended."""


@dataclass(slots=True, kw_only=True)
class ChannelWait:
    """The wait of a unit for the channels of the topics that it writes.

    Attributes:
        since: when it began, on the clock of `Watched.due`.
        refusals: as for `outlet_gate`.
        ask_at: when the channels are asked again; None while an answer is awaited.
    """

    since: float
    refusals: dict[str, str]
    ask_at: float | None


@dataclass(slots=True)
class Watched:
    """A unit under supervision; each change of its state is emitted as an event.

    Attributes:
        run: the number of its current run, counted from 1.
        launched: whether `start` was called and its end has not been reported yet.
        asked: whether `drain` or `stop` was called in this run.
        due: when to start it; None while it waits for others, is running, or has ended.
        attempts: its recent failures.
        then: the request that is carried out once it has ended.
        because: the cause of that request.
        until: when the drain for that request is aborted.
        cause: why it is in its state; empty without a particular cause.
        waiting: what it waits for while it is starting.
        waits_since: when it began to wait for its producers, on the clock of `due`; None if it does not wait.
        has_run: whether it has been running.
        reads_to: the runs of its producers to whose end its current run reads, then to end; None for a run without an
            end.
        circulated: how many records had come back in its cycle when its current run was started.
        replicas: the number of replicas that was requested for its next start and those after it; None for its setting.
        started_with: the number of replicas of its current run.
        channels: its wait for the channels of its outlets; None if it does not wait for them.
        accepted: whether they have accepted records just now, before the start of the unit that it is a part of.
    """

    unit: Unit
    environment: Environment
    _: KW_ONLY
    state: State = "starting"
    run: int = 0
    launched: bool = False
    asked: bool = False
    due: float | None = None
    attempts: Attempts = field(default_factory=Attempts)
    then: Literal["pause", "restart", "stop"] | None = None
    because: str = ""
    until: float | None = None
    cause: str = ""
    waiting: str = ""
    waits_since: float | None = None
    has_run: bool = False
    reads_to: Runs | None = None
    circulated: int = 0
    replicas: int | None = None
    started_with: int | None = None
    channels: ChannelWait | None = None
    accepted: bool = False

    @property
    def opened(self) -> bool:
        """Whether it has been running, or needs not be: it has ended without a failure."""
        return self.has_run or self.state in ("completed", "stopped")

    @property
    def up(self) -> bool:
        """Whether it is running or draining."""
        return self.state in UP

    @property
    def waits(self) -> bool:
        """Whether it is to start as soon as its gate is open."""
        return self.state == "starting" and not self.launched

    def enter(
        self, state: State, cause: str = "", frames: tuple[str, ...] = (), wait: float | None = None, *,
        hook: str = "", lost: bool = False,
    ) -> None:  # fmt: skip
        """Enter a state; see `UnitChanged` for the arguments."""
        self.state, self.cause, self.waiting, self.waits_since, self.channels = state, cause, "", None, None
        self.has_run = self.has_run or state == "running"
        changed = UnitChanged(
            self.environment.clock(), self.unit.id, state, cause, frames,
            retry_in=wait, restarts=self.attempts.restarts, hook=hook, lost=lost,
        )  # fmt: skip
        self.environment.emit(changed)

    def fail(self, failure: Failure, cause: str) -> None:
        """Let it fail for good.

        Arguments:
            cause: the cause of the failure, with the reason why it is not started again.
        """
        self.enter("failed", cause, failure.frames, hook=failure.hook)

    def start(self, reads_to: Runs | None = None) -> None:
        """Start its next run.

        Arguments:
            reads_to: as the attribute.
        """
        self.reads_to = reads_to
        self.due = None
        self.run += 1
        self.launched, self.asked, self.accepted, self.channels = True, False, False, None
        if self.state == "backing-off":
            self.attempts = self.attempts.restarted()
            self.enter("starting")
        elif self.waiting:
            self.enter("starting", self.cause)
        self.started_with = self.replicas
        self.unit.start(self.run, last=reads_to is not None, replicas=self.replicas)

    def wait(self, wait: Wait, waiting: str) -> None:
        """Let it wait until its gate is open; a wait goes on if it waits already.

        Arguments:
            waiting: what it waits for, for people.
        """
        asks = (self.channels.ask_at,) if self.channels is not None and wait.channels else ()
        self.due = min((time for time in (wait.until, *asks) if time is not None), default=None)
        self.waits_since = wait.since if wait.opening or wait.ending else None
        if self.state == "starting" and self.waiting == waiting:
            return
        if self.state == "backing-off":
            self.attempts, self.cause = self.attempts.restarted(), ""
        self.state, self.waiting = "starting", waiting
        clock = self.environment.clock()
        ahead = clock - self.environment.timer()
        until = None if wait.until is None else wait.until + ahead
        changed = UnitChanged(
            clock, self.unit.id, "starting", self.cause, restarts=self.attempts.restarts,
            waiting=waiting, waits_since=wait.since + ahead, waits_until=until,
        )  # fmt: skip
        self.environment.emit(changed)

    def drain(self, cause: str = "") -> None:
        """Have it end after its running batch, unless that was requested already."""
        if not self.asked:
            self.asked = True
            self.enter("draining", cause)
            self.unit.drain()

    def stop(self) -> None:
        """Have it end at once."""
        self.asked = True
        self.unit.stop()

    def drain_for_request(self, within: float | None) -> None:
        """Drain it to carry out a request; after `within` seconds it is stopped at once."""
        if not self.asked:
            self.until = None if within is None else self.environment.timer() + within
            self.drain(self.because)

    def carry_out_request(self, failure: Failure | None) -> None:
        """Pause it, keep it stopped or start it again, now that it has ended."""
        cause = f"{self.because}; {failure.of_the_end}" if failure else self.because
        if self.then == "pause":
            self.pause(cause, failure)
        elif self.then == "stop":
            self.end(cause, failure)
        else:
            self.start_again(cause)

    def pause(self, cause: str, failure: Failure | None = None) -> None:
        """Keep it stopped until it is resumed; `failure` is the failure of its end, if any."""
        self.then, self.due = None, None
        self.enter("paused", cause, failure.frames if failure else (), hook=failure.hook if failure else "")

    def end(self, cause: str, failure: Failure | None = None) -> None:
        """Keep it stopped, as it has ended; `failure` is the failure of its end, if any."""
        self.then, self.due = None, None
        self.enter("stopped", cause, failure.frames if failure else (), hook=failure.hook if failure else "")

    def start_again(self, cause: str) -> None:
        """Forget its failures, and start it as soon as it may start."""
        self.then, self.due, self.attempts = None, None, Attempts()
        self.enter("starting", cause)
