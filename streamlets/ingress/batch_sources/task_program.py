"""The program of a `TaskProcess`: it reads tasks with the author's code, and ends with its worker.

The worker sends its settings, and then tasks; each message is a head and a pickle. The answers have the same head:

    R  the program has started
    B  a batch of records, as an Arrow message
    L  dead letters of records, as JSON
    D  the task has ended
    F  the attempt has failed: `reason` and `details`, as JSON
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import os
import pickle
import queue
import signal
import struct
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from streamlets.ingress.batch_sources.reading import AttemptFailedError, SourceInstance, creating
from streamlets.spark.output import masked_output

if TYPE_CHECKING:
    import pyarrow as pa

HEAD = struct.Struct(">cQ")
"""The kind of a message, and the length of its content in bytes."""

READY, BATCH, LETTERS, DONE, FAILED = b"R", b"B", b"L", b"D", b"F"

CLOSING = 1.0
"""Seconds for which the source may close."""

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Read tasks until the worker closes its end of the pipe, which also happens when it exits for whatever reason."""
    tasks, answers, dump = (int(argument) for argument in sys.argv[1:])
    _die_with_parent()
    _prefer_when_memory_runs_out()
    faulthandler.enable(dump)
    requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    out = os.fdopen(answers, "wb")
    threading.Thread(target=_receive, args=(os.fdopen(tasks, "rb"), requests), daemon=True).start()
    first = requests.get()
    if first is None:
        return
    settings = pickle.loads(first)
    instance = SourceInstance(settings, creating(settings), records=lambda: _SentRecords(out))
    _send(out, READY)
    with masked_output(instance.masked):
        while (message := requests.get()) is not None:
            faulthandler.dump_traceback_later(settings.timeout, file=dump)
            _answer(out, instance, pickle.loads(message))
            faulthandler.cancel_dump_traceback_later()
        instance.close()
    out.flush()
    os._exit(0)  # threads of the source do not delay the end


class _SentRecords:
    """Sends the records of an attempt, which the worker keeps until it has succeeded."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def add(self, batch: pa.RecordBatch) -> None:
        _send(self._out, BATCH, batch.serialize())

    def batches(self) -> Iterator[pa.RecordBatch]:
        return iter(())

    def close(self) -> None:
        """Do nothing: the worker releases them."""


def _answer(out: BinaryIO, instance: SourceInstance, task: Any) -> None:
    try:
        attempt = instance.attempt(task)
    except AttemptFailedError as error:
        _send(out, FAILED, json.dumps({"reason": error.reason, "details": error.details}).encode())
        return
    except BaseException as error:  # noqa: BLE001 - such as a KeyboardInterrupt that the source has raised
        details = instance.masked("".join(traceback.format_exception(error)))
        reason = instance.masked(f"{type(error).__name__}: {error}")
        _send(out, FAILED, json.dumps({"reason": reason, "details": details}).encode())
        return
    if attempt.letters:
        _send(out, LETTERS, json.dumps(attempt.letters).encode())
    _send(out, DONE)


def _send(out: BinaryIO, kind: bytes, content: Any = b"") -> None:
    out.write(HEAD.pack(kind, len(content)))
    out.write(content)
    out.flush()


def _receive(tasks: BinaryIO, requests: queue.SimpleQueue[bytes | None]) -> None:
    """Pass on messages. When they end, the program and all that it has started end, too."""
    while len(head := tasks.read(HEAD.size)) == HEAD.size:
        _, length = HEAD.unpack(head)
        requests.put(tasks.read(length))
    requests.put(None)
    time.sleep(CLOSING)
    os.killpg(0, signal.SIGKILL)


def _die_with_parent() -> None:
    """Have Linux kill this process when its worker exits: a task may block every thread of this process."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _prefer_when_memory_runs_out() -> None:
    """Have Linux choose this process when memory runs out, and not Spark."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
