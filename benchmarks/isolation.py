"""One Spark for all streamlets beside driver processes of their own: `python -m benchmarks.isolation`.

A chain of streamlets without news runs with `--isolation none`, then in two groups, then each in a process of its own.
Told are the times until the first and until all are up, the processor time that took, and, once that is over, memory
(proportional: pages that processes share count once), processes, and cores in use. Then a Java process is killed: which
streamlets failed, and how long until all were up again.
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
from benchmarks.processes import cores_used, cpu_seconds, events, family, wait_until


def memory(processes: list[psutil.Process]) -> float:
    """MiB in use by processes."""
    return sum(each.memory_full_info().pss for each in processes) / 2**20


def javas(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that are Spark's Java."""
    return [each for each in processes if each.name() == "java"]


def heal(folder: Path, process: subprocess.Popen[bytes]) -> tuple[int, float]:
    """Kill the last Java process; how many streamlets failed, and seconds until all were up again."""
    out, seen = folder / "run.out", len(ups(folder))
    javas(family(process.pid))[-1].kill()
    killed = time.time()
    wait_until(process, out, lambda: failures(folder) > 0)
    time.sleep(1.0)  # the others' failures follow at once
    failed = failures(folder)
    wait_until(process, out, lambda: len(ups(folder)) >= seen + failed)
    return failed, ups(folder)[-1] - killed


def failures(folder: Path) -> int:
    """How many times a streamlet has failed."""
    return sum(event.get("state") == "backing-off" for event in events(folder / "run.out"))


def measure(what: str, options: list[str], count: int, settle: float, seconds: float) -> None:
    """Run it one way and print what it costs."""
    folder = Path(tempfile.mkdtemp(prefix="isolation-"))
    application(folder, count)
    begun = time.time()
    process = start(folder, *options, count=count)
    used, came = cpu_seconds(family(process.pid), ended=True), ups(folder)
    time.sleep(settle)
    cores = cores_used(process.pid, seconds)
    members = family(process.pid)
    one = max(javas(members), key=lambda each: each.memory_info().rss)
    print(f"{what}: first up {came[0] - begun:.1f} s, all up {came[-1] - begun:.1f} s, {used:.0f} s of processor time")
    print(f"  {memory(members):,.0f} MiB, the largest Java process {memory([one]):,.0f}; {len(members)} processes, "
          f"{len(javas(members))} of them Java; {cores:.3f} cores when idle")  # fmt: skip
    failed, took = heal(folder, process)
    print(f"  a Java process killed: {failed} of {count} streamlets failed, all up again after {took:.1f} s")
    print(f"  stopped in {stop(process):.1f} s", flush=True)
    shutil.rmtree(folder)


def main() -> None:
    """Measure all three ways, one after another."""
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
