"""The flights, multiplied, on 1, 2 and 3 workers of four cores: a SIMULATION from the measured times of a smaller run.

    python -m benchmarks.scaling [--january] [--events FILE]

This machine has too few cores for three workers. So the flights run once, on a real standalone cluster, and Spark's log
of events has the time of each task. From that the program computes how long 30 million flights would take:

* A stage begins after all stages that had ended before it began in the measurement, after the same pause. So what the
  driver does between stages takes as long as it did, whatever the number of workers.
* The work of a task is its time without the time of the shortest task, which stands for what each task costs. Work
  grows with the number of flights; batches get larger, and not more.
* A stage that reads input is cut into tasks of at most ten seconds of work. One that reads a shuffle has 16 tasks, as
  the partitions of a checkpoint with state are fixed.
* Each task begins, in the order of the stages, on the core that is free first. Neither disk nor network get slower.

So the figures say what the division of the work allows, and are not a measurement of a cluster. The fewer flights are
measured, the more of the time of a task is what it costs and is multiplied, too: only the ratios then mean something.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.flights import january, results
from benchmarks.on_cluster import modules, on_cluster, run_flights
from tests.cluster.standalone import Cluster

WANTED = 30_000_000
FLIGHTS, IN_JANUARY = 336_776, 27_004
CORES, WORKERS = 4, (1, 2, 3)
_WORK = 10.0
_PARTITIONS = 16


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of the measured run; times are in seconds.

    Arguments:
        began: when it was submitted.
        ended: when its last task had ended.
        shuffled: whether it reads what other stages have written.
        tasks: how long each of its tasks took.
    """

    began: float
    ended: float
    shuffled: bool
    tasks: tuple[float, ...]


def main() -> None:
    """Measure, simulate, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--january", action="store_true", help="measure with the flights of January only")
    parser.add_argument("--events", type=Path, help="a log of events of such a run, instead of a run")
    options = parser.parse_args()
    if options.events is not None:
        stages = stages_of(options.events.read_text().splitlines())
    else:
        stages = measure(small=options.january)
    factor = WANTED / (IN_JANUARY if options.january else FLIGHTS)
    tasks = [task for stage in stages for task in stage.tasks]
    print(
        f"measured: {len(stages)} stages, {len(tasks)} tasks, {sum(tasks):.0f} s in tasks, "
        f"{stages[-1].ended - stages[0].began:.0f} s in all; load {os.getloadavg()[0]:.0f}"
    )
    print(f"SIMULATED, {WANTED:,} flights ({factor:.0f} times the measured ones), workers of {CORES} cores:")
    alone = simulated(stages, CORES, factor)
    for workers in WORKERS:
        seconds = simulated(stages, workers * CORES, factor)
        print(
            f"  {workers} workers: {seconds:8,.0f} s, {WANTED / seconds:9,.0f} flights/s, {alone / seconds:.2f} times"
        )


def measure(*, small: bool) -> list[Stage]:
    """Run the flights on a cluster of three workers of a core each, and return the stages."""
    with tempfile.TemporaryDirectory(prefix="scaling-") as name:
        root = Path(name)
        (log := root / "events").mkdir()
        data = january(root / "data") if small else None
        settings = {
            "spark.eventLog.enabled": "true", "spark.eventLog.dir": log.as_uri(), "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
        }  # fmt: skip
        with Cluster(root / "cluster", workers=3, memory="1g", secured=True) as cluster:
            os.environ.update(cluster.environment)
            run_flights(root / "run", data, on_cluster(root / "cluster.conf", cluster, modules(data), settings))
        print("rows: " + ", ".join(f"{len(table):,} {sink}" for sink, table in results(root / "run").items()))
        return stages_of(line for file in log.iterdir() for line in file.read_text().splitlines())


def stages_of(events: Iterable[str]) -> list[Stage]:
    """Return the completed stages of a log of events, in the order in which they began.

    Arguments:
        events: its lines, which are JSON.
    """
    tasks: dict[tuple[int, int], list[float]] = {}
    stages = []
    for line in events:
        event = json.loads(line)
        if event["Event"] == "SparkListenerTaskEnd" and event["Task End Reason"]["Reason"] == "Success":
            info = event["Task Info"]
            attempt = event["Stage ID"], event["Stage Attempt ID"]
            tasks.setdefault(attempt, []).append((info["Finish Time"] - info["Launch Time"]) / 1000)
        elif event["Event"] == "SparkListenerStageCompleted":
            info = event["Stage Info"]
            took = tuple(tasks.get((info["Stage ID"], info["Stage Attempt ID"]), ()))
            began, ended = info["Submission Time"] / 1000, info["Completion Time"] / 1000
            stages.append(Stage(began, ended, bool(info["Parent IDs"]), took))
    return sorted(stages, key=lambda stage: stage.began)


def simulated(stages: Sequence[Stage], cores: int, factor: float) -> float:
    """Return the seconds from the begin of the first stage to the end of the last one.

    Arguments:
        stages: the measured stages, in the order in which they began.
        cores: how many tasks run side by side.
        factor: how many times as many records there are.
    """
    overhead = min((task for stage in stages for task in stage.tasks), default=0.0)
    free = [0.0] * cores
    ended: list[tuple[float, float]] = []  # by measurement, by simulation
    for stage in stages:
        before = [both for both in ended if both[0] <= stage.began]
        pause = stage.began - max((measured for measured, _ in before), default=stages[0].began)
        ready = max((end for _, end in before), default=0.0) + pause
        end = ready
        for task in _multiplied(stage, overhead, factor):
            begin = max(ready, heapq.heappop(free))
            heapq.heappush(free, begin + task)
            end = max(end, begin + task)
        ended.append((stage.ended, end))
    return max((end for _, end in ended), default=0.0)


def _multiplied(stage: Stage, overhead: float, factor: float) -> list[float]:
    """Return the seconds of the tasks of a stage with more records."""
    work = sum(task - overhead for task in stage.tasks) * factor
    number = _PARTITIONS if stage.shuffled else max(len(stage.tasks), math.ceil(work / _WORK))
    return [overhead + work / number] * number if stage.tasks else []


if __name__ == "__main__":
    main()
