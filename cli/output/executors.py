"""The executors of a Spark on a cluster as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blueprint.wording import counted, span

if TYPE_CHECKING:
    from streamlets.runner.events.executors import Executors


def executors_line(executors: Executors, now: float) -> str:
    """Return the number and health of executors in one line.

    Arguments:
        executors: the executors.
        now: the current time in seconds since the epoch.
    """
    parts = [f"{executors.number} with {counted(executors.cores, 'core')}"]
    if executors.missing_since is not None:
        parts = [f"none for {span(now - executors.missing_since)}"]
    if executors.lost:
        parts.append(f"{executors.lost} lost since the start of Spark")
    if executors.master_lost_since is not None:
        parts.append(f"the master has not answered for {span(now - executors.master_lost_since)}")
    return "; ".join(parts)
