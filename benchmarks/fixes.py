"""Mutated blueprints fixed: findings that `--fix` introduces, graphs that it changes, ports that are bound twice.

python -m benchmarks.fixes            # 10,000 blueprints
python -m benchmarks.fixes 500 --seed 3
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from tests.blueprint.verification.fixed_mutations import fix_mutations


def main() -> None:
    """Print the figures, and the first offender of each kind."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        outcome = fix_mutations(arguments.count, arguments.seed, Path(directory))
        os.chdir("/")
    print(f"{arguments.count:,} blueprints, {outcome.blueprints:,} fixed")
    for kind, times in outcome.fixes.most_common():
        print(f"  {times:6,} {kind.name.lower().replace('_', '-')} ({kind.applicability.value})")
    print(f"{outcome.came_to_light:,} findings came to light elsewhere")
    failed = {
        "findings introduced": outcome.introduced,
        "graphs changed": outcome.changed,
        "blueprints with a port bound twice": outcome.bound_twice,
    }
    for what, offenders in failed.items():
        print(f"{len(offenders):,} {what}")
        print(*offenders[:1], sep="\n", end="\n" if offenders else "")
    raise SystemExit(any(failed.values()))


if __name__ == "__main__":
    main()
