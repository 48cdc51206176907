"""Mutated applications and random bytes through `flow verify`: no traceback, no hang, the right exit code.

    python -m benchmarks.accidents [COUNT] [SEED]

The application is `tests/seeded/dense`: blueprint in HOCON, YAML and JSON, a file that it includes, and its schemas.
The command runs in this process and must answer within 2 s. Its exit code must be 1 if the report has errors, and 0
otherwise. A wrong answer stops the benchmark and shows the file.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path

from tests.cli.accidents import ApplicationCopies, mutations, random_bytes, verify


def main(count: int, seed: int) -> None:
    """Verify `count` mutated and `count` random files, and print the results."""
    with tempfile.TemporaryDirectory(prefix="flow-bench-") as directory:
        copies = ApplicationCopies(Path(directory))
        for kind in (mutations, random_bytes):
            counts: Counter[str] = Counter()
            slowest, started = 0.0, time.perf_counter()
            for file, data in islice(kind(copies, random.Random(seed)), count):
                with copies.with_bytes(file, data) as arguments:
                    try:
                        outcome = verify(arguments)
                    except BaseException:
                        print(f"{file}: {data!r}", file=sys.stderr)
                        raise
                counts[f"exit code {outcome.code}"] += 1
                counts[file.name] += 1
                slowest = max(slowest, outcome.seconds)
            took = time.perf_counter() - started
            print(f"{count} {kind.__name__}: all answered; slowest {slowest:.2f} s, {took / count * 1000:.0f} ms each")
            for name, number in sorted(counts.items()):
                print(f"  {number:6d}  {name}")


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    main(*(*arguments, *(5_000, 0)[len(arguments) :]))
