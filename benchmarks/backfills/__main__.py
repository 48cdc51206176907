"""Backfills of random ranges, compared with plain batches: `python -m benchmarks.backfills --ranges 40 --kills 20`.

Each backfill is a process. Of those that are killed, the first attempt is killed after a random time, and the same
command continues. The files of the application are compared byte by byte before and after.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.backfills.cases import Range, ranges, results, truth, write_application
from streamlets.testkit import start_session

_LONGEST = 900.0


def call(application: Path, own: Range, into: Path, kill_after: float | None) -> int:
    """Call `flow backfill`, and return its exit code; a killed one is called again."""
    arguments = ("backfill", *own.arguments, "--into", str(into), "--name", into.name, "--master", "local[2]")
    command = [sys.executable, "-m", "cli.main", *arguments, "--format", "lines"]
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    with (application / f"{into.name}.log").open("ab") as log:
        process = subprocess.Popen(
            [*command, str(application)], env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            return process.wait(kill_after if kill_after is not None else _LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if kill_after is None:
                raise
    return call(application, own, into, None)


def content(application: Path) -> dict[str, bytes]:
    """Return the files of an application by path, without those of backfills."""
    state = application / ".flow" / "shop"
    files = (file for file in state.rglob("*") if file.is_file() and "backfills" not in file.relative_to(state).parts)
    return {str(file): file.read_bytes() for file in files}


def main() -> None:
    """Call backfills, and print what differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranges", type=int, default=4)
    parser.add_argument("--kills", type=int, default=0, help="how many of the ranges are interrupted")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    wrong = 0
    with tempfile.TemporaryDirectory() as directory, start_session() as spark:
        application = write_application(Path(directory) / "shop", rng)
        before = content(application)
        for number, own in enumerate(ranges(given.ranges, rng)):
            begun, into = time.monotonic(), Path(directory) / f"r{number}"
            kill_after = rng.uniform(5, 60) if number < given.kills else None
            code = call(application, own, into, kill_after)
            expected = truth(spark, application, own)
            found = results(into / f"{own.logic}.parquet") if code == 0 else None
            same = found == expected
            wrong += not same
            took = time.monotonic() - begun
            killed = f", killed after {kill_after:.0f} s" if kill_after else ""
            print(f"{number}: {own}: {len(expected)} results, {'same' if same else f'DIFFERENT, code {code}'}"
                  f" in {took:.0f} s{killed}", flush=True)  # fmt: skip
            if not same:
                print((application / f"r{number}.log").read_text()[-2000:], found, expected, sep="\n", flush=True)
        touched = content(application) != before
    print(f"{given.ranges} ranges, {given.kills} of them interrupted: {wrong} wrong; application "
          f"{'TOUCHED' if touched else 'not touched'}")  # fmt: skip
    raise SystemExit(bool(wrong or touched))


if __name__ == "__main__":
    main()
