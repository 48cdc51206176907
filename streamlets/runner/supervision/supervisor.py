"""Starts units, watches them, restarts them and stops them in order; uses only units and facts, not Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from blueprint.wording import counted
from streamlets.runner.events.run_events import RunStopping, StreamletScaled
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitSplit
from streamlets.runner.supervision.backoff import delay, may_restart
from streamlets.runner.supervision.cycles import Circulation
from streamlets.runner.supervision.dependencies import Dependencies
from streamlets.runner.supervision.environment import Environment
from streamlets.runner.supervision.facts import (
    Became,
    ChannelsAnswered,
    Drain,
    Ended,
    Fact,
    Hung,
    Lost,
    Overlong,
    Progressed,
    Seen,
    Started,
    StopNow,
    Unit,
)
from streamlets.runner.supervision.gate import Go, Refused, TimedOut, Wait
from streamlets.runner.supervision.interruption import Interruptions
from streamlets.runner.supervision.roster import Roster
from streamlets.runner.supervision.steering import Steering
from streamlets.runner.supervision.watched import Watched
from streamlets.spark.failure import Failure

_UNEXPECTED_END = "it ended without a request to stop"
# A query that has not ended so many seconds after an immediate stop ends with Spark.
_STOP_PATIENCE = 10.0
# So many seconds after its start, a drain no longer waits for producers, whose last records their consumers read.
_PRODUCERS_FIRST = 2.0
# Failures within so many seconds of each other may have one cause.
_TOGETHER = 1.0


class Supervisor:
    """The state machine of a run.

    Arguments:
        units: the units in topological order.
        dependencies: what streamlets require of each other at their start and at their end.
        environment: clocks, randomness, and where the events go.
        in_order: for a bounded run: start a streamlet only once its producers have ended, whatever its inlets require,
            and let a unit fail for good that fails again without progress. Otherwise only settings limit restarts.
        drain_within: seconds after which a drain becomes a stop at once; None for never.
        fail_fast: drain the run as soon as one unit has failed for good.
        paused: the streamlets that stay stopped until they are resumed, with the cause.

    Attributes:
        deadlock: why the run is ended because no unit could start any more, see `Roster.deadlock`; empty if it is not.
        steering: which streamlets are paused and restarted together.
    """

    def __init__(
        self,
        units: Iterable[Unit],
        dependencies: Dependencies,
        environment: Environment,
        *,
        in_order: bool,
        drain_within: float | None = None,
        fail_fast: bool = False,
        paused: Mapping[str, str] | None = None,
    ) -> None:
        self._roster = Roster(units, dependencies, environment, in_order=in_order)
        self.steering = Steering(self._roster, drain_within)
        self._interruptions = Interruptions(environment)
        self._in_order = in_order
        self._environment = environment
        self._clock, self._timer, self._emit = environment.clock, environment.timer, environment.emit
        self._drain_within = drain_within
        self._fail_fast = fail_fast
        self._deadline: float | None = None  # of the drain, then of the stop
        self._stopping = False
        self._hurry_at: float | None = None
        self._last_failure = float("-inf")
        self.deadlock = ""
        for watched in self._roster:
            if paused and watched.unit.id.streamlet in paused:
                watched.pause(paused[watched.unit.id.streamlet])
        for watched in self._roster:
            if watched.state == "paused":
                continue
            gate = self._roster.gate(watched, self._timer())
            if isinstance(gate, Wait):
                watched.wait(gate, self._roster.described(gate))
            else:
                watched.due = self._timer()
                watched.enter("starting")

    @property
    def done(self) -> bool:
        """Whether every unit has ended."""
        return all(map(self._roster.over, self._roster))

    @property
    def ending(self) -> bool:
        """Whether the run is being drained or stopped."""
        return self._roster.ending

    @property
    def failed(self) -> tuple[UnitId, ...]:
        """The units that failed for good, in order."""
        return tuple(watched.unit.id for watched in self._roster if watched.state == "failed")

    @property
    def completed(self) -> bool:
        """Whether every unit has processed all that it had to, and ended by itself."""
        return all(watched.state == "completed" for watched in self._roster)

    @property
    def units(self) -> tuple[UnitId, ...]:
        """All units, in order."""
        return tuple(watched.unit.id for watched in self._roster)

    def check(self) -> None:
        """Let every started unit check whether it has ended without a report, or is stuck."""
        for watched in self._roster:
            if watched.launched:
                watched.unit.check()

    def tick(self) -> float | None:
        """Start the units that are due, and stop those whose drain takes too long.

        Returns:
            The seconds until the next call is needed; None if only a fact can change anything.
        """
        now = self._timer()
        if self._deadline is not None and self._deadline <= now and not self.done:
            self._overdue()
        if self._hurry_at is not None and self._hurry_at <= now:
            self._hurry_at, self._roster.hurried = None, True
            self._drain()
        for watched in self._roster:
            if watched.due is not None and watched.due <= now:
                self._admit(watched)
            if watched.until is not None and watched.until <= now:
                watched.until = None
                watched.unit.stop()
        steps = self._interruptions.tick()
        ahead = [*steps, *(time for watched in self._roster for time in (watched.due, watched.until))]
        waiting = [time for time in (*ahead, self._deadline, self._hurry_at) if time is not None]
        if not waiting and not self.ending and (deadlock := self._roster.deadlock):
            self.deadlock = deadlock
            self._begin_drain(deadlock, None)
        return max(0.0, min(waiting) - self._timer()) if waiting else None

    def handle(self, fact: Fact) -> None:
        """Handle a fact. Facts about an earlier run of a unit are ignored."""
        match fact:
            case Started(unit, run) if (watched := self._current(unit, run)) and not watched.up:
                self._started(watched)
            case Became(unit, run, parts) if watched := self._current(unit, run):
                self._became(watched, parts)
            case Progressed(run, progress) if watched := self._current(progress.unit, run):
                watched.attempts = watched.attempts.processed(self._timer(), progress.rows)
                self._interruptions.progressed(progress.unit)
                if circulation := self._roster.circulation(watched):
                    circulation.progressed(progress)
                self._emit(progress)
            case Ended(unit, run, failure) if watched := self._current(unit, run):
                self._ended(watched, failure)
            case Drain(cause, within):
                self._begin_drain(cause, within)
            case StopNow(cause):
                self._stop(cause)
            case Lost(failure, host):
                self._lose(failure, host)
            case Overlong(unit) if (watched := self._roster.find(unit)) and watched.up:
                self._interruptions.overlong(watched, fact)
            case Hung(run, event) if watched := self._current(event.unit, run):
                self._emit(event)
                self._interruptions.hung(watched, fact)
            case ChannelsAnswered(unit, refusals) if watched := self._roster.find(unit):
                self._roster.outlets.answered(watched, refusals)
            case Seen(event):
                self._emit(event)
                self._interruptions.seen(event)
                self.steering.seen(event)

    def pause(self, streamlet: str, cause: str) -> str:
        """Drain a streamlet's queries and keep them stopped until it is resumed; return the reason for a refusal."""
        refusal = self.steering.pause(streamlet, cause)
        self._release()
        return refusal

    def resume(self, streamlet: str, cause: str) -> str:
        """Start a paused streamlet again; return the reason for a refusal."""
        refusal = self.steering.resume(streamlet, cause)
        self._release()
        return refusal

    def restart(self, streamlet: str, cause: str) -> str:
        """Drain a streamlet's queries and start them again, see `Steering.restart`; return the reason for a refusal."""
        refusal = self.steering.restart(streamlet, cause)
        self._release()
        return refusal

    def scale(self, streamlet: str, replicas: int | None, cause: str) -> str:
        """Give a streamlet a number of replicas, see `Steering.scale`; return the reason for a refusal."""
        refusal = self.steering.scale(streamlet, replicas, cause)
        if not refusal:
            self._emit(StreamletScaled(self._clock(), streamlet, replicas, cause))
        self._release()
        return refusal

    def stop_query(self, unit: UnitId, cause: str) -> str:
        """Drain one query and keep it stopped, see `Steering.stop`; return the reason for a refusal."""
        refusal = self.steering.stop(unit, cause)
        self._release()
        return refusal

    def clock_set_back(self, seconds: float) -> None:
        """Restart the running units whose next batch would be late because the wall clock was set back."""
        self.steering.restart_triggered(f"the clock was set back by {seconds:.0f} s")

    def _current(self, unit: UnitId, run: int) -> Watched | None:
        watched = self._roster.find(unit)
        return watched if watched is not None and watched.launched and watched.run == run else None

    def _admit(self, watched: Watched) -> None:
        """Start a unit that is due if its gate is open; otherwise let it wait, or fail if it has waited too long."""
        match self._roster.gate(watched, self._timer()):
            case Go():
                circulation = self._roster.circulation(watched)
                watched.circulated = circulation.records if circulation is not None else 0
                watched.start(self._roster.final_runs(watched))
            case Wait() as wait:
                watched.wait(wait, self._roster.described(wait))
            case TimedOut(cause=cause) | Refused(cause=cause):
                watched.due = None
                self._retry(watched, Failure(cause))
                self._after_failure(watched)

    def _started(self, watched: Watched) -> None:
        opened = watched.opened
        watched.enter("running")
        if not opened:
            self._release()
        if self.ending:
            self._drain()
        elif watched.then is not None:
            self.steering.drain(watched)
        else:
            self._let_finish(watched)

    def _let_finish(self, watched: Watched) -> None:
        """Restart a running unit whose producers have ended, for a last run to the end of what they wrote."""
        if watched.state != "running" or watched.asked or watched.then is not None:
            return
        runs = self._roster.final_runs(watched)
        if runs is not None and watched.reads_to is None:
            self.steering.finish(watched, "its producers have ended")

    def _became(self, watched: Watched, parts: tuple[Unit, ...]) -> None:
        now, replicas = self._timer(), watched.replicas
        queries = [Watched(part, self._environment, due=now, replicas=replicas, accepted=True) for part in parts]
        self._roster.replace(watched, queries)
        self._emit(UnitSplit(self._clock(), watched.unit.id, tuple(part.id.part for part in parts)))
        for part in queries:
            if watched.then == "pause":
                part.pause(watched.because)
            else:
                part.enter("starting")
        if self.ending:
            self._drain()

    def _ended(self, watched: Watched, failure: Failure | None) -> None:
        watched.launched, watched.until = False, None
        watched.attempts = watched.attempts.settled(watched.unit.retry, self._timer())
        interruption = self._interruptions.ended(watched.unit.id)
        if watched.then is not None and not self.ending:
            watched.carry_out_request(failure)
        elif interruption is not None:
            self._retry(watched, interruption.failure(failure))
        elif failure is None and watched.unit.bounded and not watched.asked:
            watched.enter("completed")
        elif failure is None and watched.reads_to is not None and not watched.asked:
            if self._roster.final_runs(watched) == watched.reads_to:
                watched.enter("completed")
            else:
                watched.start_again("a producer has been started again")
        elif failure is None and (watched.asked or self.ending):
            watched.enter("stopped")
        elif failure is not None and failure.fatal and not watched.asked:
            watched.fail(failure, failure.cause_with(failure.fatal))
        elif failure is not None and self.ending:
            # The batch is replayed at the next start; a restart now would delay the stop.
            watched.enter("stopped", failure.of_the_end, failure.frames, hook=failure.hook)
        else:
            self._retry(watched, failure or Failure(_UNEXPECTED_END))
        if (circulation := self._roster.circulation(watched)) and not self.ending:
            self._circulate(circulation, failed=failure is not None or interruption is not None)
        self._after_failure(watched)

    def _circulate(self, circulation: Circulation, *, failed: bool) -> None:
        """Start the units of a cycle again that have not read the last records that came back."""
        if failed:
            circulation.failed()
        for behind in self._roster.behind(circulation):
            behind.start_again("records have come back in its cycle")

    def _after_failure(self, watched: Watched) -> None:
        """Carry out `--fail-fast`, and release the units that waited for this one."""
        if watched.state == "failed" and self._fail_fast and not self.ending:
            self._begin_drain(f"{watched.unit.id} failed for good, and --fail-fast is set", None)
        self._release()

    def _retry(self, watched: Watched, failure: Failure) -> None:
        """Let it wait for its next attempt, or fail for good if there is none."""
        if failure.disturbance:
            watched.attempts = watched.attempts.disturbed()
        else:
            watched.attempts = watched.attempts.failed(failure.cause)
        attempts, restarts, retry = watched.attempts, watched.attempts.restarts, watched.unit.retry
        hopeless = self._in_order and attempts.hopeless
        if not hopeless and may_restart(retry, 0 if attempts.disturbances else restarts):
            tries = attempts.disturbances - 1 if attempts.disturbances else restarts
            together = self._timer() - self._last_failure < _TOGETHER
            self._last_failure = self._timer()
            wait = delay(retry, tries, self._environment.uniform, together=together)
            watched.due = self._timer() + wait
            watched.enter("backing-off", failure.cause, failure.frames, wait, hook=failure.hook, lost=failure.lost)
        else:
            tries = restarts + attempts.disturbances
            count = f"abandoned after {counted(tries, 'restart')}"
            watched.fail(failure, failure.cause_with(count if tries else "restarts are off"))

    def _release(self) -> None:
        """Start, or drain, the units that waited for one that has ended now."""
        if self.ending:
            self._drain()
            return
        for watched in self._roster:
            if watched.waits:
                watched.due = self._timer()  # its gate is looked at
            else:
                self._let_finish(watched)

    def _begin_drain(self, cause: str, within: float | None) -> None:
        if self._stopping:
            return
        limit = self._drain_within if within is None else within
        if not self.ending:
            self._hurry_at = self._timer() + _PRODUCERS_FIRST
        if not self.ending or within is not None:
            self._deadline = None if limit is None else self._timer() + limit
            self._drained_within = limit or 0.0
            self._emit(RunStopping(self._clock(), cause, within=limit))
        self._drain()

    def _drain(self) -> None:
        self._roster.ending = True
        self._interruptions.close()
        for watched in self._roster:
            if not self._roster.over(watched) and not watched.launched:
                watched.due = None
                watched.enter("stopped")
        for watched in self._roster.to_drain():
            watched.drain()

    def _overdue(self) -> None:
        if not self._stopping:
            self._stop(f"not drained within {self._drained_within:g} s")
            return
        for watched in self._roster:
            if not self._roster.over(watched):
                watched.due, watched.launched = None, False
                watched.enter("stopped", f"it did not end within {_STOP_PATIENCE:g} s of the stop")

    def _stop(self, cause: str) -> None:
        if self._stopping:
            return
        self._roster.ending = self._stopping = True
        self._interruptions.close()
        self._deadline = self._timer() + _STOP_PATIENCE
        self._emit(RunStopping(self._clock(), cause, at_once=True))
        for watched in self._roster:
            if self._roster.over(watched):
                continue
            if watched.launched:
                watched.stop()
            else:
                watched.due = None
                watched.enter("stopped")

    def _lose(self, failure: Failure, host: str) -> None:
        for watched in self._roster:
            if watched.launched and watched.unit.host == host:
                self._ended(watched, failure)
