"""The wait of a unit before its start, in words."""

from __future__ import annotations

from blueprint.wording import span, time_limit


def wait_text(waiting: str, since: float | None, until: float | None, now: float) -> str:
    """Return the reason why a unit waits, with the time that has passed and the limit, if there is one.

    The time that is shown is between 0 and the limit, also if the clock was set since the wait began.

    Arguments:
        waiting: what it waits for, such as `waiting for clicks`.
        since: when it began to wait, in seconds since the epoch.
        until: when it fails; None for never.
        now: the current time.
    """
    if since is None or until is None:
        return waiting
    return f"{waiting}; {span(min(now, until) - since)} of {time_limit(until - since)}"
