"""One Spark for all streamlets, compared with separate driver processes: `python -m benchmarks.isolation`.

A chain of streamlets without new records runs with `--isolation none`, then in two groups, then each in its own
process. Measured are the times until the first and until all are running, the CPU time until then, and after that the
memory (proportional: shared pages count once), processes and cores in use. Then a Java process is killed: which
streamlets fail, and how long until all are running again.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks.idle import application, start, stop, ups
from benchmarks.processes import cores_used, cpu_seconds, events, family, java_processes, wait_until


def memory(processes: list[psutil.Process]) -> float:
    """Return the memory of processes in MiB."""
    return sum(process.memory_full_info().pss for process in processes) / 2**20


def heal(directory: Path, process: subprocess.Popen[bytes]) -> tuple[int, float]:
    """Kill the last Java process; return how many streamlets failed, and the seconds until all were running again."""
    out, seen = directory / "run.out", len(ups(directory))
    java_processes(family(process.pid))[-1].kill()
    killed = time.time()
    wait_until(process, out, lambda: failures(directory) > 0)
    time.sleep(1.0)  # the others' failures follow at once
    failed = failures(directory)
    wait_until(process, out, lambda: len(ups(directory)) >= seen + failed)
    return failed, ups(directory)[-1] - killed


def failures(directory: Path) -> int:
    """Return how often streamlets have failed."""
    return sum(event.get("state") == "backing-off" for event in events(directory / "run.out"))


def measure(what: str, options: list[str], count: int, settle: float, seconds: float) -> None:
    """Run the application in one way and print the measurements."""
    directory = Path(tempfile.mkdtemp(prefix="isolation-"))
    application(directory, count)
    begun = time.time()
    process = start(directory, *options, count=count)
    used, came = cpu_seconds(family(process.pid), ended=True), ups(directory)
    time.sleep(settle)
    cores = cores_used(process.pid, seconds)
    members = family(process.pid)
    largest = max(java_processes(members), key=lambda process: process.memory_info().rss)
    print(f"{what}: first up {came[0] - begun:.1f} s, all up {came[-1] - begun:.1f} s, {used:.0f} s of CPU time")
    print(f"  {memory(members):,.0f} MiB, the largest Java process {memory([largest]):,.0f}; {len(members)} processes, "
          f"{len(java_processes(members))} of them Java; {cores:.3f} cores when idle")  # fmt: skip
    failed, took = heal(directory, process)
    print(f"  a Java process killed: {failed} of {count} streamlets failed, all up again after {took:.1f} s")
    print(f"  stopped in {stop(process):.1f} s", flush=True)
    shutil.rmtree(directory)


def main() -> None:
    """Measure all three ways, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streamlets", type=int, default=4)
    parser.add_argument("--settle", type=float, default=20.0, help="seconds after the start before measuring")
    parser.add_argument("--measure", type=float, default=20.0, help="seconds to measure over")
    options = parser.parse_args()
    count = options.streamlets
    halves = [f"flow.streamlets.s{n}.group={'first' if n < count // 2 else 'second'}" for n in range(count)]
    for what, how in (
        ("one Spark", ["--isolation", "none"]),
        ("two groups", ["--isolation", "process", *halves]),
        ("a process each", ["--isolation", "process"]),
    ):
        measure(what, how, count, options.settle, options.measure)


if __name__ == "__main__":
    main()
