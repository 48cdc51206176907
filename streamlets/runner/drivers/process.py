"""`Process`: an operating system process of a driver, with its messages, its output and its end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Protocol

from streamlets.runner.drivers.messages import STACKS_SIGNAL, Order, SparkReady
from streamlets.runner.drivers.wire import Wire
from streamlets.runner.supervision.facts import Lost
from streamlets.runner.units.spark_keeper import how_it_ended
from streamlets.spark.output import forward

PROGRAM = (sys.executable, "-P", "-u", "-m", "streamlets.runner.drivers.program")
"""The command of a driver process. -P: files in the working directory do not shadow modules of Python; -u: output is
not buffered."""

# Seconds between the end of the process's socket and the report of its exit by the system.
_EXIT_PATIENCE = 1.0
# Seconds for the stacks of its threads, and between two looks at their file, which is complete when it grows no more.
_DUMP_PATIENCE = 2.0
_DUMP_INTERVAL = 0.1
# How many lines of its standard error are kept.
_ERROR_LINES = 100


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """The end of a process.

    Arguments:
        how: the end in words, such as `exit code 1`.
        errors: the last lines of its standard error.
    """

    how: str
    errors: str


class Begin(Protocol):
    """Starts a process of a driver."""

    def __call__(
        self, *, hear: Callable[[object], None], gone: Callable[[ProcessEnd], None], print_line: Callable[[str], None]
    ) -> Process: ...


class Process:
    """A process of a driver, from its start to its end. Only `wait` waits for it.

    Arguments:
        command: the command to run, without the arguments for the wire's file descriptor and the name, which is there
            for lists of processes.
        name: the name of the driver.
        turn: held from the first order, with which the driver starts Spark, until Spark has started or failed. A start
            uses more than one core, so many concurrent starts would only delay the first.
        hear: takes each message, in a thread of the process's own.
        gone: takes the end of the process, once and in that thread, after its Java process has exited, too.
        print_line: takes each line that it prints.

    Raises:
        OSError: the process cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        name: str,
        *,
        turn: threading.Semaphore,
        hear: Callable[[object], None],
        gone: Callable[[ProcessEnd], None],
        print_line: Callable[[str], None],
    ) -> None:
        self._hear, self._gone = hear, gone
        ours, its = socket.socketpair()
        with its:
            try:
                # A session of its own: Ctrl-C on the terminal must reach the runner alone.
                self._process = subprocess.Popen(
                    [*command, str(its.fileno()), name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, pass_fds=[its.fileno()], start_new_session=True,
                )  # fmt: skip
            except OSError:
                ours.close()
                raise
        self._wire = Wire(ours)
        self._orders: SimpleQueue[Order | None] = SimpleQueue()
        self._turn = turn
        self._settled = threading.Event()
        self._java: int | None = None
        self._errors: deque[str] = deque(maxlen=_ERROR_LINES)
        self._over = threading.Event()
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._error_reader = self._thread("errors", partial(forward, self._process.stderr, self._keep_error))
        self._thread("output", partial(forward, self._process.stdout, print_line))
        self._thread("orders", self._send_all)
        self._thread("facts", self._listen)
        self._thread("end", self._watch)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def send(self, order: Order) -> None:
        """Queue an order. Orders to an exited process are ignored, as its end is reported."""
        self._orders.put(order)

    def kill(self) -> None:
        """Kill the process; its end is reported to `gone`."""
        self._process.kill()

    def kill_after_dump(self, stacks: Path) -> None:
        """Have the process write the stacks of its threads to a file, then kill it; returns at once."""

        def work() -> None:
            self._process.send_signal(STACKS_SIGNAL)
            end, size = time.monotonic() + _DUMP_PATIENCE, -1
            while time.monotonic() < end and (size <= 0 or size != _size(stacks)):
                size = _size(stacks)
                time.sleep(_DUMP_INTERVAL)
            self._process.kill()

        self._thread("replace", work)

    def wait(self, patience: float) -> bool:
        """Wait for the process's end for so many seconds; return whether it has ended and that was reported."""
        return self._over.wait(patience)

    def _thread(self, what: str, run: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=run, name=f"driver-{self.pid}-{what}", daemon=True)
        thread.start()
        return thread

    def _send_all(self) -> None:
        with suppress(OSError):  # the process has exited, which the listening thread reports
            with self._turn:
                if (first := self._orders.get()) is not None:
                    self._wire.send(first)
                    self._settled.wait()
            while (order := self._orders.get()) is not None:
                self._wire.send(order)

    def _listen(self) -> None:
        error_text = ""
        try:
            while (message := self._wire.receive()) is not None:
                if isinstance(message, SparkReady):
                    self._java = message.java
                    self._settled.set()
                elif isinstance(message, Lost):
                    self._java = None
                self._hear(message)
        except Exception as error:  # noqa: BLE001 - otherwise its units would wait for its reports for ever
            error_text = f"invalid message: {error}"
            self._process.kill()
        self._settled.set()
        code = self._exit_code()
        if code and self._java is not None:  # otherwise it has ended Java itself, and the id may be reused
            _kill_java(self._java)
        self._error_reader.join(_EXIT_PATIENCE)
        self._orders.put(None)
        self._wire.close()
        self._gone(ProcessEnd(error_text or how_it_ended(code), "\n".join(self._errors)))
        self._over.set()

    def _watch(self) -> None:
        self._process.wait()
        self._wire.end()

    def _exit_code(self) -> int:
        try:
            return self._process.wait(_EXIT_PATIENCE)
        except subprocess.TimeoutExpired:  # it has only closed its end of the wire
            self._process.kill()
            return self._process.wait()

    def _keep_error(self, line: str) -> None:
        self._errors.append(line)
        sys.stderr.write(f"{line}\n")  # written by this process, a line does not destroy a live table


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _kill_java(process: int) -> None:
    """Make sure that the Java process of an exited driver has exited before another continues from its checkpoints.

    It exits by itself, but may finish a batch first.
    """
    end = time.monotonic() + _EXIT_PATIENCE
    with suppress(ProcessLookupError, PermissionError):  # it leads a process group
        os.killpg(process, signal.SIGKILL)
        while time.monotonic() < end and not _is_zombie(process):
            os.killpg(process, 0)
            time.sleep(0.01)


def _is_zombie(process: int) -> bool:
    """Return whether a process has exited but was not reaped by its parent, which never happens in some containers."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False
