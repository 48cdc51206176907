"""What commands that steer a runner have in common: sending the request, and showing what comes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from cli.durations import DurationType

if TYPE_CHECKING:
    from streamlets.runner.state_directory.control import Request
    from streamlets.runner.state_directory.directory import StateDirectory

Status = Mapping[str, Any]
Streamlet = Mapping[str, Any]

# A runner that starts Spark answers when that is done.
_ANSWER_PATIENCE = 90.0
_LOOK_EVERY = 0.2


def timeout_option(help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command `--timeout`."""
    return click.option("--timeout", type=DurationType(), metavar="DURATION", help=help)


def the_running(path: Path, state_dir: Path | None, application: str | None) -> StateDirectory:
    """The application that is meant; of several in a directory, the one that runs. It may not have run yet.

    Raises:
        click.UsageError: there is no application, or there are several and none or more than one runs.
    """
    from cli.state import applications, only

    known = applications(path, state_dir, application)
    running = [each for each in known if each.owner() is not None]
    return running[0] if len(running) == 1 else only(known)


def send(state: StateDirectory, wanted: Request) -> None:
    """Have the runner take a request.

    Raises:
        SystemExit: it is not running, does not answer or refuses: 1, with the reason on the standard error.
    """
    from streamlets.runner.state_directory.control import RunnerGoneError, ask
    from streamlets.runner.state_directory.directory import StateError

    try:
        answer = ask(state, wanted, patience=_ANSWER_PATIENCE)
    except RunnerGoneError as error:
        fail(str(error), "`flow status` says how it ended, and `flow run` starts it")
    except StateError as error:
        fail(str(error), error.help)
    if answer.refused:
        fail(answer.refused)


def fail(message: str, help: str = "") -> NoReturn:
    """Say why it failed, and end with 1."""
    click.echo(f"error: {message}" + (f"\n  help: {help}" if help else ""), err=True)
    raise SystemExit(1)


class Follower:
    """Prints each change of a streamlet's state, until what is waited for is there.

    Arguments:
        only: the streamlets of interest; empty for all.
    """

    def __init__(self, state: StateDirectory, only: frozenset[str] = frozenset()) -> None:
        self._state = state
        self._only = only
        self._told = {each["ref"]: (shown_state(each), since(each)) for each in streamlets(self.status())}

    def status(self) -> Status:
        """What the run last wrote down."""
        from streamlets.runner.state_directory.directory import read_status

        return read_status(self._state) or {}

    def until(self, there: Callable[[Status], bool], timeout: float | None) -> Status | None:
        """Follow the run until `there`, or until it has ended; None when neither comes within `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            over = self._state.owner() is None  # before the status is read: the last one says how it ended
            status = self.status()
            self._tell(status)
            if over or there(status):
                return status
            if end is not None and time.monotonic() >= end:
                return None
            time.sleep(_LOOK_EVERY)

    def _tell(self, status: Status) -> None:
        for each in streamlets(status):
            ref, now = each["ref"], shown_state(each)
            # A state that came back between two looks is a change, too; a streamlet starts first, then its queries do.
            came = self._told.get(ref, ("", 0.0))
            news = came != (now, since(each)) and not now == came[0] == "starting"
            if news and (not self._only or ref in self._only):
                cause = "" if now in ("running", "completed", "draining") else each.get("cause") or ""
                first, *more = f"{ref}: {now}{f': {cause}' if cause else ''}".splitlines()
                click.echo(f"{time.strftime('%H:%M:%S')}  {first}")
                for text in more:
                    click.echo(f"            {text}")
            self._told[ref] = (now, since(each))


def streamlets(status: Status) -> list[Streamlet]:
    """The streamlets of a status, producers first."""
    found = status.get("streamlets")
    return found if isinstance(found, list) else []


def since(streamlet: Streamlet) -> float:
    """When the last of its queries entered its state."""
    return max((unit["since"] for unit in streamlet["units"]), default=0.0)


def is_drained(streamlet: Streamlet) -> bool:
    """Whether it still runs, but only to finish its batch."""
    return any(unit["state"] == "running" and unit["cause"] for unit in streamlet["units"])


def shown_state(streamlet: Streamlet) -> str:
    """A streamlet's state as people are told it."""
    if is_drained(streamlet):
        return "draining"
    return "paused" if streamlet["state"] == "stopped" and streamlet.get("paused") else str(streamlet["state"])
