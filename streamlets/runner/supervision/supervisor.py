"""Starts units, watches them, restarts them and stops them in order. Knows only units and facts, nothing of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from streamlets.runner.events.model import Event, RunStopping, State, UnitChanged, UnitId
from streamlets.runner.supervision.backoff import Attempts, delay, may_restart
from streamlets.runner.supervision.facts import (
    Became,
    Drain,
    Ended,
    Fact,
    Failure,
    Lost,
    Progressed,
    Seen,
    Started,
    StopNow,
    Unit,
)

_FINAL: frozenset[State] = frozenset({"stopped", "completed", "failed"})
_NOBODY_ASKED = "it ended although nobody asked it to"
# A query that was told to stop at once and has not ended after so many seconds will not: Spark is stopped around it.
_STOP_PATIENCE = 10.0


@dataclass(slots=True)
class _Watched:
    unit: Unit
    state: State = "starting"
    run: int = 0
    launched: bool = False  # `start` was called and its end is not yet known
    asked: bool = False  # `drain` or `stop` was called
    due: float | None = None  # when to start it; None while it waits for others, is up, or is over
    attempts: Attempts = field(default_factory=Attempts)
    then: Literal["pause", "restart"] | None = None  # what becomes of it once it is down
    because: str = ""  # why it is paused or restarted
    until: float | None = None  # when its own drain has taken too long
    paused: bool = False  # it is down and stays down until it is resumed


class Supervisor:
    """The state machine of a run.

    Arguments:
        units: in topological order.
        producers: for each streamlet those whose topics it reads.
        in_order: start a streamlet only once its producers have ended, and give up what fails again and again without
            progress (a bounded run, which is to end); else all start at once and only their settings give up.
        clock: seconds since the epoch, used for waiting and as the events' time.
        uniform: draws from [0, 1), for the jitter of each unit by itself.
        emit: takes the events.
        drain_within: seconds after which a drain becomes a stop at once; None for never.
        fail_fast: drain everything as soon as one unit has failed for good.
        paused: streamlets that stay down until they are resumed, with the reason.
    """

    def __init__(
        self,
        units: Iterable[Unit],
        producers: Mapping[str, Iterable[str]],
        *,
        in_order: bool,
        clock: Callable[[], float],
        uniform: Callable[[], float],
        emit: Callable[[Event], None],
        drain_within: float | None = None,
        fail_fast: bool = False,
        paused: Mapping[str, str] | None = None,
    ) -> None:
        self._watch({unit.id: _Watched(unit) for unit in units})
        self._producers = {ref: frozenset(those) - {ref} for ref, those in producers.items()}
        self._in_order = in_order
        self._clock = clock
        self._uniform = uniform
        self._emit = emit
        self._drain_within = drain_within
        self._fail_fast = fail_fast
        self._ending = False
        self._deadline: float | None = None  # of the drain, then of the stop
        self._stopping = False
        for watched in self._watched.values():
            if paused and watched.unit.id.streamlet in paused:
                self._pause_down(watched, paused[watched.unit.id.streamlet])
        for watched in self._watched.values():
            if watched.paused:
                continue
            waits = self._unfinished_producers(watched) if in_order else []
            watched.due = None if waits else clock()
            self._tell(watched, "starting", f"waits for {', '.join(waits)}" if waits else "")

    @property
    def done(self) -> bool:
        """Whether every unit is completed, stopped or failed for good, and none is to be resumed."""
        return all(self._final(watched) for watched in self._watched.values())

    @property
    def ending(self) -> bool:
        """Whether the end was asked for."""
        return self._ending

    @property
    def failed(self) -> tuple[UnitId, ...]:
        """The units that failed for good, in order."""
        return tuple(id for id, watched in self._watched.items() if watched.state == "failed")

    @property
    def units(self) -> tuple[UnitId, ...]:
        """All units, in order."""
        return tuple(self._watched)

    def check(self) -> None:
        """Have every unit that is up looked at."""
        for watched in self._watched.values():
            if watched.state == "running":
                watched.unit.check()

    def tick(self) -> float | None:
        """Start whatever is due and end what has had its time; seconds until there is more to do, None when only facts
        can change anything."""
        now = self._clock()
        if self._deadline is not None and self._deadline <= now and not self.done:
            self._overdue()
        for watched in list(self._watched.values()):
            if watched.due is not None and watched.due <= now:
                self._start(watched)
            if watched.until is not None and watched.until <= now:
                watched.until = None
                watched.unit.stop()
        ahead = [time for watched in self._watched.values() for time in (watched.due, watched.until)]
        waiting = [time for time in (*ahead, self._deadline) if time is not None]
        return max(0.0, min(waiting) - self._clock()) if waiting else None

    def _overdue(self) -> None:
        if not self._stopping:
            self._stop(f"not drained within {self._drained_within:g} s")
            return
        for watched in self._watched.values():
            if not self._final(watched):
                watched.due, watched.launched = None, False
                self._tell(watched, "stopped", f"it did not end within {_STOP_PATIENCE:g} s of being told to")

    def handle(self, fact: Fact) -> None:
        """Take a fact in. Facts about a run that is over are ignored."""
        match fact:
            case Started(unit, run) if watched := self._current(unit, run):
                self._started(watched)
            case Became(unit, run, parts) if watched := self._current(unit, run):
                self._became(watched, parts)
            case Progressed(run, progress) if watched := self._current(progress.unit, run):
                watched.attempts = watched.attempts.processed(self._clock(), progress.rows_in)
                self._emit(progress)
            case Ended(unit, run, failure) if watched := self._current(unit, run):
                self._ended(watched, failure)
            case Drain(cause, within):
                self._begin_drain(cause, within)
            case StopNow(cause):
                self._stop(cause)
            case Lost(failure):
                self._lose(failure)
            case Seen(event):
                self._emit(event)
            case _:
                pass

    def pause(self, streamlet: str, cause: str) -> str:
        """Drain a streamlet's queries and keep them down until it is resumed; why it cannot be, empty when it can."""
        if refused := self._refused(streamlet):
            return refused
        those = [watched for watched in self._of(streamlet) if watched.state not in ("completed", "failed")]
        for watched in those:
            watched.then, watched.because = "pause", cause
            if not watched.launched:
                self._pause_down(watched, cause)
            elif watched.state == "running":
                self._ask(watched)
        self._release()
        return "" if those else f"`{streamlet}` has {self._of(streamlet)[0].state} already"

    def resume(self, streamlet: str, cause: str) -> str:
        """Start again what was paused; why it cannot be, empty when it can."""
        if refused := self._refused(streamlet):
            return refused
        those = [watched for watched in self._of(streamlet) if watched.paused or watched.then == "pause"]
        for watched in those:
            self._begin_again(watched, cause)
        self._release()
        return "" if those else f"`{streamlet}` is not paused"

    def restart(self, streamlet: str, cause: str) -> str:
        """Drain a streamlet's queries and start them anew, also when they have failed for good, completed, or wait for
        their next attempt; why it cannot be, empty when it can."""
        if refused := self._refused(streamlet):
            return refused
        those = self._of(streamlet)
        if any(watched.paused or watched.then == "pause" for watched in those):
            return f"`{streamlet}` is paused: resume it"
        for watched in those:
            self._begin_again(watched, cause)
        self._release()
        return ""

    def _refused(self, streamlet: str) -> str:
        if not self._of(streamlet):
            return f"there is no streamlet `{streamlet}`"
        return "the run is ending" if self._ending else ""

    def _ask(self, watched: _Watched) -> None:
        """Have a unit go down so that what is to become of it can be done."""
        if watched.asked:
            return
        watched.asked = True
        watched.until = None if self._drain_within is None else self._clock() + self._drain_within
        self._tell(watched, "running", f"draining: {watched.because}")
        watched.unit.drain()

    def _turn(self, watched: _Watched, failure: Failure | None) -> None:
        """It is down as somebody wanted: do with it what they wanted."""
        why = f"{watched.because}; its last batch failed: {failure.cause}" if failure else watched.because
        if watched.then == "pause":
            self._pause_down(watched, why, failure.frames if failure else ())
        else:
            self._come_back(watched, why)

    def _pause_down(self, watched: _Watched, cause: str, frames: tuple[str, ...] = ()) -> None:
        watched.then, watched.due = None, None
        self._tell(watched, "stopped", cause, frames, paused=True)

    def _begin_again(self, watched: _Watched, cause: str) -> None:
        watched.because = cause
        if not watched.launched:
            self._come_back(watched, cause)
        elif watched.state == "running":
            watched.then = "restart"
            self._ask(watched)
        else:
            watched.then = None  # it is being started as it is

    def _come_back(self, watched: _Watched, cause: str) -> None:
        watched.then, watched.due, watched.attempts = None, None, Attempts()
        self._tell(watched, "starting", cause)

    def _current(self, unit: UnitId, run: int) -> _Watched | None:
        watched = self._watched.get(unit)
        return watched if watched is not None and watched.launched and watched.run == run else None

    def _tell(
        self,
        watched: _Watched,
        state: State,
        cause: str = "",
        frames: tuple[str, ...] = (),
        wait: float | None = None,
        *,
        paused: bool = False,
    ) -> None:
        watched.state = state
        watched.paused = paused
        restarts = watched.attempts.restarts
        self._emit(UnitChanged(self._clock(), watched.unit.id, state, cause, frames, wait, restarts, paused))

    def _start(self, watched: _Watched) -> None:
        watched.due = None
        watched.run += 1
        watched.launched, watched.asked = True, False
        if watched.state == "backing-off":
            watched.attempts = watched.attempts.restarted()
            self._tell(watched, "starting")
        watched.unit.start(watched.run)

    def _started(self, watched: _Watched) -> None:
        self._tell(watched, "running")
        if self._ending:
            self._drain()
        elif watched.then is not None:
            self._ask(watched)

    def _became(self, watched: _Watched, parts: tuple[Unit, ...]) -> None:
        # In place, so that the order of the streamlets stays.
        after: dict[UnitId, _Watched] = {}
        for id, other in self._watched.items():
            if other is not watched:
                after[id] = other
                continue
            for part in parts:
                after[part.id] = _Watched(part, due=self._clock())
        self._watch(after)
        for part in parts:
            if watched.then == "pause":
                self._pause_down(self._watched[part.id], watched.because)
            else:
                self._tell(self._watched[part.id], "starting")
        if self._ending:
            self._drain()

    def _ended(self, watched: _Watched, failure: Failure | None) -> None:
        watched.launched, watched.until = False, None
        now = self._clock()
        watched.attempts = watched.attempts.settled(watched.unit.retry, now)
        frames = failure.frames if failure else ()
        cause = failure.cause if failure else ""
        if watched.then is not None and not self._ending:
            self._turn(watched, failure)
        elif failure is None and watched.unit.bounded and not watched.asked:
            self._tell(watched, "completed")
        elif failure is None and (watched.asked or self._ending):
            self._tell(watched, "stopped")
        elif failure is not None and failure.fatal and not watched.asked:
            self._tell(watched, "failed", f"{cause} ({failure.fatal})", frames)
        elif self._ending:
            # The batch is replayed at the next start; a restart now would undo the stop.
            self._tell(watched, "stopped", f"its last batch failed: {cause}", frames)
        elif self._restarts(watched, cause):
            wait = delay(watched.unit.retry, watched.attempts.restarts, self._uniform)
            watched.due = now + wait
            self._tell(watched, "backing-off", cause or _NOBODY_ASKED, frames, wait)
        else:
            tried = watched.attempts.restarts
            told = f"given up after {tried} restart{'' if tried == 1 else 's'}" if tried else "restarts are off"
            self._tell(watched, "failed", f"{cause or _NOBODY_ASKED} ({told})", frames)
        if watched.state == "failed" and self._fail_fast and not self._ending:
            self._begin_drain(f"{watched.unit.id} failed for good, and --fail-fast is on", None)
        self._release()

    def _restarts(self, watched: _Watched, cause: str) -> bool:
        watched.attempts = watched.attempts.failed(cause)
        given_up = self._in_order and watched.attempts.hopeless
        return not given_up and may_restart(watched.unit.retry, watched.attempts.restarts)

    def _release(self) -> None:
        """Something is over: let those start, or drain, that waited for it."""
        if self._ending:
            self._drain()
            return
        for watched in self._watched.values():
            waiting = watched.state == "starting" and not watched.launched and watched.due is None
            if waiting and not self._held_up(watched):
                watched.due = self._clock()

    def _held_up(self, watched: _Watched) -> bool:
        """Whether it must not start yet: the queries of a streamlet go down together before one comes up again."""
        going = any(other.launched and other.then for other in self._of(watched.unit.id.streamlet))
        return going or (self._in_order and bool(self._unfinished_producers(watched)))

    def _watch(self, watched: dict[UnitId, _Watched]) -> None:
        self._watched = watched
        self._by_streamlet: dict[str, list[_Watched]] = {}
        for id, each in watched.items():
            self._by_streamlet.setdefault(id.streamlet, []).append(each)

    def _of(self, streamlet: str) -> list[_Watched]:
        return self._by_streamlet.get(streamlet, [])

    def _final(self, watched: _Watched) -> bool:
        return watched.state in _FINAL and (not watched.paused or self._ending or self._in_order)

    def _unfinished_producers(self, watched: _Watched) -> list[str]:
        wanted = self._producers.get(watched.unit.id.streamlet, frozenset())
        return sorted(ref for ref in wanted if not all(map(self._final, self._of(ref))))

    def _begin_drain(self, cause: str, within: float | None) -> None:
        if self._stopping:
            return
        limit = self._drain_within if within is None else within
        if not self._ending or within is not None:
            self._deadline = None if limit is None else self._clock() + limit
            self._drained_within = limit or 0.0
            self._emit(RunStopping(self._clock(), cause, within=limit))
        self._drain()

    def _drain(self) -> None:
        """Producers first: what they committed last may still be read by those behind them."""
        self._ending = True
        for watched in self._watched.values():
            if not self._final(watched) and not watched.launched:
                watched.due = None
                self._tell(watched, "stopped")
        up = [watched for watched in self._watched.values() if watched.state == "running"]
        ready = [watched for watched in up if not self._unfinished_producers(watched)]
        nothing_ends = all(self._final(watched) or watched.state == "running" for watched in self._watched.values())
        if not ready and nothing_ends and not any(watched.asked for watched in up):
            ready = up  # a cycle: no order is right
        for watched in ready:
            if not watched.asked:
                watched.asked = True
                watched.unit.drain()

    def _stop(self, cause: str) -> None:
        if self._stopping:
            return
        self._ending = self._stopping = True
        self._deadline = self._clock() + _STOP_PATIENCE
        self._emit(RunStopping(self._clock(), cause, at_once=True))
        for watched in self._watched.values():
            if self._final(watched):
                continue
            if watched.launched:
                watched.asked = True
                watched.unit.stop()
            else:
                watched.due = None
                self._tell(watched, "stopped")

    def _lose(self, failure: Failure) -> None:
        for watched in list(self._watched.values()):
            if watched.launched:
                self._ended(watched, failure)
