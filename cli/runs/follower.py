"""Requests to a running application, and a follower that prints the progress of a run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.output.errors import fail
from cli.state import applications, only

if TYPE_CHECKING:
    from streamlets.runner.events.status import RunStatus, StreamletStatus
    from streamlets.runner.state_directory.control import Request
    from streamlets.runner.state_directory.directory import StateDirectory

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
        form: `text` for people, or `jsonl` for programs.
        quiet: whether to print no changes.
    """

    def __init__(
        self, state: StateDirectory, only: frozenset[str] = frozenset(), form: str = "text", *, quiet: bool = False
    ) -> None:
        self._quiet = quiet
        self._state = state
        self._form = form
        self._only = only
        self._printed = {streamlet.ref: _entered(streamlet) for streamlet in self.status().streamlets}

    def status(self) -> RunStatus:
        """Return the last status that the run wrote; empty before the first."""
        from streamlets.runner.events.status import RunStatus
        from streamlets.runner.events.status_file import read_status

        written = read_status(self._state.status_file)
        return written.status if written is not None else RunStatus()

    def until(self, reached: Callable[[RunStatus], bool], timeout: float | None) -> RunStatus | None:
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

    def report(self, text: str, **facts: object) -> None:
        """Print what happened.

        Arguments:
            text: for people.
            facts: the same for programs, as JSON values by key.
        """
        if self._form == "jsonl":
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            text = json.dumps({"time": now, "application": self._state.application, **facts})
        click.echo(text)

    def _print_changes(self, status: RunStatus) -> None:
        for streamlet in status.streamlets:
            ref, entered = streamlet.ref, _entered(streamlet)
            previous = self._printed.get(ref, ("", 0.0))
            # A streamlet that left a state and came back between two reads has changed, too. `starting` is printed
            # once, although the streamlet starts first and its queries after it.
            changed = not self._quiet and previous != entered and not entered[0] == previous[0] == "starting"
            if changed and (not self._only or ref in self._only):
                self._print(ref, streamlet.state, streamlet.cause)
            self._printed[ref] = entered

    def _print(self, ref: str, state: str, cause: str) -> None:
        if state in ("running", "completed", "draining"):
            cause = ""
        first, *more = f"{ref}: {state}{f': {cause}' if cause else ''}".splitlines()
        lines = [f"{time.strftime('%H:%M:%S')}  {first}", *(f"            {line}" for line in more)]
        self.report("\n".join(lines), streamlet=ref, state=state, cause=cause or None)


def _entered(streamlet: StreamletStatus) -> tuple[str, float]:
    """Return the state of a streamlet, and when it was entered."""
    return streamlet.state, streamlet.since
