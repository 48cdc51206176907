"""Kills an application repeatedly and counts lost and doubled records: `python -m benchmarks.kills TARGET`.

Each round feeds new records, runs the application, and kills it: at a crash point, or with `kill -9` while it works. At
the end it runs undisturbed, and its topics and outputs are compared with what they must have.

With `--directory` this can be done in several calls: `--rounds 10` executes ten of the remaining rounds, `--seconds`
begins no further round after a time, and the call after which no rounds remain (or `--compare`) compares. Arguments
after `--` go to `flow run`, where a target passes them on.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.kills.batch_source import BatchSource
from benchmarks.kills.channels import Channel, Redis
from benchmarks.kills.cluster import Cluster
from benchmarks.kills.drains import Drains
from benchmarks.kills.finite import Finite
from benchmarks.kills.fused import Fused
from benchmarks.kills.harness import Journal, kill_repeatedly, kinds
from benchmarks.kills.java import Java
from benchmarks.kills.kafka import Deduplicated, Kafka
from benchmarks.kills.kafka_once import KafkaOnce
from benchmarks.kills.ledger import Topics
from benchmarks.kills.replicas import Replicas, ReplicasOnKafka
from benchmarks.kills.shop import Shop
from benchmarks.kills.sink_cases import CASES
from benchmarks.kills.sinks import Sinks
from benchmarks.kills.source_files import SourceFiles
from benchmarks.kills.source_servers import SourceHttp, SourceJdbc
from benchmarks.kills.spouts import Spouts

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.kills.harness import Target

TARGETS: dict[str, Callable[..., Target]] = {
    "topics": Topics,
    "shop": Shop,
    "kafka": Kafka,
    "kafka-deduplicated": Deduplicated,
    "kafka-once": KafkaOnce,
    "sinks": partial(Sinks, names=tuple(CASES)),
    **{f"sink-{name}": partial(Sinks, names=(name,)) for name in CASES},
    "java": Java,
    "spouts": Spouts,
    "batch-source": BatchSource,
    "source-files": SourceFiles,
    "source-http": SourceHttp,
    "source-jdbc": SourceJdbc,
    "drains": Drains,
    "fused": Fused,
    "replicas": Replicas,
    "replicas-kafka": ReplicasOnKafka,
    "finite": Finite,
    "sqlite": Channel,
    "redis": Redis,
    "cluster": Cluster,
}
"""What can be killed, by name."""


def main() -> None:
    """Execute rounds, and compare when none remain."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--each", type=int, help="how often each crash point is hit")
    parser.add_argument("--kills", type=int, help="how often it is killed with `kill -9`")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1_000_000, help="maximum number of rounds in this call")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further round after this time")
    parser.add_argument("--compare", action="store_true", help="compare now, even if rounds remain")
    parser.add_argument("--directory", type=Path, help="keep the state here, and continue with it")
    parser.add_argument("options", nargs="*", help="options of `flow run`, after `--`")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # runs and servers end with this process
    directory: Path = arguments.directory or Path(tempfile.mkdtemp(prefix=f"kills-{arguments.target}-"))
    with_options = {"options": tuple(arguments.options)} if arguments.options else {}
    make = TARGETS[arguments.target]
    with make(directory / arguments.target, random.Random(arguments.seed), **with_options) as target:
        each = target.each if arguments.each is None else arguments.each
        kills = target.kills if arguments.kills is None else arguments.kills
        todo = target.rounds(each, kills)
        target.dice.shuffle(todo)
        journal = Journal.at(directory / f"{arguments.target}.json", todo)
        target.memory |= journal.memory
        target.dice.seed(arguments.seed * 1000 + len(journal.hits))  # a call that continues draws others
        problems = kill_repeatedly(target, journal, most=arguments.rounds, seconds=arguments.seconds)
        if journal.todo and not problems:
            print(f"{len(journal.todo)} rounds remain")
        if arguments.compare or not journal.todo:
            problems += target.settle()
    print(f"hit: {kinds(journal.hits)}; load {os.getloadavg()[0]:.0f}")
    print("\n".join(problems) or "as guaranteed")
    if arguments.directory is None and not problems:
        shutil.rmtree(directory)
    raise SystemExit(bool(problems))


if __name__ == "__main__":
    main()
