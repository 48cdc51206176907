"""Requests from other terminals to a runner: requests and answers are files in the state directory.

Only the user of a run, and root, can control its runner: each request must be a file of theirs. This works wherever the
state directory does: in containers, on shared file systems, under paths that are too long for a socket.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from streamlets.ownership import NotTrustedError, read_own
from streamlets.runner.state_directory.directory import ACCESS, StateDirectory, StateError
from streamlets.runner.state_directory.trust import require_own_state
from streamlets.storage.files import write_atomically

Command = Literal["stop", "stop-now", "stop-query", "pause", "resume", "restart", "scale", "upgrade"]

LOOK_EVERY = 0.2
"""Seconds between two checks for requests; checking an empty directory takes some ten microseconds."""

_REQUEST = ".request"
_ANSWER = ".answer"
_COMMANDS: tuple[str, ...] = get_args(Command)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to a runner.

    Arguments:
        id: a unique id.
        command: what the runner is to do.
        by: the user who sent the request.
        streamlet: the streamlet that the command is about; empty for the whole application.
        within: for `stop`, the seconds that the drain may take.
        arguments: for `upgrade`, the arguments of `flow run` of the new version: path, `--conf` and settings.
        reset: for `upgrade`, queries (or streamlets) whose checkpoints are reset before the new version starts.
        query: for `stop-query`, the query of the streamlet.
        replicas: for `scale`, the number of replicas of the streamlet.
    """

    id: str
    command: Command
    by: str
    streamlet: str = ""
    within: float | None = None
    arguments: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()
    query: str = ""
    replicas: int = 0

    @property
    def cause(self) -> str:
        """The request as the cause of an event: `paused by ann`."""
        return f"{_DONE[self.command]} by {self.by}"


_DONE: Mapping[Command, str] = {
    "stop": "stopped", "stop-now": "stopped at once", "stop-query": "stopped", "pause": "paused",
    "resume": "resumed", "restart": "restarted", "scale": "scaled", "upgrade": "upgraded",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """The runner's answer: `refused` is the reason for a refusal, empty when the request is carried out."""

    refused: str = ""


def request(
    command: Command,
    *,
    streamlet: str = "",
    within: float | None = None,
    arguments: tuple[str, ...] = (),
    reset: tuple[str, ...] = (),
    query: str = "",
    replicas: int = 0,
) -> Request:
    """Return a request of the current user; see `Request` for the arguments."""
    try:
        by = getpass.getuser()
    except (KeyError, OSError):  # the user of a container may have no name
        by = f"user {os.getuid()}"
    return Request(
        id=uuid.uuid4().hex,
        command=command,
        by=by,
        streamlet=streamlet,
        within=within,
        arguments=arguments,
        reset=reset,
        query=query,
        replicas=replicas,
    )


class RunnerGoneError(Exception):
    """The application is not running, or its runner ended before it answered."""


def ask(
    state: StateDirectory, wanted: Request, *, patience: float, sleep: Callable[[float], None] = time.sleep
) -> Answer:
    """Send a request to the application's runner and wait for its answer.

    Arguments:
        patience: seconds to wait for the answer. It must allow for a runner that is starting Spark or verifying an
            upgrade.

    Raises:
        RunnerGoneError: there is no runner, or it exits without an answer.
        StateError: the request cannot be written, another user can change the state directory, or there is no answer
            in time.
    """
    require_own_state(state.directory)
    if state.owner() is None:
        raise RunnerGoneError(f"{state.application} is not running")
    asked = state.control / f"{wanted.id}{_REQUEST}"
    answered = state.control / f"{wanted.id}{_ANSWER}"
    try:
        state.control.mkdir(mode=ACCESS["owner"], exist_ok=True)
        write_atomically(asked, json.dumps(asdict(wanted)))
    except OSError as error:
        raise StateError(
            f"cannot write to {state.control}: {error.strerror or error}",
            f"free disk space or correct the permissions; to stop the run, send SIGTERM to process {state.owner()}",
        ) from error
    try:
        for _ in range(max(1, round(patience / LOOK_EVERY))):
            with contextlib.suppress(FileNotFoundError):
                return Answer(**json.loads(answered.read_text(encoding="utf-8")))
            if state.owner() is None:
                raise RunnerGoneError(f"{state.application} exited before it answered")
            sleep(LOOK_EVERY)
    finally:
        asked.unlink(missing_ok=True)
        answered.unlink(missing_ok=True)
    raise StateError(
        f"the runner of {state.application} (process {state.owner()}) has not answered for {patience:g} s",
        f"see {state.logs / 'run.log'}; to stop the run, send SIGTERM to the process",
    )


class Control:
    """The runner's side: receives the requests. To be created by the owner of the state directory.

    Arguments:
        take: takes each request, in a thread of `Control`; every request must be answered with `answer`.
        refused: takes a line about each request that is not from this user or root.
    """

    def __init__(
        self, state: StateDirectory, take: Callable[[Request], None], refused: Callable[[str], None] = lambda line: None
    ) -> None:
        self._directory = state.control
        self._take = take
        self._refused = refused
        self._over = threading.Event()
        self._open: set[str] = set()
        with contextlib.suppress(OSError):
            self._directory.mkdir(mode=ACCESS["owner"], exist_ok=True)
            self._directory.chmod(ACCESS["owner"])  # requests can run code, so the group may not send any
            for file in self._directory.iterdir():  # requests to an earlier run
                file.unlink()
        self._thread = threading.Thread(target=self._listen, name="control", daemon=True)
        self._thread.start()

    def answer(self, id: str, refused: str = "") -> None:
        """Answer a request; its sender may have exited."""
        self._open.discard(id)
        with contextlib.suppress(OSError):
            write_atomically(self._directory / f"{id}{_ANSWER}", json.dumps(asdict(Answer(refused))))

    def close(self) -> None:
        """Receive no more requests, and refuse the unanswered ones because the run has ended."""
        self._over.set()
        self._thread.join()
        for id in list(self._open):
            self.answer(id, "the run has ended")

    def _listen(self) -> None:
        while not self._over.wait(LOOK_EVERY):
            for request in self._new_requests():
                self._open.add(request.id)
                self._take(request)

    def _new_requests(self) -> list[Request]:
        try:
            files = sorted(file for file in self._directory.iterdir() if file.name.endswith(_REQUEST))
        except OSError:
            return []
        return [request for file in files if (request := self._request(file)) is not None]

    def _request(self, file: Path) -> Request | None:
        """Read and delete the file of a request; None when it is not a valid request."""
        try:
            return _parsed(file, read_own(file))
        except NotTrustedError as error:
            self._refused(f"refused a request: {error}")
        except (OSError, ValueError):
            pass
        finally:
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)
        return None


def _parsed(file: Path, text: str) -> Request | None:
    """Return the request in a file; None when it is not a valid request."""
    try:
        fields = json.loads(text)
        request = Request(**fields | {key: tuple(fields[key]) for key in ("arguments", "reset")})
    except (ValueError, TypeError, KeyError):
        return None
    return request if request.command in _COMMANDS and file.name == f"{request.id}{_REQUEST}" else None
