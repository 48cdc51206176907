"""A run seen from outside: the processes it has, what they use, whether they are gone, and what it has told."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psutil

_POLL = 0.05
_TOLD = 3000  # characters of a run's output that an error shows


def started_by(process: int) -> list[psutil.Process]:
    """All that a process (by its id) has started and that is there, and what that has started."""
    return psutil.Process(process).children(recursive=True)


def family(process: int) -> list[psutil.Process]:
    """A process, first, and all that it has started."""
    return [psutil.Process(process), *started_by(process)]


def command_line(process: psutil.Process) -> str:
    """What a process was started with; empty when it has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def alive(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those that have not ended; one that nobody reaps has ended, too."""
    return [each for each in processes if _is_alive(each)]


def _is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def left_behind(processes: Iterable[psutil.Process], seconds: float = 60.0) -> list[psutil.Process]:
    """Wait until all have ended; those that have not after so many seconds."""
    end = time.monotonic() + seconds
    while (left := alive(processes)) and time.monotonic() < end:
        time.sleep(_POLL)
    return left


def cpu_seconds(processes: Iterable[psutil.Process], *, ended: bool = False) -> float:
    """Processor time that these processes have used themselves.

    Arguments:
        ended: also what those of their children used that have ended by now. Without it a process that ends between
            two sums takes its time along.
    """
    total = 0.0
    for each in processes:
        try:
            times = each.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + (times.children_user + times.children_system if ended else 0.0)
    return total


def cores_used(process: int, seconds: float, every: float = 1.0) -> float:
    """Cores that a process and all it has started use, over so many seconds; looked at `every` so many, so of one that
    ends in between no more is missed than its last moments."""
    before = {each: cpu_seconds([each]) for each in family(process)}
    used = dict(before)
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < seconds:
        time.sleep(min(every, seconds - passed))
        used |= {each: max(used.get(each, 0.0), cpu_seconds([each])) for each in family(process)}
    return (sum(used.values()) - sum(before.values())) / passed


def processor_time() -> float:
    """Processor time in seconds that this process and all it started have used, those that have ended included."""
    return cpu_seconds(family(os.getpid()), ended=True)


def events(out: Path, since: int = 0) -> list[dict[str, Any]]:
    """What a run with `--format json` has told in a file, from a byte on; no line that is there by half."""
    whole, _, _ = out.read_bytes()[since:].rpartition(b"\n")
    return [json.loads(line) for line in whole.splitlines() if line.startswith(b"{")]


def wait_until(
    process: subprocess.Popen[bytes],
    out: Path,
    reached: Callable[[], bool],
    *,
    seconds: float = 300.0,
    poll: float = _POLL,
) -> None:
    """Wait until something is so of a run that tells into a file; asked every `poll` seconds.

    Raises:
        RuntimeError: the run has ended before, or so many seconds have passed; with the last that it told.
    """
    end = time.monotonic() + seconds
    while True:
        ended = process.poll() is not None  # before looking: what it did last counts
        if reached():
            return
        if ended:
            raise RuntimeError(f"the run has ended with exit code {process.returncode}:\n{out.read_text()[-_TOLD:]}")
        if time.monotonic() > end:
            raise RuntimeError(f"it is not so after {seconds:.0f} s:\n{out.read_text()[-_TOLD:]}")
        time.sleep(poll)
