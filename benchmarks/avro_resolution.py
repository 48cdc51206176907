"""Ten thousand random schema pairs through every claim the tests make of the Avro checker; prints what it counted.

    python -m benchmarks.avro_resolution [PAIRS] [FIRST_SEED]

A failed claim stops the run with the seed and both schemas.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter

from blueprint.avro import Contract, check
from blueprint.avro.spark_problems import spark_problems
from tests.blueprint.avro.claims import Claims
from tests.blueprint.avro.schemas import DEPTH, Generator

READABLE = 100
"""Records of a compatible pair that must all decode."""

TRIES = 1000
"""Records among which one of an incompatible pair must fail to decode."""


def main(pairs: int, first: int) -> None:
    """Check so many pairs, seeds from `first` on."""
    counted: Counter[str] = Counter()
    started = time.perf_counter()
    checking = 0.0
    for seed in range(first, first + pairs):
        try:
            claims = Claims(Generator(random.Random(seed)))
            compatible = claims.oracles_agree(READABLE, TRIES)
            claims.paths_exist()
            claims.plan_reads()
            claims.json_is_whole()
            errors, mendable = claims.changes_work()
        except BaseException:
            print(f"seed {seed}", file=sys.stderr)
            raise
        before = time.perf_counter()
        reasons = check(claims.writer, claims.reader, suggest=False).reasons
        checking += time.perf_counter() - before
        counted["compatible" if compatible else "incompatible"] += 1
        counted["with a recursive record on either side"] += _recursive(claims.writer) or _recursive(claims.reader)
        counted["errors"] += errors
        counted["errors with a change"] += mendable
        counted.update(f"rule {reason.rule}" for reason in reasons)
        if claims.divergence:
            counted[f"left out, known divergence {claims.divergence}"] += 1
    print(f"{pairs} pairs, recursion depth {DEPTH}, seeds from {first}")
    for name, number in sorted(counted.items()):
        print(f"  {number:6d}  {name}")
    print(f"{time.perf_counter() - started:.0f} s in all, of which {checking / pairs * 1e6:.0f} us a check")


def _recursive(contract: Contract) -> bool:
    """Whether some record of a contract holds itself."""
    return any("holds itself" in problem.headline for problem in spark_problems(contract))


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    main(*(*arguments, *(10_000, 0)[len(arguments) :]))
