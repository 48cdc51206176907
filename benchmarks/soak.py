"""An application under constant failure: `python -m benchmarks.soak [--minutes 30] [--every 20]`.

A chain of eight streamlets processes 20 numbers per second. Every few seconds something fails: a streamlet raises, or
the Python process of a reader or a worker is killed with `kill -9`. Memory, threads, processes and open files of runner
and JVM are sampled, and their slopes over the second half are printed (they show leaks; the first half is warm-up). At
the end, the last topic must contain every number once. `--trigger "500 ms"` makes more and smaller batches.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.idle import STREAMLETS, chain, start, stop
from benchmarks.processes import command_line, family
from blueprint.plan import TopicPlan
from streamlets.channels.delta.channel import DeltaChannel

_MODULE = '''
from pathlib import Path
from pyspark.sql import functions as F
from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, SparkStreamletLogic

STONES = Path("FOLDER/stones")

class First(SparkStreamlet):
    """Numbers."""
    out = AvroOutlet(schema="n bigint")

    class Logic(SparkStreamletLogic["First"]):
        def build_streaming_queries(self):
            ticks = self.source("ticks", format="rate", options={"rowsPerSecond": 20})
            return self.write_stream(ticks.select(F.col("value").alias("n")), self.streamlet.out)

class Next(SparkStreamlet):
    """What comes in, unless there is a stone in the way."""
    incoming = AvroInlet("in", schema="n bigint")
    out = AvroOutlet(schema="n bigint")

    class Logic(SparkStreamletLogic["Next"]):
        def build_streaming_queries(self):
            stone = STONES / self.context.streamlet_ref

            @F.udf("bigint")
            def stumble(n):
                if stone.exists():
                    stone.unlink(missing_ok=True)
                    raise ValueError("a stone")
                return n

            rows = self.read_stream(self.streamlet.incoming)
            return self.write_stream(rows.select(stumble("n").alias("n")), self.streamlet.out)
'''
_NO_PROCESS = "no such process"
_SETTINGS = """
flow.retry { min-backoff = 500 ms, max-backoff = 5 seconds, random-factor = 0.2, stable-period = 5 seconds }
flow.trigger.processing-time = TRIGGER
# A small heap, so that garbage stops growing within minutes and leaks are visible.
flow.runtimes.spark.driver.memory = 1536m
"""


def application(directory: Path, trigger: str) -> None:
    """Write the application; `trigger` is the time between batches, as in settings."""
    (directory / "stones").mkdir(parents=True)
    (directory / "chain.py").write_text(_MODULE.replace("FOLDER", str(directory)))
    settings = _SETTINGS.replace("TRIGGER", trigger)
    (directory / "blueprint.conf").write_text(chain("chain", STREAMLETS) + settings)


@dataclass(frozen=True)
class Sample:
    """The resources of the runner and its JVM; memory in MiB."""

    minute: float
    runner_memory: float
    jvm_memory: float
    runner_threads: float
    jvm_threads: float
    runner_files: float
    jvm_files: float
    processes: float


def sample(runner: psutil.Process, members: list[psutil.Process], minute: float) -> Sample:
    """Take a sample."""
    jvm = next(member for member in members if "java" in member.name())
    mib = 2**20
    return Sample(
        minute,
        runner.memory_info().rss / mib,
        jvm.memory_info().rss / mib,
        runner.num_threads(),
        jvm.num_threads(),
        runner.num_fds(),
        jvm.num_fds(),
        len(members),
    )


def failures(directory: Path, dice: random.Random) -> dict[str, Callable[[list[psutil.Process]], str]]:
    """Return the failures that can be injected, by name; each returns what it hit."""

    def stone(_: list[psutil.Process]) -> str:
        ref = f"s{dice.randrange(1, STREAMLETS)}"
        (directory / "stones" / ref).touch()
        return ref

    def kill(word: str) -> Callable[[list[psutil.Process]], str]:
        def kill_process(members: list[psutil.Process]) -> str:
            candidates = [member for member in members if word in command_line(member)]
            if not candidates:
                return _NO_PROCESS
            victim = dice.choice(candidates)
            with contextlib.suppress(psutil.NoSuchProcess):
                victim.kill()
            return str(victim.pid)

        return kill_process

    return {
        "a streamlet raises": stone,
        "a reader's process killed": kill("python_streaming_source_runner"),
        "a worker killed": kill("pyspark.daemon"),
    }


def ledger(directory: Path) -> str:
    """Describe the numbers in the last topic: count, lost, doubled."""
    state = next((directory / ".flow").iterdir())
    topic = DeltaChannel(state / "topics").topic(TopicPlan("last", "last", "delta", True, (), (), {}))
    numbers: Counter[int] = Counter()
    for batch in topic.scan():
        numbers.update(batch.column(0).to_pylist())
    lost = max(numbers) + 1 - len(numbers)
    return f"{len(numbers):,} numbers, {lost} lost, {numbers.total() - len(numbers)} doubled"


def slope(samples: list[Sample], what: str) -> str:
    """Describe the growth of a measurement per hour over the second half, and its mean."""
    later = samples[len(samples) // 2 :]
    values = [float(getattr(sample, what)) for sample in later]
    line = statistics.linear_regression([sample.minute for sample in later], values)
    return f"{what:16} mean {statistics.mean(values):9,.1f}   slope {line.slope * 60:+9.2f} per hour"


def main() -> None:
    """Run the application, inject failures, and print the samples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--every", type=float, default=20.0, help="seconds between failures")
    parser.add_argument("--trigger", default="2 seconds", help="time between batches")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    directory = Path(tempfile.mkdtemp(prefix="soak-"))
    application(directory, options.trigger)
    process = start(directory)
    runner, begun = psutil.Process(process.pid), time.monotonic()
    kinds, done, samples = failures(directory, dice), Counter[str](), list[Sample]()
    try:
        while (minute := (time.monotonic() - begun) / 60) < options.minutes and process.poll() is None:
            members = family(process.pid)
            samples.append(sample(runner, members, minute))
            kind = dice.choice(list(kinds))
            hit = kinds[kind](members)
            done[kind] += hit != _NO_PROCESS
            last = samples[-1]
            print(f"{minute:5.1f} min  {last.runner_memory:5.0f} + {last.jvm_memory:5.0f} MiB  {last.processes:3.0f} "
                  f"processes  {kind}: {hit}", flush=True)  # fmt: skip
            time.sleep(options.every)
        if process.poll() is not None:
            print(f"THE RUNNER ENDED with {process.returncode}: see {directory}")
            return
        time.sleep(3 * options.every)  # The last failure is repaired, and the chain catches up.
    finally:
        took = stop(process)
    print(f"\n{done.total()} failures ({', '.join(f'{kind} {count}' for kind, count in done.items())})")
    for what in Sample.__dataclass_fields__:
        if what != "minute":
            print(slope(samples, what))
    print(f"stopped in {took:.1f} s; exit code {process.returncode}; {ledger(directory)}")
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
