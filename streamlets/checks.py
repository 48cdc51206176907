"""`Check`: the result of a check of this machine, or of what it is connected to."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class State(enum.StrEnum):
    """The result of a check: fine, worth attention, or the reason why a run would fail."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check.

    Arguments:
        subject: what was checked, such as `Java`.
        state: the result.
        detail: what was found.
        help: what to do, in the imperative; "" where there is nothing to do.
        lasting: with an error: whether it stays until somebody changes something, so that waiting is of no use.
    """

    subject: str
    state: State
    detail: str
    help: str = ""
    lasting: bool = False
