"""`Outcome`: the result of creating or deleting a resource."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from streamlets.channels.base import TopicDamagedError, TopicLostError, TopicWriteError

Result = Literal["created", "exists", "deleted", "kept", "failed"]

ERRORS = (TopicLostError, TopicWriteError, TopicDamagedError, OSError, ValueError)
"""What creating or deleting a resource may raise."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one resource.

    Arguments:
        resource: what it is.
        name: its name.
        channel: the name of the channel of a topic, or of the topic of a consumer group; "" for others.
        result: what happened to it.
        detail: why it was kept, or why that failed; "" otherwise.
        help: what to do, in the imperative; "" where there is nothing to do.
    """

    resource: Literal["topic", "consumer group", "checkpoints", "files", "directory", "table"]
    name: str
    channel: str
    result: Result
    detail: str = ""
    help: str = ""

    @property
    def line(self) -> str:
        """The result for people."""
        reason = f": {self.detail}" if self.detail else ""
        return f"{self.resource} {self.name}: {self.result}{reason}" + (f"; {self.help}" if self.help else "")

    def failed(self, error: Exception) -> Outcome:
        """Return the failure of work on the resource that has raised one of `ERRORS`."""
        detail = str(error) or type(error).__name__
        return replace(self, result="failed", detail=detail, help=getattr(error, "help", ""))


def attempt(outcome: Outcome, work: Callable[[], object]) -> Outcome:
    """Return the outcome of work on a resource: the expected one, or the failure if the work raises one of `ERRORS`."""
    try:
        work()
    except ERRORS as error:
        return outcome.failed(error)
    return outcome
