"""The answers to the probes of a container, from the status of a run."""

from __future__ import annotations

from streamlets.runner.events.health import health_of
from streamlets.runner.events.status import RunStatus

_READY = ("running", "draining", "completed")
"""The states of a streamlet that runs, or has done all its work."""


def alive(status: RunStatus) -> tuple[bool, dict[str, object]]:
    """Return whether a run goes on, and the answer as data: a run that has ended, or hangs, does not answer at all."""
    return status.ended is None, {"application": status.application, "health": status.health}


def ready(status: RunStatus, now: float) -> tuple[bool, dict[str, object]]:
    """Return whether all streamlets run and are healthy, and the answer as data, with the reasons.

    Arguments:
        status: the status of the run.
        now: the current time, in seconds since the epoch.
    """
    states = {streamlet.ref: streamlet.state for streamlet in status.streamlets}
    healths = health_of(status, now)
    run = status.ended is None and bool(states)
    is_ready = run and all(one.health == "healthy" and states[one.ref] in _READY for one in healths)
    streamlets = [one.data() | {"state": states[one.ref]} for one in healths]
    return is_ready, {"application": status.application, "ready": is_ready, "streamlets": streamlets}
