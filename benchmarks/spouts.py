"""How many records a second spouts deliver, and how much memory a file of a gigabyte takes.

    python -m benchmarks.spouts [--seconds 10] [--size 1024]

A generator yields records of four columns as dicts, and as Arrow batches, in transactions of 10,000. `flow put`
delivers a file of `--size` MiB of lines, and of JSON lines of a tenth of that. Memory is the peak of each process.
Everything is in the working directory, because `/tmp` may be in memory.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from streamlets import AvroOutlet, GeneratorSpout, Spout
from streamlets.ingress.spouts.generator import SpoutOutput, SpoutTransaction
from streamlets.testkit import Testkit

_ROWS = 10_000
_SCHEMA = "id long, source string, value double, flag boolean"


class Dicts(GeneratorSpout):
    """Yields the same dicts again and again."""

    out = AvroOutlet(schema=_SCHEMA)
    rows: ClassVar[list[dict[str, Any]]] = [
        {"id": number, "source": f"s{number % 50}", "value": number * 0.1, "flag": number % 2 == 0}
        for number in range(_ROWS)
    ]

    def run(self, out: SpoutOutput, resume: Any) -> Iterator[SpoutTransaction]:
        """Yield until nobody asks for more."""
        number = 0
        while True:
            number += 1
            yield out.transaction(self.records(), resume=number)

    def records(self) -> Any:
        """Return the records of a transaction, each a new dict."""
        return (dict(row) for row in self.rows)


class Arrow(Dicts):
    """Yields the same Arrow batch again and again."""

    batch = pa.RecordBatch.from_pylist(Dicts.rows)

    def records(self) -> Any:
        """Return the batch."""
        return self.batch


def rate(spout: type[Dicts], directory: Path, seconds: float) -> float:
    """Return how many records a second a generator delivers."""
    with Testkit(directory=directory) as kit:
        under_test = kit.spout(spout)
        under_test.step()
        transactions, started = 0, time.perf_counter()
        while time.perf_counter() - started < seconds:
            under_test.step()
            transactions += 1
        return transactions * _ROWS / (time.perf_counter() - started)


def put(directory: Path, codec: str, line: bytes, mebibytes: int) -> None:
    """Deliver a file in a process of its own, and print the time and the memory."""
    directory.mkdir()
    data = directory / "data"
    lines = mebibytes * 2**20 // len(line)
    with data.open("wb") as file:
        for _ in range(lines // 1000):
            file.write(line * 1000)
    runner = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.spouts", "--deliver", codec, str(directory)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert runner.stdout is not None
    print(f"flow put, {mebibytes:,} MiB, codec {codec:12} {runner.stdout.read().strip()}", flush=True)
    assert runner.wait() == 0


def deliver(codec: str, directory: Path) -> None:
    """Run a spout whose program is `flow put`; print the seconds, the records and the peaks of memory."""
    schema = "line string" if codec == "lines" else _SCHEMA
    command = ["flow", "put", "out:data", "-f", str(directory / "data")]
    with Testkit(directory=directory / "kit") as kit:
        spout = kit.spout(Spout, parameters={"cmd": command, "codec": codec}, schemas={"out": schema})
        idle = _peak(resource.RUSAGE_SELF)
        started = time.perf_counter()
        failure = spout.run(seconds=3600)
        seconds = time.perf_counter() - started
        assert not failure, failure
        records = next(iter(spout._resources.values())).summary().records  # noqa: SLF001
    runner, program = _peak(resource.RUSAGE_SELF), _peak(resource.RUSAGE_CHILDREN)
    print(
        f"{seconds:6.1f} s, {records:11,} records, {records / seconds:9,.0f}/s; peak MiB: runner {runner:.0f} "
        f"(before {idle:.0f}), flow put {program:.0f}"
    )


def _peak(whose: int) -> float:
    return resource.getrusage(whose).ru_maxrss / 1024


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="the duration of a measurement")
    parser.add_argument("--size", type=int, default=1024, help="the size of the file, in MiB")
    parser.add_argument("--deliver", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.deliver:
        deliver(options.deliver[0], Path(options.deliver[1]))
        return
    print(f"load average {os.getloadavg()[0]:.1f}")
    directory = Path(tempfile.mkdtemp(prefix="spouts-", dir=Path.cwd()))
    try:
        for spout in (Dicts, Arrow):
            print(f"generator, {spout.__name__:7} {rate(spout, directory / spout.__name__, options.seconds):12,.0f} "
                  "records/s", flush=True)  # fmt: skip
        put(directory / "lines", "lines", b"x" * 99 + b"\n", options.size)
        row = b'{"id": 1234567, "source": "s17", "value": 123.5, "flag": true}\n'
        put(directory / "json", "json-lines", row, max(1, options.size // 10))
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
