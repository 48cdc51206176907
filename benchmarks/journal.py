"""How many records a second a producer appends without Spark, durably, with one appender and with one per append.

    python -m benchmarks.journal [--seconds 10] [--rounds 3]

Records of four columns, in batches of 1,000 and one by one. Both ways take turns, each on a topic of its own with the
maintenance that a run does, in the working directory, because `/tmp` may be in memory. The last column is what the same
bytes cost in synced files without a topic.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from blueprint.avro.sources.loading import parse_contract
from blueprint.plan import TopicPlan
from streamlets.channels.base import TopicResource
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.contract.types import arrow_schema

CONTRACT = parse_contract(
    json.dumps(
        {
            "type": "record",
            "name": "Reading",
            "fields": [
                {"name": "id", "type": "long"},
                {"name": "source", "type": ["null", "string"]},
                {"name": "value", "type": "double"},
                {"name": "time", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            ],
        }
    )
)
_MAINTAIN_EVERY = 100


def main() -> None:
    """Measure both ways in turns, and print the medians and their ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10.0, help="the duration of a measurement")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print(f"{'':28}{'one appender':>16}{'one per append':>16}{'ratio':>8}{'synced files':>16}")
    for name, records in (("1,000 records each, records/s", 1000), ("1 record each, commits/s", 1)):
        rates: dict[str, list[float]] = {"held": [], "opened": [], "files": []}
        for _ in range(arguments.rounds):
            for way, samples in rates.items():
                directory = Path(tempfile.mkdtemp(prefix="journal-", dir=Path.cwd()))
                try:
                    samples.append(measure(WAYS[way](directory, batch(records)), arguments.seconds) * records)
                finally:
                    shutil.rmtree(directory)
        held, opened, files = (statistics.median(samples) for samples in rates.values())
        print(f"{name:28}{held:14,.0f}{opened:16,.0f}{held / opened:8.2f}{files:16,.0f}")


def measure(append: Callable[[int], object], seconds: float) -> float:
    """Return how often a second an append is done."""
    append(0)
    number, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        number += 1
        append(number)
    return number / (time.perf_counter() - started)


def held(directory: Path, rows: pa.RecordBatch) -> Callable[[int], object]:
    """Append with one appender."""
    topic = new_topic(directory)
    appender = topic.appender(CONTRACT, writer="w", epoch=1)

    def append(number: int) -> None:
        assert appender.append([rows], number, marker=str(number).encode())
        maintain(topic, number)

    return append


def opened(directory: Path, rows: pa.RecordBatch) -> Callable[[int], object]:
    """Append with a new appender each time."""
    topic = new_topic(directory)

    def append(number: int) -> None:
        with topic.appender(CONTRACT, writer="w", epoch=1) as appender:
            assert appender.append([rows], number, marker=str(number).encode())
        maintain(topic, number)

    return append


def files(directory: Path, rows: pa.RecordBatch) -> Callable[[int], object]:
    """Write the records as they are in memory, and sync the file and its directory: the disk's share."""
    data = rows.serialize().to_pybytes()

    def write(number: int) -> None:
        path = directory / str(number)
        with path.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        handle = os.open(directory, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)

    return write


WAYS = {"held": held, "opened": opened, "files": files}


def new_topic(directory: Path) -> TopicResource:
    """Return a new topic."""
    topic = DeltaChannel(directory).topic(TopicPlan("journal", "journal", "delta", True, (), (), {}))
    topic.create()
    return topic


def maintain(topic: TopicResource, number: int) -> None:
    """Maintain the topic as often as a run does at this rate."""
    if number % _MAINTAIN_EVERY == 0:
        topic.maintain()


def batch(records: int) -> pa.RecordBatch:
    """Return a batch of records."""
    rows = [
        {"id": i, "source": f"s{i % 50}", "value": i * 0.1, "time": 1_700_000_000_000_000 + i} for i in range(records)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=arrow_schema(CONTRACT))


if __name__ == "__main__":
    main()
