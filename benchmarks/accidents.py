"""Mutated applications and random bytes through `flow verify`: no traceback, no hang, the right exit code.

    python -m benchmarks.accidents [EACH] [SEED]

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

from tests.cli.accidents import Workshop, answered, mutations, random_bytes


def main(each: int, seed: int) -> None:
    """Verify `each` mutated and `each` random files, and print the results."""
    with tempfile.TemporaryDirectory(prefix="flow-bench-") as folder:
        workshop = Workshop(Path(folder))
        for kind in (mutations, random_bytes):
            counted: Counter[str] = Counter()
            slowest, started = 0.0, time.perf_counter()
            for file, data in islice(kind(workshop, random.Random(seed)), each):
                with workshop.with_bytes(file, data) as arguments:
                    try:
                        outcome = answered(arguments)
                    except BaseException:
                        print(f"{file}: {data!r}", file=sys.stderr)
                        raise
                counted[f"exit code {outcome.code}"] += 1
                counted[file.name] += 1
                slowest = max(slowest, outcome.slowest)
            took = time.perf_counter() - started
            print(f"{each} {kind.__name__}: all answered; slowest {slowest:.2f} s, {took / each * 1000:.0f} ms each")
            for name, number in sorted(counted.items()):
                print(f"  {number:6d}  {name}")


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*(*given, *(5_000, 0)[len(given) :]))
