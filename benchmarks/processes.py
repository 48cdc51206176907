"""Observation of a run from outside: its processes, their resources, their end, and the events of the run."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import psutil

_P = TypeVar("_P", bound="subprocess.Popen[Any]")

QUICK_JAVA = 'flow.runtimes.spark.driver.extraJavaOptions="-XX:TieredStopAtLevel=1"'
"""A setting of short runs: without Java's second compiler they take a third less CPU time."""

_POLL = 0.05
_SHOWN_OUTPUT = 3000  # characters of a run's output in an error


def started_by(process: int) -> list[psutil.Process]:
    """Return the running children of a process (by its id), and their children."""
    return psutil.Process(process).children(recursive=True)


def family(process: int) -> list[psutil.Process]:
    """Return a process, first, and its children and their children."""
    return [psutil.Process(process), *started_by(process)]


def command_line(process: psutil.Process) -> str:
    """Return the command line of a process; empty if it has exited."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def java_processes(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Return the Java processes among these that have not exited."""
    return [process for process in processes if _name(process) == "java"]


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:  # It has exited.
        return ""


def alive(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Return the processes that have not exited; zombies have exited, too."""
    return [process for process in processes if _is_alive(process)]


def _is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def left_behind(processes: Iterable[psutil.Process], seconds: float = 60.0) -> list[psutil.Process]:
    """Wait until all processes have exited; return those that have not after the given seconds."""
    end = time.monotonic() + seconds
    while (left := alive(processes)) and time.monotonic() < end:
        time.sleep(_POLL)
    return left


@contextmanager
def killed_at_end(process: _P) -> Iterator[_P]:
    """Kill a process that was started here, and all that it has started, at the end of the block unless it has exited:
    a test that fails leaves nothing running."""
    try:
        yield process
    finally:
        if process.poll() is None:
            for member in family(process.pid):
                with suppress(psutil.NoSuchProcess):
                    member.kill()
            process.wait()


def cpu_seconds(processes: Iterable[psutil.Process], *, ended: bool = False) -> float:
    """Return the CPU time of processes.

    Arguments:
        processes: the processes.
        ended: whether to include children that have exited. Without it, the time of a process that exits between two
            calls is lost.
    """
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + (times.children_user + times.children_system if ended else 0.0)
    return total


def cores_used(process: int, seconds: float, every: float = 1.0) -> float:
    """Return how many cores a process and its descendants use on average.

    Arguments:
        process: its id.
        seconds: how long to measure.
        every: seconds between two samples; the time of a process that exits is missed only after its last sample.
    """
    before = {member: cpu_seconds([member]) for member in family(process)}
    used = dict(before)
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < seconds:
        time.sleep(min(every, seconds - passed))
        used |= {member: max(used.get(member, 0.0), cpu_seconds([member])) for member in family(process)}
    return (sum(used.values()) - sum(before.values())) / passed


def processor_time() -> float:
    """Return the CPU time of this process and its children in seconds, including those that have exited."""
    return cpu_seconds(family(os.getpid()), ended=True)


def events(out: Path, since: int = 0) -> list[dict[str, Any]]:
    """Return the events of a run with `--format json` in a file, from a byte offset, without incomplete lines."""
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
    """Wait for a condition of a run that writes to a file; checked every `poll` seconds.

    Raises:
        RuntimeError: the run has ended, or the time is over; the message has the end of its output.
    """
    end = time.monotonic() + seconds
    while True:
        ended = process.poll() is not None  # Before the condition: the last actions of the run count.
        if reached():
            return
        if ended:
            raise RuntimeError(
                f"the run has ended with exit code {process.returncode}:\n{out.read_text()[-_SHOWN_OUTPUT:]}"
            )
        if time.monotonic() > end:
            raise RuntimeError(f"the condition is not true after {seconds:.0f} s:\n{out.read_text()[-_SHOWN_OUTPUT:]}")
        time.sleep(poll)
