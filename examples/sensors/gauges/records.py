"""The records of the topics, as dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass
class Reading:
    """A reading of a gauge."""

    gauge: str
    at: datetime
    value: float


@dataclass
class Average:
    """The mean of a gauge over a window that ended at `until`."""

    gauge: str
    until: datetime
    value: float
    readings: int
