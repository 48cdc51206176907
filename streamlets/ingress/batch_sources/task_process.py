"""`TaskProcess`: reads tasks in a process of its own, which a task may end or block without harm to the others."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from itertools import groupby
from typing import TYPE_CHECKING, Any

from blueprint.avro.sources.loading import parse_contract
from streamlets.contract.types import arrow_schema
from streamlets.ingress.batch_sources.reading import Attempt, AttemptFailedError
from streamlets.ingress.batch_sources.settings import SourceSettings
from streamlets.ingress.batch_sources.spool import Spool
from streamlets.ingress.batch_sources.task_program import BATCH, CLOSING, DONE, FAILED, HEAD, LETTERS
from streamlets.ingress.batch_sources.tasks import Task

if TYPE_CHECKING:
    import pyarrow as pa

_PROGRAM = "from streamlets.ingress.batch_sources.task_program import main; main()"

_DUMP = 0.5
"""Seconds after the timeout in which the process writes where it is, which it does even if its code never returns."""

_MOST_DUMPED = 4000  # characters


class _EndedError(Exception):
    """The process has ended."""


class _TimeoutError(Exception):
    """The process has not answered in time."""


class TaskProcess:
    """Makes attempts to read tasks in a process, which is started for the first one, and again after it has ended.

    It ends with this process, for whatever reason this one ends.

    Arguments:
        settings: the settings of the source.
    """

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        self._schema: pa.Schema = arrow_schema(parse_contract(settings.contract))
        self._process: subprocess.Popen[bytes] | None = None
        self._tasks = self._answers = -1
        self._dump: Any = None

    def attempt(self, task: Task) -> Attempt:
        """Read a task; see `Attempts.attempt`."""
        attempt = Attempt(Spool(self._schema))
        try:
            self._read(task, attempt)
        except AttemptFailedError:
            attempt.records.close()
            raise
        except _EndedError:
            attempt.records.close()
            reason = f"the process that read the task {self._end()}"
            raise AttemptFailedError(reason, self._details(reason)) from None
        except _TimeoutError:
            attempt.records.close()
            self._kill()
            reason = f"the task did not end within {self._settings.timeout:g} s (`task-timeout`)"
            raise AttemptFailedError(reason, self._details(reason)) from None
        except BaseException:  # Spark ends this task, and what the process answers from here on belongs to nobody
            attempt.records.close()
            self._kill()
            raise
        return attempt

    def close(self) -> None:
        """End the process; the source is closed before, if that takes at most a second."""
        if self._process is not None:
            os.close(self._tasks)
            self._tasks = -1
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(CLOSING)
            self._kill()

    def _read(self, task: Task, attempt: Attempt) -> None:
        import pyarrow as pa

        if self._process is None:
            self._start()
            self._answer(None)  # the start of Python is not part of any task
        os.ftruncate(self._dump.fileno(), 0)
        os.lseek(self._dump.fileno(), 0, os.SEEK_SET)
        deadline = time.monotonic() + self._settings.timeout + _DUMP
        self._send(pickle.dumps(task))
        while True:
            kind, content = self._answer(deadline)
            if kind == BATCH:
                attempt.records.add(pa.ipc.read_record_batch(pa.py_buffer(content), self._schema))
            elif kind == LETTERS:
                attempt.letters += json.loads(content)
            elif kind == FAILED:
                raise AttemptFailedError(**json.loads(content))
            else:
                assert kind == DONE
                return

    def _start(self) -> None:
        """Start the process, with the modules of this one."""
        self._dump = tempfile.TemporaryFile(prefix="streamlets-task-")  # noqa: SIM115 - `_kill` closes it
        tasks, self._tasks = os.pipe()
        self._answers, answers = os.pipe()
        arguments = [str(descriptor) for descriptor in (tasks, answers, self._dump.fileno())]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, *arguments],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                stdout=2,  # what the source prints goes to the log of Spark
                pass_fds=(tasks, answers, self._dump.fileno()),
                start_new_session=True,  # so that its own processes end with it
            )
        finally:
            os.close(tasks)
            os.close(answers)
        self._send(pickle.dumps(self._settings))

    def _send(self, message: bytes) -> None:
        content = memoryview(HEAD.pack(b"T", len(message)) + message)
        try:
            while content:
                content = content[os.write(self._tasks, content) :]
        except BrokenPipeError:
            raise _EndedError from None

    def _answer(self, deadline: float | None) -> tuple[bytes, bytes]:
        """Return the kind and the content of the next answer.

        Arguments:
            deadline: the time of the monotonic clock until which it must be complete; None for no limit.
        """
        kind, length = HEAD.unpack(self._exactly(HEAD.size, deadline))
        return kind, self._exactly(length, deadline)

    def _exactly(self, length: int, deadline: float | None) -> bytes:
        answers = select.poll()
        answers.register(self._answers, select.POLLIN)
        content = bytearray(length)
        left = memoryview(content)
        while left:
            if deadline is not None and not answers.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise _TimeoutError
            received = os.readv(self._answers, [left])
            if received == 0:
                raise _EndedError
            left = left[received:]
        return bytes(content)

    def _end(self) -> str:
        """Return how the process has ended."""
        process = self._process
        assert process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):  # it may have closed the pipe and go on
            process.wait(_DUMP)
        self._kill()
        code = process.returncode
        if code >= 0:
            return f"ended with exit code {code}"
        with contextlib.suppress(ValueError):
            name = signal.Signals(-code).name
            return f"was killed by {name}" + (", as it is when memory runs out" if name == "SIGKILL" else "")
        return f"was killed by the signal {-code}"

    def _details(self, reason: str) -> str:
        """Return the reason with what the process has written about where it was."""
        self._dump.seek(0)
        dumped = self._dump.read().decode("utf-8", "replace").strip()
        self._dump.close()
        return f"{_as_traceback(dumped[:_MOST_DUMPED])}\n{reason}" if dumped else reason

    def _kill(self) -> None:
        """End the process and its descendants."""
        process, self._process = self._process, None
        for descriptor in (self._tasks, self._answers):
            if descriptor >= 0:
                os.close(descriptor)
        self._tasks = self._answers = -1
        if process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _as_traceback(dump: str) -> str:
    """Return the output of `faulthandler`, with the frames in the order and the form of a traceback."""
    lines: list[str] = []
    for is_frame, group in groupby(dump.splitlines(), lambda line: line.startswith("  File ")):
        block = [re.sub(r", line (\d+) in ", r", line \1, in ", line) for line in group]
        lines += reversed(block) if is_frame else block
    return "\n".join(lines).replace("(most recent call first)", "(most recent call last)")
