"""What looking for news and committing cost after 100 commits and after 10,000, with the maintenance a run does.

    python -m benchmarks.topic_growth [COMMITS]

Measured on a topic that was written before, as a run meets it: one committer and one reader that stay open, the reader
looking once before and once after each commit; the median of 200, and a restart of both (open, look, commit).
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from blueprint.avro.sources.loading import parse_contract
from blueprint.plan import TopicPlan
from streamlets.channels.delta.actions import DataFile, Txn
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.delta.log import TopicLog
from streamlets.channels.delta.maintenance import Upkeep, maintain_topic
from streamlets.channels.delta.table import Table, open_table
from streamlets.channels.delta.table_directory import create_table
from streamlets.channels.delta.topic import DeltaTopic

CONTRACT = parse_contract(json.dumps({"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}))
RECORDS = 100
UPKEEP = Upkeep(keep_log=0.0, keep_removed=0.0)  # a run of 10,000 commits in a minute must meet a cleaned log, too
SAMPLES = 200


def main() -> None:
    """Grow a topic, measure on the way, print the ratios."""
    goal = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    directory = Path(tempfile.mkdtemp(prefix="growth-"))
    try:
        topic = DeltaChannel(directory).topic(TopicPlan("grows", "grows", "delta", True, (), (), {}))
        topic.create()
        path = topic.path / CONTRACT.fingerprint
        create_table(path, CONTRACT, (), time.time)
        table = open_table(path, files=False)
        number = grow(topic, table, 0, 100)
        early = measure(topic, table, number)
        started = time.perf_counter()
        number = grow(topic, table, number + SAMPLES, goal)
        grown = (time.perf_counter() - started) / (goal - 100 - SAMPLES) * 1000
        late = measure(topic, table, number)
        print(f"{'milliseconds':28}{100:>10,}{goal:>10,}{'ratio':>8}")
        for name in early:
            print(f"{name:28}{early[name]:10.3f}{late[name]:10.3f}{late[name] / early[name]:8.2f}")
        print(f"\none commit on the way, its maintenance included: {grown:.2f} ms")
        together = [sum(m[k] for k in ("poll, nothing new", "commit", "poll, one new commit")) for m in (early, late)]
        print(f"ratio {together[1] / together[0]:.2f} (looking for news and committing)")
    finally:
        shutil.rmtree(directory)


def grow(topic: DeltaTopic, table: Table, number: int, until: int) -> int:
    """Commit until the topic has `until` commits, with maintenance as often as in a run; return the next number."""
    while number < until:
        commit(table, number)
        number += 1
        if number % 20 == 0:
            maintain_topic(topic.path, topic.path.parent / "_staged", time.time, UPKEEP)
    return number


def commit(table: Table, number: int, clock: Callable[[], float] = time.time) -> None:
    """Commit one small file; all of them are links to the same file."""
    file = table.path / "data" / "writer.q" / f"{number}.parquet"
    first = file.with_name("first")
    if not first.exists():
        first.parent.mkdir(parents=True)
        pq.write_table(pa.table({"id": range(RECORDS)}), first)
    os.link(first, file)
    name = file.relative_to(table.path).as_posix()
    table.append([DataFile(name, first.stat().st_size, (RECORDS,))], Txn("writer.q", number), clock)


def measure(topic: DeltaTopic, table: Table, number: int) -> dict[str, float]:
    """Return the medians in milliseconds."""
    log = TopicLog(topic.path)
    log.refresh()
    times: dict[str, list[float]] = {"poll, nothing new": [], "commit": [], "poll, one new commit": []}
    for sample in range(SAMPLES):
        for name, act in (
            ("poll, nothing new", log.refresh),
            ("commit", lambda sample=sample: commit(table, number + sample)),
            ("poll, one new commit", log.refresh),
        ):
            started = time.perf_counter()
            act()
            times[name].append((time.perf_counter() - started) * 1000)
        log.forget(log.end())
    end = log.end()
    medians = {name: statistics.median(samples) for name, samples in times.items()}
    return medians | {
        "restart of the writer": timed(lambda: open_table(table.path, files=False)),
        "restart of a reader": timed(lambda: TopicLog(topic.path, end).refresh()),
        "a reader from the beginning": timed(lambda: TopicLog(topic.path).refresh()),
        "reading all, per 1,000 records": timed(lambda: sum(b.num_rows for b in topic.scan())) / number * 10,
    }


def timed(act: object) -> float:
    """Return the median of five calls in milliseconds."""
    times = []
    for _ in range(5):
        started = time.perf_counter()
        act()  # type: ignore[operator]
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


if __name__ == "__main__":
    main()
