"""`Process`: one life of a driver process: what it is sent, what it says and prints, and how it ends."""

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

from streamlets.runner.drivers.messages import Order, Up
from streamlets.runner.drivers.wire import Wire
from streamlets.runner.supervision.facts import Lost
from streamlets.runner.units.host import how_it_ended
from streamlets.spark.output import forward

PROGRAM = (sys.executable, "-P", "-u", "-m", "streamlets.runner.drivers.program")
"""-P: what lies in the working folder is not taken for Python's own modules; -u: what is printed is seen at once."""

# Between the moment its end of the wire is closed and the moment the system reports the end of the process.
_DYING = 1.0
# How many lines of what it last complained about are kept.
_WORDS = 100


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """The end of a process.

    Arguments:
        how: in words.
        words: what it last wrote to its standard error.
    """

    how: str
    words: str


class Begin(Protocol):
    """Begins a life of a driver process."""

    def __call__(
        self, *, hear: Callable[[object], None], gone: Callable[[ProcessEnd], None], print_line: Callable[[str], None]
    ) -> Process: ...


class Process:
    """A driver process, from its start to its end. Nothing here waits for it, unless it says so.

    Arguments:
        command: what to run; the wire's descriptor is added, and the name, for whoever lists processes.
        name: of the driver.
        turn: held from its first order, which has it start Spark, until that is there or is not to be: each start
            keeps more than one core busy, so many at a time would only hold up the first.
        hear: takes each message, in a thread that is the process's own.
        gone: told once how it ended, in that thread, when its Java process is gone, too.
        print_line: takes each line that it prints.

    Raises:
        OSError: it cannot be started.
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
        self._words: deque[str] = deque(maxlen=_WORDS)
        self._over = threading.Event()
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._complaints = self._thread("complaints", partial(forward, self._process.stderr, self._complain))
        self._thread("output", partial(forward, self._process.stdout, print_line))
        self._thread("orders", self._send_all)
        self._thread("facts", self._listen)
        self._thread("end", self._watch)

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def send(self, order: Order) -> None:
        """Have an order sent when it is its turn; orders to a dead process come to nothing, its end is told."""
        self._orders.put(order)

    def kill(self) -> None:
        """End it at once; how it ended is told as always."""
        self._process.kill()

    def wait(self, patience: float) -> bool:
        """Wait so many seconds for its end; whether it has come, and has been told."""
        return self._over.wait(patience)

    def _thread(self, what: str, run: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=run, name=f"driver-{self.pid}-{what}", daemon=True)
        thread.start()
        return thread

    def _send_all(self) -> None:
        with suppress(OSError):  # it is dead: whoever listens hears of it
            with self._turn:
                if (first := self._orders.get()) is not None:
                    self._wire.send(first)
                    self._settled.wait()
            while (order := self._orders.get()) is not None:
                self._wire.send(order)

    def _listen(self) -> None:
        why = ""
        try:
            while (message := self._wire.receive()) is not None:
                if isinstance(message, Up):
                    self._java = message.java
                    self._settled.set()
                elif isinstance(message, Lost):
                    self._java = None
                self._hear(message)
        except Exception as error:  # noqa: BLE001 - else its units would wait for ever for what it says
            why = f"what it said made no sense: {error}"
            self._process.kill()
        self._settled.set()
        code = self._ended()
        if code and self._java is not None:  # else it has ended Java itself, and the number may be another process's
            _end_java(self._java)
        self._complaints.join(_DYING)
        self._orders.put(None)
        self._wire.close()
        self._gone(ProcessEnd(why or how_it_ended(code), "\n".join(self._words)))
        self._over.set()

    def _watch(self) -> None:
        self._process.wait()
        self._wire.end()

    def _ended(self) -> int:
        try:
            return self._process.wait(_DYING)
        except subprocess.TimeoutExpired:  # it has only closed its end of the wire
            self._process.kill()
            return self._process.wait()

    def _complain(self, line: str) -> None:
        self._words.append(line)
        sys.stderr.write(f"{line}\n")  # as if it had been written here: a live table makes room for it


def _end_java(process: int) -> None:
    """See to it that the Java process of a dead driver is gone before another one goes on from its checkpoints. It
    ends by itself, but may finish a batch first."""
    end = time.monotonic() + _DYING
    with suppress(ProcessLookupError, PermissionError):  # it leads a group of its own
        os.killpg(process, signal.SIGKILL)
        while time.monotonic() < end and not _is_zombie(process):
            os.killpg(process, 0)
            time.sleep(0.01)


def _is_zombie(process: int) -> bool:
    """Whether it is dead and only its parent has not asked for it; in a container nobody may."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False
