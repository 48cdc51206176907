"""How many files a topic keeps that gets a commit every second, hour by hour, with the maintenance a run does.

    python -m benchmarks.small_files [HOURS]

The clock is the benchmark's: an hour takes some ten seconds. There is one reader, which has no unfinished batch.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.topic_growth import CONTRACT, commit
from blueprint.plan import TopicPlan
from streamlets.channels.base import Reader
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.delta.maintenance import SWEPT
from streamlets.channels.delta.table import LOG, open_table
from streamlets.channels.delta.table_directory import create_table

BEGAN = time.time()
ROUND = 20  # seconds between two calls of the runner's maintenance


class Hand:
    """A clock that is set by hand."""

    now = BEGAN

    def __call__(self) -> float:
        return self.now


def main() -> None:
    """Print the number of files after each hour."""
    hours = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory(prefix="small-files-") as directory:
        clock = Hand()
        topic = DeltaChannel(Path(directory), clock=clock).topic(TopicPlan("busy", "busy", "delta", True, (), (), {}))
        topic.create()
        path = topic.path / CONTRACT.fingerprint
        create_table(path, CONTRACT, (), clock)
        table = open_table(path, files=False)
        print(f"{'after':8}{'data files':>12}{'log entries':>12}{'in use':>12}{'most at once':>14}")
        known = 0.0
        for hour in range(1, hours + 1):
            most = 0
            for second in range((hour - 1) * 3600, hour * 3600):
                clock.now = BEGAN + second
                commit(table, second, clock)
                date(path / LOG / f"{table.version + 1:020}.json", clock.now)
                if second % ROUND == 0:
                    most = max(most, sum(count(path)))
                    topic.maintain(lambda: [Reader("reader", topic.end())])
                    if swept(path) != known:
                        date(path / SWEPT, clock.now)
                    known = swept(path)
            data, entries = count(path)
            used = len(open_table(path, files=True).files or {})
            print(f"{hour:3} h   {data:12,}{entries:12,}{used:12,}{most:14,}", flush=True)


def date(path: Path, now: float) -> None:
    """Give a file the benchmark's time."""
    os.utime(path, (now, now))


def swept(table: Path) -> float:
    """When a table was last searched for files that nothing names."""
    return (table / SWEPT).stat().st_mtime


def count(table: Path) -> tuple[int, int]:
    """The data files of a table, and the files of its log."""
    data, log = (sum(len(names) for _, _, names in os.walk(table / name)) for name in ("data", LOG))
    return data, log


if __name__ == "__main__":
    main()
