"""Discovery of many files by `streamlets.Source`: `python -m benchmarks.source_files [--files 100000] [--small]`.

Measures the processor time of a first discovery, of discoveries without news and with one new file, also of a new
instance, as after a restart, and of a look of the triggerer `files`; and the memory. It needs no Spark.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.tasks import topic_in
from streamlets.ingress.batch_sources.task_writer import Eater, TaskWriter
from streamlets.ingress.sources.files.tasks import FileTasks
from streamlets.ingress.triggerers.base import TriggererContext
from streamlets.ingress.triggerers.files import FilesTriggerer


@contextmanager
def discovering(writer: TaskWriter) -> Iterator[None]:
    """Be a discovery, all of whose tasks are durable in the end."""
    writer.begin("")
    yield
    writer.finish()


def measured(what: str, work: Callable[[], object]) -> float:
    """Do something, print its duration and processor time in seconds, and return the latter."""
    begun, processor = time.perf_counter(), time.process_time()
    work()
    seconds, spent = time.perf_counter() - begun, time.process_time() - processor
    print(f"{what}: {seconds:.2f} s, {spent:.2f} s of processor time")
    return spent


def measure(root: Path, files: int) -> dict[str, float]:
    """Measure with a directory of files, and return the processor time of each step in seconds."""
    data = root / "data"
    data.mkdir()
    for number in range(files):
        (data / f"part-{number:07}.csv").write_text("id\n1\n")
    writer = TaskWriter(topic_in(root / "topics", "tasks"), "benchmark.discovery", time.time)
    spent: dict[str, float] = {}

    def discover(tasks: FileTasks, expected: int) -> None:
        before = writer.next
        with discovering(writer):
            tasks.discover(Eater(writer))
        assert writer.next - before == expected, (writer.next, before, expected)

    def step(what: str, work: Callable[[], object]) -> None:
        spent[what] = measured(what, work)

    try:
        tasks = FileTasks(data / "*.csv", 1.0)
        step("the first discovery", lambda: discover(tasks, files))
        step("a discovery without news", lambda: discover(tasks, 0))
        (data / "late.csv").write_text("id\n")
        time.sleep(1.1)
        step("a discovery of one new file", lambda: discover(tasks, 1))
        step("the first discovery after a restart", lambda: discover(FileTasks(data / "*.csv", 1.0), 0))
        triggerer, events = FilesTriggerer(), list[str]()

        def trigger(event: str) -> bool:
            events.append(event)
            return True

        triggerer.init({"path": str(data / "*.csv")}, TriggererContext(streamlet="s", directory=root))
        step("the first look of the triggerer", lambda: triggerer.look(trigger))
        step("the second look, which reports all files", lambda: triggerer.look(trigger))
        step("a look without news", lambda: triggerer.look(trigger))
        assert len(events) == 1
    finally:
        writer.close()
    return spent


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--small", action="store_true", help="2,000 files")
    options = parser.parse_args()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with tempfile.TemporaryDirectory(prefix="source-files-") as directory:
        measure(Path(directory), 2_000 if options.small else options.files)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"largest memory {peak:,.0f} MB, {peak - before:,.0f} MB more than before; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
