"""Requests to a running application, and a follower that prints the progress of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.output.errors import fail
from cli.state import applications, only

if TYPE_CHECKING:
    from streamlets.runner.state_directory.control import Request
    from streamlets.runner.state_directory.directory import StateDirectory

Status = Mapping[str, Any]
Streamlet = Mapping[str, Any]

_ANSWER_TIMEOUT = 90.0
"""Seconds to wait for an answer: a runner that starts Spark answers when Spark is up."""

_POLL_INTERVAL = 0.2
"""Seconds between two reads of the status."""


def running_application(path: Path, state_dir: Path | None, application: str | None) -> StateDirectory:
    """Return the state of the application that is meant; of several in a directory, that of the running one.

    The application need not have run yet.

    Raises:
        click.UsageError: there is no application, or there are several and not exactly one is running.
    """
    states = applications(path, state_dir, application)
    running = [state for state in states if state.owner() is not None]
    return running[0] if len(running) == 1 else only(states)


def send(state: StateDirectory, request: Request) -> None:
    """Send a request to the runner, and wait until it is accepted.

    Raises:
        SystemExit: 1, when the runner is not running, does not answer or refuses; an error has been printed.
    """
    from streamlets.runner.state_directory.control import RunnerGoneError, ask
    from streamlets.runner.state_directory.directory import StateError

    try:
        answer = ask(state, request, patience=_ANSWER_TIMEOUT)
    except RunnerGoneError as error:
        fail(str(error), "run `flow status` to see how it ended, or start it with `flow run`")
    except StateError as error:
        fail(str(error), error.help)
    if answer.refused:
        fail(answer.refused)


class Follower:
    """Prints each change of a streamlet's state.

    Arguments:
        state: the state directory of the application.
        only: the names of the streamlets to print; empty for all.
    """

    def __init__(self, state: StateDirectory, only: frozenset[str] = frozenset()) -> None:
        self._state = state
        self._only = only
        self._printed = {streamlet["ref"]: _entered(streamlet) for streamlet in streamlets(self.status())}

    def status(self) -> Status:
        """Return the last status that the run wrote; empty before the first."""
        from streamlets.runner.state_directory.directory import read_status

        return read_status(self._state) or {}

    def until(self, reached: Callable[[Status], bool], timeout: float | None) -> Status | None:
        """Follow the run until a condition is true or the run has ended.

        Arguments:
            reached: whether a status fulfils the condition.
            timeout: seconds; None for no limit.

        Returns:
            The last status; None when the timeout expired.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            ended = self._state.owner() is None  # Before the status is read: the last status shows how the run ended.
            status = self.status()
            self._print_changes(status)
            if ended or reached(status):
                return status
            if end is not None and time.monotonic() >= end:
                return None
            time.sleep(_POLL_INTERVAL)

    def _print_changes(self, status: Status) -> None:
        for streamlet in streamlets(status):
            ref, entered = streamlet["ref"], _entered(streamlet)
            previous = self._printed.get(ref, ("", 0.0))
            # A streamlet that left a state and came back between two reads has changed, too. `starting` is printed
            # once, although the streamlet starts first and its queries after it.
            changed = previous != entered and not entered[0] == previous[0] == "starting"
            if changed and (not self._only or ref in self._only):
                self._print(ref, entered[0], streamlet.get("cause") or "")
            self._printed[ref] = entered

    @staticmethod
    def _print(ref: str, state: str, cause: str) -> None:
        if state in ("running", "completed", "draining"):
            cause = ""
        first, *more = f"{ref}: {state}{f': {cause}' if cause else ''}".splitlines()
        click.echo(f"{time.strftime('%H:%M:%S')}  {first}")
        for line in more:
            click.echo(f"            {line}")


def streamlets(status: Status) -> list[Streamlet]:
    """Return the streamlets of a status in topological order."""
    entries = status.get("streamlets")
    return entries if isinstance(entries, list) else []


def since(streamlet: Streamlet) -> float:
    """Return when the last of a streamlet's queries entered its state, in seconds since the epoch."""
    return max((unit["since"] for unit in streamlet["units"]), default=0.0)


def _entered(streamlet: Streamlet) -> tuple[str, float]:
    """Return the state of a streamlet, and when it was entered."""
    return shown_state(streamlet), since(streamlet)


def is_drained(streamlet: Streamlet) -> bool:
    """Return whether a streamlet still runs, but only to finish its batch."""
    return any(unit["state"] == "running" and unit["cause"] for unit in streamlet["units"])


def shown_state(streamlet: Streamlet) -> str:
    """Return a streamlet's state as commands show it, with `draining` and `paused`."""
    if is_drained(streamlet):
        return "draining"
    return "paused" if streamlet["state"] == "stopped" and streamlet.get("paused") else str(streamlet["state"])
