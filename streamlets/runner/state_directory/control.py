"""What other terminals ask of a runner: each request is a file in the state folder, and so is its answer.

Who may write to the state folder may command its runner, and nobody else. It works wherever the folder does: in
containers, on shared file systems, under paths that are too long for a socket.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from streamlets.runner.state_directory.directory import ACCESS, StateDirectory, StateError, write_atomically

Command = Literal["stop", "stop-now", "pause", "resume", "restart", "upgrade"]

LOOK_EVERY = 0.2
"""Seconds between two looks for requests; a look at an empty folder takes some ten microseconds."""

_REQUEST = ".request"
_ANSWER = ".answer"
_COMMANDS: tuple[str, ...] = get_args(Command)


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody wants of a runner.

    Arguments:
        id: of this request, unlike any other.
        command: what is to be done; by: who wants it.
        streamlet: with which one; empty where a command is about the application.
        within: for `stop`, the seconds a drain may take.
        arguments: for `upgrade`, those of the new version's `flow run`: path, `--conf` and settings.
        reset: for `upgrade`, queries (or streamlets) whose checkpoints are forgotten before the new version starts.
    """

    id: str
    command: Command
    by: str
    streamlet: str = ""
    within: float | None = None
    arguments: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()

    @property
    def cause(self) -> str:
        """The request as the cause of what follows."""
        done = {"stop": "stopped", "stop-now": "stopped at once"}.get(self.command, _past(self.command))
        return f"{done} by {self.by}"


def _past(command: str) -> str:
    return command + ("d" if command.endswith("e") else "ed")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the runner says: `refused` says why it will not, and is empty when it will."""

    refused: str = ""


def request(
    command: Command,
    *,
    streamlet: str = "",
    within: float | None = None,
    arguments: tuple[str, ...] = (),
    reset: tuple[str, ...] = (),
) -> Request:
    """A request of this user's."""
    try:
        by = getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        by = f"user {os.getuid()}"
    return Request(uuid.uuid4().hex, command, by, streamlet, within, arguments, reset)


class RunnerGoneError(Exception):
    """The application is not running, or its runner ended before it answered."""


def ask(
    state: StateDirectory, wanted: Request, *, patience: float, sleep: Callable[[float], None] = time.sleep
) -> Answer:
    """Send a request to the application's runner and wait for its answer.

    Arguments:
        patience: seconds to wait; a runner that starts Spark or verifies an upgrade answers after that.

    Raises:
        RunnerGoneError: there is no runner, or it ends without an answer.
        StateError: the request cannot be written, or no answer comes.
    """
    if state.owner() is None:
        raise RunnerGoneError(f"{state.application} is not running")
    asked = state.control / f"{wanted.id}{_REQUEST}"
    answered = state.control / f"{wanted.id}{_ANSWER}"
    try:
        state.control.mkdir(mode=ACCESS["owner"], exist_ok=True)
        write_atomically(asked, json.dumps(asdict(wanted)))
    except OSError as error:
        raise StateError(
            f"{state.control} cannot be written: {error.strerror or error}",
            f"correct that; SIGTERM to process {state.owner()} stops the run, too",
        ) from error
    try:
        for _ in range(max(1, round(patience / LOOK_EVERY))):
            with contextlib.suppress(FileNotFoundError):
                return Answer(**json.loads(answered.read_text(encoding="utf-8")))
            if state.owner() is None:
                raise RunnerGoneError(f"{state.application} ended before it answered")
            sleep(LOOK_EVERY)
    finally:
        asked.unlink(missing_ok=True)
        answered.unlink(missing_ok=True)
    raise StateError(
        f"the runner of {state.application} (process {state.owner()}) has not answered for {patience:g} s",
        f"see {state.logs / 'run.log'}; SIGTERM to the process stops the run, too",
    )


class Control:
    """The runner's side: hands requests over as they come. To be made by the owner of the state folder.

    Arguments:
        take: gets each request, in a thread of its own; somebody must `answer` it.
    """

    def __init__(self, state: StateDirectory, take: Callable[[Request], None]) -> None:
        self._folder = state.control
        self._take = take
        self._over = threading.Event()
        self._open: set[str] = set()
        with contextlib.suppress(OSError):  # what was asked of an earlier run is void
            self._folder.mkdir(mode=ACCESS["owner"], exist_ok=True)
            self._folder.chmod(ACCESS["owner"])  # an order runs code: the group may only read
            for left in self._folder.iterdir():
                left.unlink()
        self._thread = threading.Thread(target=self._listen, name="control", daemon=True)
        self._thread.start()

    def answer(self, id: str, refused: str = "") -> None:
        """Answer a request; who asked may be gone."""
        self._open.discard(id)
        with contextlib.suppress(OSError):
            write_atomically(self._folder / f"{id}{_ANSWER}", json.dumps(asdict(Answer(refused))))

    def close(self) -> None:
        """Take no more; what is unanswered is refused, for the run is over."""
        self._over.set()
        self._thread.join()
        for id in list(self._open):
            self.answer(id, "the run is over")

    def _listen(self) -> None:
        while not self._over.wait(LOOK_EVERY):
            for asked in self._asked():
                self._open.add(asked.id)
                self._take(asked)

    def _asked(self) -> list[Request]:
        try:
            files = sorted(file for file in self._folder.iterdir() if file.name.endswith(_REQUEST))
        except OSError:
            return []
        return [found for file in files if (found := _read(file)) is not None]


def _read(file: Path) -> Request | None:
    """The request of a file, which is gone then; None when it is none."""
    try:
        text = file.read_text(encoding="utf-8")
        file.unlink()
        found = json.loads(text)
        asked = Request(**found | {key: tuple(found[key]) for key in ("arguments", "reset")})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return asked if asked.command in _COMMANDS and file.name == f"{asked.id}{_REQUEST}" else None
