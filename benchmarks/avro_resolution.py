"""Every claim of the tests about the Avro checker, on ten thousand random schema pairs; prints the counts.

    python -m benchmarks.avro_resolution [PAIRS] [FIRST_SEED]

For each compatible pair, `fastavro` and Apache `avro` decode 100 records; for each other pair, they fail to decode some
record. Apache's checker agrees; every reason names a path in the reader's schema; every suggested change fixes its
reason, and all changes together make the pair compatible; the read plan gives the same value as fastavro. Schemas nest
to the printed depth, and records may be recursive.

Pairs on which a library is known to differ are excluded for that library only, and counted by the divergence.
`tests/blueprint/avro/oracles.py` and `apache.py` explain each divergence, and `test_divergences.py` shows it.

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
    """Check `pairs` pairs, with seeds from `first`."""
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
            errors, fixable = claims.changes_work()
        except BaseException:
            print(f"seed {seed}", file=sys.stderr)
            raise
        before = time.perf_counter()
        reasons = check(claims.writer, claims.reader, suggest=False).reasons
        checking += time.perf_counter() - before
        kind = "compatible" if claims.compatible else "incompatible"
        counted[kind] += 1
        counted[f"{kind}: compared with the decoder of fastavro"] += claims.divergence is None
        counted[f"{kind}: compared with the decoder of avro"] += not claims.apache_limits
        counted["with a recursive record on either side"] += _recursive(claims.writer) or _recursive(claims.reader)
        counted["errors"] += errors
        counted["errors with a change"] += fixable
        counted.update(f"rule {reason.rule}" for reason in reasons)
        if claims.divergence:
            counted[f"excluded for fastavro and avro's checker: {claims.divergence}"] += 1
        counted.update(f"excluded for avro's decoder: {limit}" for limit in claims.apache_limits)
    print(f"{pairs} pairs, recursion depth {DEPTH}, seeds from {first}")
    for name, number in sorted(counted.items()):
        print(f"  {number:6d}  {name}")
    print(f"{time.perf_counter() - started:.0f} s in all, of which {checking / pairs * 1e6:.0f} us a check")


def _recursive(contract: Contract) -> bool:
    """Return whether some record of a contract contains itself."""
    return any("contains itself" in problem.headline for problem in spark_problems(contract))


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    main(*(*arguments, *(10_000, 0)[len(arguments) :]))
