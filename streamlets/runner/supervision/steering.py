"""What somebody may do to a single streamlet while the others go on: pause it, resume it, restart it."""

from __future__ import annotations

from streamlets.runner.supervision.roster import Roster
from streamlets.runner.supervision.watched import Watched


class Steering:
    """Has streamlets go down and come up again. Each order gives why it is refused, empty when it is not.

    Arguments:
        drain_within: seconds after which a unit that is to go down is stopped at once; None for never.
    """

    def __init__(self, roster: Roster, drain_within: float | None) -> None:
        self._roster = roster
        self._drain_within = drain_within

    def pause(self, streamlet: str, cause: str) -> str:
        """Drain a streamlet's queries and keep them down until it is resumed."""
        if refused := self._refused(streamlet):
            return refused
        units = self._roster.of(streamlet)
        those = [watched for watched in units if watched.state not in ("completed", "failed")]
        for watched in those:
            watched.then, watched.because = "pause", cause
            if not watched.launched:
                watched.pause(cause)
            elif watched.state == "running":
                self.carry_on(watched)
        return "" if those else f"`{streamlet}` has {units[0].state} already"

    def resume(self, streamlet: str, cause: str) -> str:
        """Start again what was paused."""
        if refused := self._refused(streamlet):
            return refused
        those = [watched for watched in self._roster.of(streamlet) if _is_held(watched)]
        for watched in those:
            self._begin_again(watched, cause)
        return "" if those else f"`{streamlet}` is not paused"

    def restart(self, streamlet: str, cause: str) -> str:
        """Drain a streamlet's queries and start them anew, also when they have failed for good, completed, or wait for
        their next attempt."""
        if refused := self._refused(streamlet):
            return refused
        those = self._roster.of(streamlet)
        if any(map(_is_held, those)):
            return f"`{streamlet}` is paused: resume it"
        for watched in those:
            self._begin_again(watched, cause)
        return ""

    def rouse(self, cause: str) -> None:
        """Have each unit that is up and not on its way down begin anew: what it waits for comes too late."""
        for watched in self._roster:
            if watched.state == "running" and not watched.asked and not self._roster.ending:
                self._begin_again(watched, cause)

    def carry_on(self, watched: Watched) -> None:
        """It is up: have it go down for what is wanted of it."""
        watched.go_down(self._drain_within)

    def _refused(self, streamlet: str) -> str:
        if not self._roster.of(streamlet):
            return f"there is no streamlet `{streamlet}`"
        return "the run is ending" if self._roster.ending else ""

    def _begin_again(self, watched: Watched, cause: str) -> None:
        watched.because = cause
        if not watched.launched:
            watched.come_back(cause)
        elif watched.state == "running":
            watched.then = "restart"
            self.carry_on(watched)
        else:
            watched.then = None  # it is being started as it is


def _is_held(watched: Watched) -> bool:
    return watched.paused or watched.then == "pause"
