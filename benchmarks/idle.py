"""The resources of an idle application: `python -m benchmarks.idle`.

Eight streamlets (a chain of topics) without new records: the cores, processes and memory used by the runner and its
children, two minutes after the start; then whether repeated starts and stops leave processes or data behind. With
`--streamlets 100 --cycles 0` it shows whether as many come up on one driver without a restart.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.processes import cores_used, events, family, left_behind, wait_until

STREAMLETS = 8
_MODULE = '''
from pyspark.sql import functions as F
from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, SparkStreamletLogic

class First(SparkStreamlet):
    """Read nothing, forever: an empty directory."""
    out = AvroOutlet(schema="n bigint")

    class Logic(SparkStreamletLogic["First"]):
        def build_streaming_queries(self):
            rows = self.source("files", format="json", schema="n bigint", options={"path": "FOLDER"})
            return self.write_stream(rows, self.streamlet.out)

class Next(SparkStreamlet):
    """What comes in."""
    incoming = AvroInlet("in", schema="n bigint")
    out = AvroOutlet(schema="n bigint")

    class Logic(SparkStreamletLogic["Next"]):
        def build_streaming_queries(self):
            return self.write_stream(self.read_stream(self.streamlet.incoming), self.streamlet.out)
'''


def application(directory: Path, count: int = STREAMLETS) -> None:
    """Write an application: a chain of `count` streamlets without input."""
    (directory / "empty").mkdir(parents=True)
    (directory / "idle.py").write_text(_MODULE.replace("FOLDER", str(directory / "empty")))
    (directory / "blueprint.conf").write_text(chain("idle", count))


def chain(module: str, count: int) -> str:
    """Return the blueprint of a chain `s0`, `s1`, ... to the topic `last`, with a module's `First` and `Next`."""
    names = [f"s{number}" for number in range(count)]
    streamlets = [f"{name} = {module}.{'Next' if number else 'First'}" for number, name in enumerate(names)]
    topics = [f"t{number} {{ producers = [{name}.out], consumers = [{after}.in] }}"
              for number, (name, after) in enumerate(itertools.pairwise(names))]  # fmt: skip
    topics.append(f"last {{ producers = [{names[-1]}.out] }}")
    text = "blueprint {\n streamlets {\n  %s\n }\n topics {\n  %s\n }\n}\n"
    return text % ("\n  ".join(streamlets), "\n  ".join(topics))


def start(directory: Path, *options: str, count: int = STREAMLETS) -> subprocess.Popen[bytes]:
    """Run an application with `options`, and wait until its `count` streamlets are running."""
    out = (directory / "run.out").open("wb")
    process = subprocess.Popen(
        [sys.executable, "-c", "from cli.main import main; main()", "run", directory, "--format", "json", *options],
        stdout=out, stderr=out, cwd=Path(__file__).resolve().parent.parent,
    )  # fmt: skip
    wait_until(process, directory / "run.out", lambda: len(ups(directory)) >= count, seconds=1200)
    return process


def ups(directory: Path) -> list[float]:
    """Return the times at which streamlets started to run."""
    return [event["time"] for event in events(directory / "run.out") if event.get("state") == "running"]


def stop(process: subprocess.Popen[bytes]) -> float:
    """Drain the application; return the seconds until the runner and its children have exited."""
    begun = time.monotonic()
    members = family(process.pid)
    process.send_signal(signal.SIGTERM)
    process.wait()
    if left := left_behind(members):
        print(f"LEFT BEHIND: {left}")
    return time.monotonic() - begun


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streamlets", type=int, default=STREAMLETS)
    parser.add_argument("--settle", type=float, default=120.0, help="seconds after the start before measuring")
    parser.add_argument("--measure", type=float, default=60.0, help="seconds to measure over")
    parser.add_argument("--cycles", type=int, default=20, help="starts and stops afterwards")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="idle-"))
    application(directory, options.streamlets)
    begun = time.monotonic()
    process = start(directory, count=options.streamlets)
    restarts = sum(event.get("state") == "backing-off" for event in events(directory / "run.out"))
    load = os.getloadavg()[0]
    print(f"up after {time.monotonic() - begun:.0f} s, {restarts} restarts, load {load:.0f}", flush=True)
    time.sleep(options.settle)
    cores = cores_used(process.pid, options.measure)
    members = family(process.pid)
    memory = sum(member.memory_info().rss for member in members) / 2**20
    print(
        f"{options.streamlets} idle streamlets: {cores:.3f} cores, {len(members)} processes, {memory:,.0f} MiB",
        flush=True,
    )
    print(f"stopped in {stop(process):.1f} s", flush=True)
    for cycle in range(options.cycles):
        process = start(directory, count=options.streamlets)
        time.sleep(2)
        members = family(process.pid)
        memory = sum(member.memory_info().rss for member in members) / 2**20
        size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()) / 2**20
        count, took = len(members), stop(process)
        print(f"cycle {cycle + 1:2}: {count} processes, {memory:,.0f} MiB, state {size:.1f} MiB, stop {took:.1f} s",
              flush=True)  # fmt: skip
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
