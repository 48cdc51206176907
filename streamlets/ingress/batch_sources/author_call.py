"""`Call`: a running call of the author's code in a discovery, and for how long it has been running."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the author's code.

    Arguments:
        what: the call, in words; empty if none is running.
        since: when it began, by the monotonic clock.
        discovers: whether it is a discovery.
    """

    what: str = ""
    since: float = 0.0
    discovers: bool = False

    @property
    def seconds(self) -> float:
        """For how long it has been running; 0 if none is."""
        return time.monotonic() - self.since if self.what else 0.0
