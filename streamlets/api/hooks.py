"""The hooks of a logic: `on_start` before the first query of a streamlet starts, `on_stop` after the last has ended."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from streamlets.api.errors import StreamletError

Hook = Literal["on_start", "on_stop"]
"""The name of a hook."""


@dataclass(frozen=True, slots=True)
class StopCause:
    """Why a streamlet stops.

    Arguments:
        state: `completed` when its queries have read all that they were to read, `stopped` on request (also for a
            restart, a pause or an upgrade), `failed` when the last of its queries, or another before it, has failed.
        error: the message of the failure; empty without one.

    Example:
        >>> from streamlets import StopCause
        >>> str(StopCause("failed", "ConnectionError: refused"))
        'failed: ConnectionError: refused'
    """

    state: Literal["completed", "stopped", "failed"]
    error: str = ""

    def __str__(self) -> str:
        return f"{self.state}: {self.error}" if self.error else self.state


def check_hook(hook: Hook, method: Callable[..., object], arguments: int) -> None:
    """Check that a hook can be called, as long as nothing has started.

    Arguments:
        hook: its name.
        method: the bound method.
        arguments: the number of its arguments.

    Raises:
        StreamletError: it takes other arguments, or is a coroutine, which nothing would await.
    """
    if inspect.iscoroutinefunction(method):
        raise StreamletError(f"`{hook}` is `async`, so nothing would run it: define it with `def`")
    try:
        inspect.signature(method).bind(*[None] * arguments)
    except TypeError as error:
        expected = f"def {hook}(self{', cause' * arguments})"
        raise StreamletError(f"`{hook}` cannot be called ({error}): define it as `{expected}`") from None
