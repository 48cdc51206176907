"""The task topic of a batch source: `python -m benchmarks.tasks [--tasks 1000000] [--small]`.

Measures how many tasks a second a discovery stores, without keys and with them; how long a start with known keys takes;
and how long a look for news takes after few and after all tasks were read. It needs no Spark.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blueprint.avro.tasks import task_contract
from blueprint.plan import TopicPlan
from streamlets.channels.base import TopicResource
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.ingress.batch_sources.cursor import TaskCursor, TaskOffset
from streamlets.ingress.batch_sources.task_writer import TaskWriter

_LOOKS = 200
_BATCH = 10_000


def topic_in(directory: Path, name: str) -> TopicResource:
    """Return a new task topic."""
    topic = DeltaChannel(directory).topic(TopicPlan(name, name, "delta", True, (), (), {}))
    topic.create([task_contract()])
    return topic


@contextmanager
def writing(topic: TopicResource) -> Iterator[TaskWriter]:
    """Open a writer, and close it."""
    writer = TaskWriter(topic, "benchmark.discovery", time.time)
    try:
        yield writer
    finally:
        writer.close()


def discover(topic: TopicResource, first: int, count: int, *, keys: bool) -> float:
    """Discover tasks like those of files, and return how long it takes until all are durable, in seconds."""
    with writing(topic) as writer:
        begun = time.perf_counter()
        writer.begin("")
        for number in range(first, first + count):
            path = f"/data/incoming/{number:09}.csv"
            writer.eat({"path": path, "size": number, "modified": number}, key=f"{path}@{number}" if keys else None)
        writer.finish()
        return time.perf_counter() - begun


def look(topic: TopicResource, read: int) -> tuple[float, float]:
    """Read so many tasks; return the median time of a look without news, and of one with one new task, in seconds."""
    cursor, offset = TaskCursor(topic), TaskOffset()
    while offset.task + 1 < read:
        following = cursor.upto(offset, _BATCH)
        cursor.between(offset, following)
        assert following != offset
        offset = following
    idle = []
    for _ in range(_LOOKS):
        begun = time.perf_counter()
        assert cursor.upto(offset, _BATCH) == offset
        idle.append(time.perf_counter() - begun)
    news = []
    with writing(topic) as writer:
        writer.begin("")
        for _ in range(20):
            writer.eat("new")
            writer.flush()
            begun = time.perf_counter()
            following = cursor.upto(offset, _BATCH)
            assert len(cursor.between(offset, following)) == 1
            news.append(time.perf_counter() - begun)
            offset = following
        writer.finish()
    return statistics.median(idle), statistics.median(news)


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--small", action="store_true", help="50,000 tasks")
    options = parser.parse_args()
    count = 50_000 if options.small else options.tasks
    few = max(1_000, count // 100)
    with tempfile.TemporaryDirectory(prefix="tasks-") as directory:
        root = Path(directory)
        small, plain, keyed = (topic_in(root, name) for name in ("small", "plain", "keyed"))
        discover(small, 0, few, keys=False)
        for name, topic in (("without keys", plain), ("with keys", keyed)):
            seconds = discover(topic, 0, count, keys=topic is keyed)
            print(f"{count:,} tasks {name}: {seconds:.1f} s, {count / seconds:,.0f}/s")
        begun = time.perf_counter()
        with writing(keyed) as writer:
            writer.begin("")
            assert not writer.eat({}, key="/data/incoming/000000007.csv@7")
            writer.finish()
        print(f"first known key after a start: {time.perf_counter() - begun:.1f} s")
        seconds = discover(keyed, 0, count, keys=True)
        print(f"{count:,} known keys again: {seconds:.1f} s, {count / seconds:,.0f}/s")
        for name, topic, read in (("few", small, few), ("all", plain, count)):
            idle, news = look(topic, read)
            print(f"after {read:,} tasks ({name}): look without news {idle * 1e3:.2f} ms, with one {news * 1e3:.2f} ms")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"largest memory {peak:,.0f} MB; load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
