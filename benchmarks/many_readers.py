"""Many streamlets with Python sources that start together on a busy machine: `python -m benchmarks.many_readers`.

One topic with a record has many readers, each with a Python process of its own that must connect to Spark. Busy loops
are the load. Measured are the time until every reader has read the record, and the failures until then.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.idle import application, start, stop
from benchmarks.processes import events, wait_until

_BAR = 300.0
"""Seconds within which all readers have read the record."""

_OVERLOADED = "the machine is overloaded"


@contextmanager
def load(loops: int) -> Iterator[None]:
    """Keep so many processes busy."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def fan_out(directory: Path, readers: int) -> None:
    """Write an application in which so many streamlets read one topic, with a record."""
    application(directory)
    (directory / "empty" / "record.json").write_text('{"n": 1}\n')
    names = [f"r{number}" for number in range(readers)]
    streamlets = ["first = idle.First", *(f"{name} = idle.Next" for name in names)]
    topics = [f"all {{ producers = [first.out], consumers = [{', '.join(f'{name}.in' for name in names)}] }}"]
    topics += [f"{name} {{ producers = [{name}.out] }}" for name in names]
    lines = ["blueprint {", "streamlets {", *streamlets, "}", "topics {", *topics, "}", "}"]
    (directory / "blueprint.conf").write_text("\n".join(lines) + "\n")


def have_read(directory: Path) -> set[str]:
    """Return the readers that have read the record."""
    return {str(event["streamlet"]) for event in events(directory / "run.out") if event.get("rows_in")}


def main() -> None:
    """Measure and print; exit with 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--load", type=int, default=20, help="processes that are kept busy")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="readers-"))
    fan_out(directory, options.readers)
    with load(options.load):
        begun = time.monotonic()
        process = start(directory, count=1)
        wait_until(
            process,
            directory / "run.out",
            lambda: len(have_read(directory) - {"first"}) >= options.readers,
            seconds=4 * _BAR,
        )
        took, average = time.monotonic() - begun, os.getloadavg()[0]
    causes = [str(event.get("cause")) for event in events(directory / "run.out") if event.get("state") == "backing-off"]
    machine = sum(cause.startswith(_OVERLOADED) for cause in causes)
    print(
        f"{options.readers} readers, {options.load} busy loops, load {average:.0f}: all have read after {took:.0f} s "
        f"(bar: {_BAR:.0f} s); {len(causes) - machine} failures counted, {machine} of the machine",
        flush=True,
    )
    print(f"stopped in {stop(process):.1f} s")
    shutil.rmtree(directory)
    raise SystemExit(took > _BAR or len(causes) > machine)


if __name__ == "__main__":
    main()
