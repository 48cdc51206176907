"""Requests to a running application, and a follower that prints the progress of a run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint.wording import span
from cli.output.errors import fail
from cli.state import applications, only, own_of

if TYPE_CHECKING:
    from streamlets.runner.events.status import RunStatus, StreamletStatus
    from streamlets.runner.state_directory.control import Request
    from streamlets.runner.state_directory.directory import StateDirectory

_ANSWER_TIMEOUT = 90.0
"""Seconds to wait for an answer: a runner that starts Spark answers when Spark is up."""

_ANSWER_AWAITED_AFTER = 5.0
"""Seconds without an answer after which people see that the command waits for one."""

_POLL_INTERVAL = 0.2
"""Seconds between two reads of the status."""

_WAIT_SHOWN_AFTER = 10.0
"""Seconds without a line after which a follower shows what it waits for."""

_ON_THE_WAY = ("starting", "draining", "backing-off")
"""States that a streamlet leaves by itself."""


def running_application(path: Path, state_dir: Path | None, application: str | None) -> StateDirectory:
    """Return the state of the application that is meant: of several in a directory the blueprint's, or the running one.

    The application need not have run yet.

    Raises:
        click.UsageError: there is no application, or there are several others and not exactly one is running.
    """
    states = applications(path, state_dir, application)
    if (own := own_of(states, path)) is not None:
        return own
    running = [state for state in states if state.owner() is not None]
    return running[0] if len(running) == 1 else only(states, path)


def send(state: StateDirectory, request: Request, timeout: float | None = None) -> None:
    """Send a request to the runner, and wait until it is accepted.

    Arguments:
        state: the state directory of the application.
        request: the request.
        timeout: the seconds of `--timeout`, if the command has the option; the wait for the answer is never longer.

    Raises:
        SystemExit: 1, when the runner is not running, does not answer or refuses; an error has been printed.
    """
    from streamlets.runner.state_directory.control import RunnerGoneError, ask
    from streamlets.runner.state_directory.directory import StateError

    begin, shown = time.monotonic(), False

    def sleep(seconds: float) -> None:
        nonlocal shown
        time.sleep(seconds)
        if not shown and time.monotonic() - begin >= _ANSWER_AWAITED_AFTER:
            shown = True
            click.echo(
                f"waiting for {state.application} to answer; it may be starting Spark or verifying a new version",
                err=True,
            )

    try:
        answer = ask(state, request, patience=min(_ANSWER_TIMEOUT, timeout or _ANSWER_TIMEOUT), sleep=sleep)
    except RunnerGoneError as error:
        fail(*_not_running(state, request, str(error)))
    except StateError as error:
        fail(str(error), error.help)
    if answer.refused:
        fail(answer.refused)


def _not_running(state: StateDirectory, request: Request, problem: str) -> tuple[str, str]:
    """Return the message that no run takes a request, and the help."""
    from streamlets.runner.state_directory.directory import is_application

    ran = is_application(state.directory)
    message = problem if ran else f"{state.application} has not run yet"
    help = f"{'run `flow status` to see how it ended, or ' if ran else ''}start it with `flow run`"
    if request.command == "scale":
        help += f", which begins with `flow.streamlets.{request.streamlet}.replicas` of the blueprint"
    return message, help


class Follower:
    """Prints each change of a streamlet's state, and for people also what takes long.

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

    def until(
        self,
        reached: Callable[[RunStatus], bool],
        timeout: float | None,
        waits_for: Callable[[RunStatus], str] = lambda status: "",
    ) -> RunStatus | None:
        """Follow the run until a condition is true or the run has ended.

        Arguments:
            reached: whether a status fulfils the condition.
            timeout: seconds; None for no limit.
            waits_for: the condition in words, which is shown while nothing changes; "" to show nothing.

        Returns:
            The last status; None when the timeout expired.
        """
        begin = shown = time.monotonic()
        while True:
            ended = self._state.owner() is None  # Before the status is read: the last status shows how the run ended.
            status, now = self.status(), time.monotonic()
            if self._print_changes(status):
                shown = now
            if ended or reached(status):
                return status
            if timeout is not None and now >= begin + timeout:
                return None
            if now - shown >= _WAIT_SHOWN_AFTER and (awaited := waits_for(status)) and self._form == "text":
                self._print_wait(awaited, now - begin, status)
                shown = now
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

    def _print_changes(self, status: RunStatus) -> bool:
        """Print the changes since the last call; return whether there were any to print."""
        printed = False
        for streamlet in status.streamlets:
            ref, entered = streamlet.ref, _entered(streamlet)
            previous = self._printed.get(ref, ("", 0.0))
            # A streamlet that left a state and came back between two reads has changed, too. `starting` is printed
            # once, although the streamlet starts first and its queries after it.
            changed = not self._quiet and previous != entered and not entered[0] == previous[0] == "starting"
            if changed and (not self._only or ref in self._only):
                self._print(ref, streamlet.state, streamlet.cause)
                printed = True
            self._printed[ref] = entered
        return printed

    def _print_wait(self, awaited: str, seconds: float, status: RunStatus) -> None:
        from cli.output.streamlets import state

        now = time.time()
        streamlets = ", ".join(
            f"{streamlet.ref} ({state(streamlet, now)})"
            for streamlet in status.streamlets
            if streamlet.state in _ON_THE_WAY and (not self._only or streamlet.ref in self._only)
        )
        text = f"waiting for {awaited}, {span(seconds)} so far{f': {streamlets}' if streamlets else ''}"
        self.report(f"{time.strftime('%H:%M:%S')}  {text}")

    def _print(self, ref: str, state: str, cause: str) -> None:
        if state in ("running", "completed", "draining"):
            cause = ""
        first, *more = f"{ref}: {state}{f': {cause}' if cause else ''}".splitlines()
        lines = [f"{time.strftime('%H:%M:%S')}  {first}", *(f"            {line}" for line in more)]
        self.report("\n".join(lines), streamlet=ref, state=state, cause=cause or None)


def _entered(streamlet: StreamletStatus) -> tuple[str, float]:
    """Return the state of a streamlet, and when it was entered."""
    return streamlet.state, streamlet.since
