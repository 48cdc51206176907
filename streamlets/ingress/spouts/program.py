"""`Program`: the running program of a spout, from its start to the end of all its processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

_GUARD_KILLED = "was ended, because the process that watches it for the runner (`guard.py`) was killed"
_GUARD = (sys.executable, "-I", "-S", str(Path(__file__).with_name("guard.py")))
_LAST_OUTPUT = 10.0
"""Seconds for the rest of the output after the guard was killed: only the guard finds what has left the session of the
program, and may hold its output."""
_LONGEST_LINE = 16 * 1024
_INHERITED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """The end of a program.

    Arguments:
        code: its exit code, negative for a signal; None if it was not started, or its guard was killed.
        error: why there is no exit code, as the predicate of a sentence about the program.
        left: how many processes that it had started were still running, and were ended.
    """

    code: int | None
    error: str = ""
    left: int = 0

    @property
    def killed(self) -> bool:
        """Whether it was ended by a signal, or with its guard."""
        return self.error == _GUARD_KILLED if self.code is None else self.code < 0

    @property
    def text(self) -> str:
        """The end in words."""
        if self.code is None:
            return self.error
        if self.code >= 0:
            return f"exit code {self.code}"
        with suppress(ValueError):
            return f"ended by {signal.Signals(-self.code).name}"
        return f"ended by signal {-self.code}"


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a program: its own variables, and a few that every program needs.

    The directory of this Python comes first in `PATH`, so that `flow` and `python` are the runner's.
    """
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    directory = str(Path(sys.executable).parent)
    inherited["PATH"] = os.pathsep.join(filter(None, (directory, inherited.get("PATH", os.defpath))))
    return inherited | dict(own)


class Program:
    """A running program, in a session of its own; it ends with the runner however that ends.

    Arguments:
        command: the program and its arguments.
        environment: all of its environment.
        directory: its working directory.
        stdin: its standard input.
        line: takes the name of a stream, `stdout` or `stderr`, and a line of it; called from threads.
        ended: takes its end, once and in a thread, after its output has ended.

    Raises:
        OSError: the guard cannot be started, such as for a directory that does not exist.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        directory: Path,
        stdin: str,
        line: Callable[[str, str], None],
        ended: Callable[[ProgramEnd], None],
    ) -> None:
        self._ended = ended
        ours, its = socket.socketpair()
        with its, tempfile.TemporaryFile() as entered:
            entered.write(stdin.encode())
            entered.seek(0)
            try:
                self._guard = subprocess.Popen(
                    [*_GUARD, str(its.fileno()), *command], cwd=directory, env=dict(environment), stdin=entered,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[its.fileno()], start_new_session=True,
                )  # fmt: skip
            except OSError:
                ours.close()
                raise
        self._control = ours
        assert self._guard.stdout is not None
        assert self._guard.stderr is not None
        self._readers = [
            self._thread(name, partial(_read_lines, stream, partial(line, name)))
            for name, stream in (("stdout", self._guard.stdout), ("stderr", self._guard.stderr))
        ]
        self._thread("end", self._wait)

    @property
    def pid(self) -> int:
        """The id of the guard."""
        return self._guard.pid

    def terminate(self) -> None:
        """Send SIGTERM to the program's process group."""
        self._order(b"T")

    def kill(self) -> None:
        """End the program and all that it has started with SIGKILL."""
        self._order(b"K")

    def _order(self, order: bytes) -> None:
        with suppress(OSError):  # it has ended
            self._control.send(order)

    def _thread(self, what: str, run: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=run, name=f"spout-{self.pid}-{what}", daemon=True)
        thread.start()
        return thread

    def _wait(self) -> None:
        report: dict[str, Any] = {}
        with suppress(OSError, ValueError), self._control.makefile("rb") as lines:  # a cut line is not a report
            for line in lines:
                report |= json.loads(line)
        self._guard.wait()
        limit = None
        if "code" in report:
            end = ProgramEnd(report["code"], left=report["left"])
        elif "error" in report:
            end = ProgramEnd(None, f"cannot be started: {report['error']}")
        else:
            end = ProgramEnd(None, _GUARD_KILLED)
            limit = time.monotonic() + _LAST_OUTPUT
            if "pid" in report:
                _kill_session(report["pid"])
        for reader in self._readers:
            reader.join(limit and max(0.0, limit - time.monotonic()))
        self._control.close()
        self._ended(end)


def _kill_session(leader: int) -> None:
    """Kill the processes of a session, whose leader the system has killed together with the guard.

    While a process of the session runs, the system gives the id of the leader to no other process.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getsid(int(directory.name)) == leader:
                os.kill(int(directory.name), signal.SIGKILL)


def _read_lines(stream: IO[bytes], take: Callable[[str], None]) -> None:
    """Pass on each line until the stream ends; a very long line is passed on in parts."""
    with stream:
        while line := stream.readline(_LONGEST_LINE):
            with suppress(OSError, ValueError):
                take(line.decode("utf-8", errors="replace").rstrip("\r\n"))
