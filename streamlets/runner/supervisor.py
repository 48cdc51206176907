"""Starts units, watches them, restarts them and stops them in order. Knows only units and facts, nothing of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from streamlets.runner.backoff import Attempts, delay, may_restart
from streamlets.runner.events import Event, State, UnitChanged, UnitId
from streamlets.runner.facts import Became, Drain, Ended, Fact, Failure, Lost, Progressed, Seen, Started, StopNow, Unit

_FINAL: frozenset[State] = frozenset({"stopped", "completed", "failed"})
_NOBODY_ASKED = "it ended although nobody asked it to"


@dataclass(slots=True)
class _Watched:
    unit: Unit
    state: State = "starting"
    run: int = 0
    launched: bool = False  # `start` was called and its end is not yet known
    asked: bool = False  # `drain` or `stop` was called
    due: float | None = None  # when to start it; None while it waits for others, is up, or is over
    attempts: Attempts = field(default_factory=Attempts)

    @property
    def final(self) -> bool:
        return self.state in _FINAL


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
    ) -> None:
        self._watched = {unit.id: _Watched(unit) for unit in units}
        self._producers = {ref: frozenset(those) - {ref} for ref, those in producers.items()}
        self._in_order = in_order
        self._clock = clock
        self._uniform = uniform
        self._emit = emit
        self._ending = False
        for watched in self._watched.values():
            waits = self._unfinished_producers(watched) if in_order else []
            watched.due = None if waits else clock()
            self._tell(watched, "starting", f"waits for {', '.join(waits)}" if waits else "")

    @property
    def done(self) -> bool:
        """Whether every unit is completed, stopped or failed for good."""
        return all(watched.final for watched in self._watched.values())

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
        """Start whatever is due; seconds until the next start, None when only facts can change anything."""
        now = self._clock()
        for watched in list(self._watched.values()):
            if watched.due is not None and watched.due <= now:
                self._start(watched)
        waiting = [watched.due for watched in self._watched.values() if watched.due is not None]
        return max(0.0, min(waiting) - self._clock()) if waiting else None

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
            case Drain():
                self._drain()
            case StopNow():
                self._stop()
            case Lost(failure):
                self._lose(failure)
            case Seen(event):
                self._emit(event)
            case _:
                pass

    def _current(self, unit: UnitId, run: int) -> _Watched | None:
        watched = self._watched.get(unit)
        return watched if watched is not None and watched.launched and watched.run == run else None

    def _tell(
        self, watched: _Watched, state: State, cause: str = "", frames: tuple[str, ...] = (), wait: float | None = None
    ) -> None:
        watched.state = state
        self._emit(UnitChanged(self._clock(), watched.unit.id, state, cause, frames, wait, watched.attempts.restarts))

    def _start(self, watched: _Watched) -> None:
        watched.due = None
        watched.run += 1
        watched.launched = True
        if watched.state == "backing-off":
            watched.attempts = watched.attempts.restarted()
            self._tell(watched, "starting")
        watched.unit.start(watched.run)

    def _started(self, watched: _Watched) -> None:
        self._tell(watched, "running")
        if self._ending:
            self._drain()

    def _became(self, watched: _Watched, parts: tuple[Unit, ...]) -> None:
        # In place, so that the order of the streamlets stays.
        before = self._watched
        self._watched = {}
        for id, other in before.items():
            if other is not watched:
                self._watched[id] = other
                continue
            for part in parts:
                self._watched[part.id] = _Watched(part, due=self._clock())
        for part in parts:
            self._tell(self._watched[part.id], "starting")
        if self._ending:
            self._drain()

    def _ended(self, watched: _Watched, failure: Failure | None) -> None:
        watched.launched = False
        now = self._clock()
        watched.attempts = watched.attempts.settled(watched.unit.retry, now)
        frames = failure.frames if failure else ()
        cause = failure.cause if failure else ""
        if failure is None and watched.unit.bounded and not watched.asked:
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
            if waiting and not self._unfinished_producers(watched):
                watched.due = self._clock()

    def _unfinished_producers(self, watched: _Watched) -> list[str]:
        wanted = self._producers.get(watched.unit.id.streamlet, frozenset())
        return sorted({id.streamlet for id, other in self._watched.items() if not other.final} & wanted)

    def _drain(self) -> None:
        """Producers first: what they committed last may still be read by those behind them."""
        self._ending = True
        for watched in self._watched.values():
            if not watched.final and not watched.launched:
                watched.due = None
                self._tell(watched, "stopped")
        up = [watched for watched in self._watched.values() if watched.state == "running"]
        ready = [watched for watched in up if not self._unfinished_producers(watched)]
        nothing_ends = all(watched.final or watched.state == "running" for watched in self._watched.values())
        if not ready and nothing_ends and not any(watched.asked for watched in up):
            ready = up  # a cycle: no order is right
        for watched in ready:
            if not watched.asked:
                watched.asked = True
                watched.unit.drain()

    def _stop(self) -> None:
        self._ending = True
        for watched in self._watched.values():
            if watched.final:
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
