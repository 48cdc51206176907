"""Ten thousand random schema pairs through every claim the tests make of the Avro checker; prints what it counted.

    python -m benchmarks.avro_resolution [PAIRS] [FIRST_SEED]

For each pair: 100 records of a compatible one decode with `fastavro` and with Apache `avro`, and of any other one
record is found that each fails to decode; Apache's checker says the same; every reason names a path that exists in the
reader's schema; every suggested change takes its reason away, and all in a row make the pair compatible; the read plan
gives what fastavro reads. Schemas nest to the depth that is printed, and records hold themselves.

Pairs on which a library is known to differ are left out for that library alone, and counted by the divergence. They are
argued one by one in `tests/blueprint/avro/oracles.py` and `apache.py`, and `test_divergences.py` shows each.

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
            claims.checkers_agree()
            claims.decoders_agree(READABLE, TRIES)
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
        kind = "compatible" if claims.compatible else "incompatible"
        counted[kind] += 1
        counted[f"{kind}: held against the decoder of fastavro"] += claims.divergence is None
        counted[f"{kind}: held against the decoder of avro"] += not claims.apache_limits
        counted["with a recursive record on either side"] += _recursive(claims.writer) or _recursive(claims.reader)
        counted["errors"] += errors
        counted["errors with a change"] += mendable
        counted.update(f"rule {reason.rule}" for reason in reasons)
        if claims.divergence:
            counted[f"fastavro and avro's checker left out: {claims.divergence}"] += 1
        counted.update(f"avro's decoder left out: {limit}" for limit in claims.apache_limits)
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
