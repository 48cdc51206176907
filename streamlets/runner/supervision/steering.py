"""Control of a single streamlet while the others go on: pause, resume, restart, scale; the stop of a single query."""

from __future__ import annotations

from streamlets.runner.events.event import Event
from streamlets.runner.events.fusion_events import StreamletsFused
from streamlets.runner.events.status import UnitId
from streamlets.runner.supervision.roster import Roster
from streamlets.runner.supervision.watched import FINAL, Watched


class Steering:
    """Pauses, resumes, restarts and scales streamlets, and stops queries.

    Each of these returns the reason for a refusal, empty if it is carried out.

    Arguments:
        drain_within: seconds after which a draining unit is stopped at once; None for never.
    """

    def __init__(self, roster: Roster, drain_within: float | None) -> None:
        self._roster = roster
        self._drain_within = drain_within
        self._fused: dict[str, tuple[str, ...]] = {}  # the streamlets of its fused query, by streamlet

    def together_with(self, streamlet: str) -> tuple[str, ...]:
        """Return the streamlets that are paused, resumed, restarted and scaled together with one, which is among them.

        These are the streamlets of one fused query.
        """
        return self._fused.get(streamlet, (streamlet,))

    def seen(self, event: Event) -> None:
        """Take the event that streamlets are fused; if one of them is paused, all of them are."""
        if not isinstance(event, StreamletsFused):
            return
        self._fused |= dict.fromkeys(event.streamlets, event.streamlets)
        paused = next((unit for unit in self._units(event.streamlets[0]) if _is_paused(unit)), None)
        if paused is not None and not self._roster.ending:
            self.pause(event.streamlets[0], paused.cause or paused.because)

    def pause(self, streamlet: str, cause: str) -> str:
        """Drain a streamlet's queries and keep them stopped until it is resumed."""
        if refusal := self._refusal(streamlet):
            return refusal
        units = self._units(streamlet)
        active = [watched for watched in units if watched.state not in FINAL and watched.then != "stop"]
        for watched in active:
            watched.then, watched.because = "pause", self._cause(watched, streamlet, cause)
            if not watched.launched:
                watched.pause(watched.because)
            elif watched.up:
                self.drain(watched)
        ended = units[0].state if units[0].state in FINAL else "been stopped"
        return "" if active else f"`{streamlet}` has already {ended}"

    def resume(self, streamlet: str, cause: str) -> str:
        """Start a paused streamlet again."""
        if refusal := self._refusal(streamlet):
            return refusal
        paused = [watched for watched in self._units(streamlet) if _is_paused(watched)]
        for watched in paused:
            self._restart(watched, self._cause(watched, streamlet, cause))
        return "" if paused else f"`{streamlet}` is not paused"

    def restart(self, streamlet: str, cause: str) -> str:
        """Drain a streamlet's queries and start them again.

        This includes queries that have failed for good, have completed, or wait for their next attempt.
        """
        if refusal := self._refusal(streamlet):
            return refusal
        units = self._units(streamlet)
        if any(map(_is_paused, units)):
            return f"`{streamlet}` is paused: resume it"
        for watched in units:
            self._restart(watched, self._cause(watched, streamlet, cause))
        return ""

    def scale(self, streamlet: str, replicas: int | None, cause: str) -> str:
        """Start a streamlet's queries with a number of replicas from now on; those that are running are drained before.

        Queries that are paused or have ended begin with it when they are started again.

        Arguments:
            replicas: the number; None for the setting.
        """
        if refusal := self._refusal(streamlet):
            return refusal
        units = self._units(streamlet)
        scalable = [watched for watched in units if not watched.unit.unscalable]
        if not scalable:
            return f"`{streamlet}` has no replicas: {units[0].unit.unscalable}"
        if all(watched.replicas == replicas for watched in scalable):
            return f"`{streamlet}` has this number of replicas already"
        for watched in scalable:
            watched.replicas = replicas
            if watched.state in FINAL or _is_paused(watched) or watched.then == "stop":
                continue
            self._restart(watched, self._cause(watched, streamlet, cause))
        return ""

    def stop(self, unit: UnitId, cause: str) -> str:
        """Drain one query and keep it stopped until its streamlet is restarted, or the run has ended.

        In contrast to a paused query, it has ended: a run ends when all its queries have.
        """
        if refusal := self._refusal(unit.streamlet):
            return refusal
        if unit.streamlet in self._fused:
            others = ", ".join(f"`{ref}`" for ref in self._fused[unit.streamlet] if ref != unit.streamlet)
            return f"`{unit}` is one query with {others}: pause them instead"
        watched = self._roster.find(unit)
        if watched is None:
            units = self._roster.of(unit.streamlet)
            starting = not any(other.unit.id.part for other in units)
            return f"`{unit.streamlet}` is starting: try again" if starting else f"there is no query `{unit}`"
        if watched.state in FINAL:
            return f"`{unit}` has already {watched.state}"
        if _is_paused(watched):
            return f"`{unit}` is paused"
        watched.because = cause
        if not watched.launched:
            watched.end(cause)
            return ""
        watched.then = "stop"
        if watched.up:
            self.drain(watched)
        return ""

    def restart_triggered(self, cause: str) -> None:
        """Restart each running unit with batches triggered by the wall clock that is not being drained or stopped."""
        for watched in self._roster:
            triggered = watched.unit.wall_clock and watched.state == "running"
            if triggered and not watched.asked and not self._roster.ending:
                self._restart(watched, cause)

    def finish(self, watched: Watched, cause: str) -> None:
        """Restart a running unit for its last run."""
        self._restart(watched, cause)

    def drain(self, watched: Watched) -> None:
        """Drain a running unit that is to be paused or restarted."""
        watched.drain_for_request(self._drain_within)

    def _units(self, streamlet: str) -> list[Watched]:
        """Return the units of a streamlet, its own first, and of those that are one query with it."""
        others = [ref for ref in self.together_with(streamlet) if ref != streamlet]
        return [watched for ref in (streamlet, *others) for watched in self._roster.of(ref)]

    @staticmethod
    def _cause(watched: Watched, streamlet: str, cause: str) -> str:
        """Return the cause of a request about a streamlet for a unit, which may be of one that is fused with it."""
        return cause if watched.unit.id.streamlet == streamlet else f"{cause}; it is one query with {streamlet}"

    def _refusal(self, streamlet: str) -> str:
        if not self._roster.of(streamlet):
            return f"there is no streamlet `{streamlet}`"
        return "the run is ending" if self._roster.ending else ""

    def _restart(self, watched: Watched, cause: str) -> None:
        watched.because = cause
        if not watched.launched:
            watched.start_again(cause)
        elif watched.up:
            watched.then = "restart"
            self.drain(watched)
        else:
            up_to_date = watched.replicas == watched.started_with
            watched.then = None if up_to_date else "restart"  # it is already being started


def _is_paused(watched: Watched) -> bool:
    return watched.state == "paused" or watched.then == "pause"
