"""`flow run --resources standard` beside kills, failures and interrupts.

    python -m benchmarks.resources [--runs 40] [--queries 8]

Each case runs an application to its end, with an accident after a random event of the run or at a step of the
deletion, and then runs it again without one. Most cases have two spouts and need no Spark; the others have a spout, a
batch source, a SQL streamlet and a sink. What is checked:

* something is deleted only if all streamlets had completed and nothing had asked the run to end;
* after a clean end, no topic and no checkpoint is left;
* the next run ends cleanly and has every record once: it continued what the first run had begun, or began again after a
  deletion, and never mixed the two. The sink, which appends, has every record once for each complete run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.processes import QUICK_JAVA, family, killed_at_end, left_behind
from blueprint.plan import TopicPlan
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.storage.crash import VARIABLE

REPOSITORY = Path(__file__).resolve().parents[1]
PATIENCE = 600.0
_POLL = 0.01

SPOUTS = """
blueprint {
  streamlets { numbers = parts.Numbers, others = parts.Numbers }
  topics { numbers { producers = [numbers.out] }, others { producers = [others.out] } }
}
flow { application = bench, streamlets.numbers.retry.enabled = false }
"""
QUERIES = """
blueprint {
  streamlets {
    numbers = parts.Numbers
    pages { class = parts.Pages, parameters.discovery.triggerer = immediate }
    doubled {
      class = streamlets.Sql
      inlets { numbers = "number bigint", pages = "number bigint" }
      outlets.out = "number bigint"
      parameters.statements = \"\"\"
        CREATE TEMPORARY VIEW twice AS SELECT 2 * number AS number FROM numbers
          UNION ALL SELECT 2 * number AS number FROM pages;
        SAVE STREAM twice TO out;
      \"\"\"
    }
    kept {
      class = streamlets.Sink, inlets.in = "number bigint"
      parameters { to = json, options { path = out, existing = append } }
    }
  }
  topics {
    numbers { producers = [numbers.out], consumers = [doubled.numbers] }
    pages { producers = [pages.out], consumers = [doubled.pages] }
    doubles { producers = [doubled.out], consumers = [kept.in] }
  }
}
flow { application = bench, streamlets.numbers.retry.enabled = false }
"""
MODULE = """
import os
from streamlets import AvroOutlet, BatchSource, BooleanParameter, GeneratorSpout


class Numbers(GeneratorSpout):
    out = AvroOutlet(schema="number bigint")
    fails = BooleanParameter("Whether it fails at its end", default=False)

    def run(self, out, resume):
        for first in range(resume or 0, 50, 10):
            yield out.transaction([{"number": n} for n in range(first, first + 10)], resume=first + 10)
            out.wait(0.1)
        if out.value(self.fails):
            raise ValueError("it fails")


class Pages(BatchSource):
    out = AvroOutlet(schema="number bigint")

    def discover(self, eat, event):
        for page in range(5):
            eat(page, key=str(page))

    def prepare(self, task):
        self.left = [{"number": 100 + 10 * task + n} for n in range(10)]

    def read_next(self):
        return self.left.pop() if self.left else None
"""
RECORDS = Counter(2 * number for number in range(50)) + Counter(2 * number for number in range(100, 150))
POINTS = (
    "after-deletion-decided", "after-checkpoints-deleted", "during-topic-deletion", "after-topic-deleted:2",
    "after-topics-deleted", "after-descriptor-deleted",
)  # fmt: skip
ACCIDENTS = ("none", "fail", "SIGINT", "SIGTERM", "SIGKILL", "stop", *POINTS)


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has ended.

    Arguments:
        code: its exit code; negative for a signal that killed it.
        events: its events.
        output: what it printed otherwise.
    """

    code: int
    events: tuple[Mapping[str, Any], ...]
    output: str

    @property
    def clean(self) -> bool:
        """Whether all streamlets had completed, and nothing had asked the run to end."""
        states = {(event["streamlet"], event.get("query")): event["state"] for event in self._of("unit-changed")}
        for event in self._of("unit-split"):  # its parts are units of their own
            states.pop((event["streamlet"], event.get("query")), None)
        (started,) = self._of("run-started") or ({"streamlets": ()},)
        completed = set(states.values()) == {"completed"} and {name for name, _ in states} == set(started["streamlets"])
        return completed and not self._of("run-stopping")

    @property
    def deleted(self) -> bool:
        """Whether it reports that it has deleted something."""
        return any(event["result"] == "deleted" for event in self._of("resource-settled"))

    def _of(self, kind: str) -> list[Mapping[str, Any]]:
        return [event for event in self.events if event["event"] == kind]


@dataclass(frozen=True, slots=True)
class Application:
    """The application in a directory of its own.

    Arguments:
        directory: the directory.
        queries: whether it has queries, and not only spouts.
    """

    directory: Path
    queries: bool

    def write(self) -> None:
        """Write its files."""
        (self.directory / "blueprint.conf").write_text(QUERIES if self.queries else SPOUTS, encoding="utf-8")
        (self.directory / "parts.py").write_text(MODULE, encoding="utf-8")

    @property
    def state(self) -> Path:
        """Its state directory."""
        return self.directory / ".flow" / "bench"

    @property
    def left(self) -> list[str]:
        """The topics and checkpoints that exist, and the record of a deletion."""
        directories = (self.state / "topics", self.state / "checkpoints")
        entries = [entry for directory in directories if directory.is_dir() for entry in sorted(directory.iterdir())]
        record = [self.state / "deletion.json"] if (self.state / "deletion.json").exists() else []
        return [entry.relative_to(self.state).as_posix() for entry in (*entries, *record)]

    @property
    def delivered(self) -> list[int]:
        """The records in the topics of the spouts, sorted."""
        channel = DeltaChannel(self.state / "topics")
        topics = [channel.topic(TopicPlan(name, name, "delta", True, (), (), {})) for name in ("numbers", "others")]
        return sorted(row["number"] for topic in topics for batch in topic.scan() for row in batch.to_pylist())

    @property
    def written(self) -> Counter[int]:
        """The records in the sink."""
        files = (self.directory / "out").glob("*.json")
        lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
        return Counter(int(json.loads(line)["number"]) for line in lines)

    def run(self, accident: str = "none", after: int = 0, isolation: str = "none", mode: str = "standard") -> Run:
        """Run it to its end.

        Arguments:
            accident: one of `ACCIDENTS`.
            after: the number of events after which a signal or a request to stop is sent.
            isolation: the value of `--isolation`.
            mode: the value of `--resources`.
        """
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
        if accident in POINTS:
            environment[VARIABLE] = accident
        log = self.directory / f"events-{time.monotonic_ns()}.jsonl"
        command = [
            sys.executable, "-m", "cli.main", "run", str(self.directory), "--available-now", "--resources", mode,
            "--format", "lines", "--view", f"jsonl={log}", "--master", "local[2]", "--isolation", isolation, QUICK_JAVA,
            f"flow.streamlets.numbers.parameters.fails={str(accident == 'fail').lower()}",
        ]  # fmt: skip
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        with killed_at_end(process):
            self._strike(process, accident, log, after)
            output, _ = process.communicate(timeout=PATIENCE)
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        events = []
        for line in lines:
            with suppress(ValueError):  # the last one of a killed run
                events.append(json.loads(line))
        return Run(process.returncode, tuple(events), output)

    def _strike(self, process: subprocess.Popen[str], accident: str, log: Path, after: int) -> None:
        if accident not in ("SIGINT", "SIGTERM", "SIGKILL", "stop"):
            return
        while not log.exists() or len(log.read_bytes().splitlines()) < after:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL)
                return
        if accident == "stop":
            command = [sys.executable, "-m", "cli.main", "stop", str(self.directory)]
            environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
            subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE, check=False)
        elif accident == "SIGKILL":
            members = family(process.pid)
            for member in members:
                with suppress(psutil.NoSuchProcess):
                    member.kill()
            left_behind(members)
        else:
            process.send_signal(getattr(signal, accident))


def case(accident: str, after: int = 0, isolation: str = "none", *, queries: bool) -> str:
    """Run a case in a new directory; return `deleted` or `kept`, for its first run.

    Raises:
        AssertionError: a check fails.
    """
    with tempfile.TemporaryDirectory(prefix="resources-") as directory:
        application = Application(Path(directory), queries)
        application.write()
        first = application.run(accident, after, isolation)
        left, begun = application.left, (application.state / "deletion.json").exists()
        complete = begun or (first.clean and first.deleted)
        where = f"{accident} after {after} events: exit code {first.code}, left {left}\n{first.output}"
        signals = (-signal.SIGTERM, -signal.SIGINT, 130)  # before the run has taken them
        assert first.code in {"none": (0,), "fail": (1,)}.get(accident, (0, -signal.SIGKILL, *signals, int(begun))), (
            where
        )
        if first.deleted or begun:
            assert first.clean, f"deleted after an end that was not clean: {where}"
        stopped = accident in ("SIGINT", "SIGTERM", "stop") and not first.deleted  # after its last streamlet had ended
        if first.clean and first.code == 0 and not stopped:
            assert not left, f"not all was deleted: {where}"
        (_check_sink if queries else _check_topics)(application, complete, where)
        return "deleted" if complete else "kept"


def _check_topics(application: Application, complete: bool, where: str) -> None:
    """Run it again without a deletion, and compare its topics; then delete."""
    second = application.run(mode="keep")
    where = f"{where}\nthe second run: exit code {second.code}\n{second.output}"
    assert second.code == 0, where
    delivered = application.delivered
    assert delivered == sorted([*range(50), *range(50)]), f"{delivered}: {where}"
    third = application.run()
    assert third.code == 0, third.output
    assert not application.left, f"left {application.left}: {third.output}"


def _check_sink(application: Application, complete: bool, where: str) -> None:
    """Run it again, and compare the sink."""
    if complete:
        assert application.written == RECORDS, f"a complete run did not write all: {where}"
    second = application.run()
    where = f"{where}\nthe second run: exit code {second.code}, left {application.left}\n{second.output}"
    assert second.code == 0, where
    assert second.clean, where
    assert not application.left, where
    expected = Counter({number: (2 if complete else 1) * count for number, count in RECORDS.items()})
    surplus, missing = application.written - expected, expected - application.written
    assert not surplus, f"doubled {surplus}: {where}"
    assert not missing, f"missing {missing}: {where}"


def _events(*, queries: bool) -> int:
    """Return the number of events of a run without an accident."""
    with tempfile.TemporaryDirectory(prefix="resources-") as directory:
        application = Application(Path(directory), queries)
        application.write()
        run = application.run()
        assert run.clean, run.output
        return len(run.events)


def main() -> None:
    """Run the cases, and print a line for each."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=40)
    arguments.add_argument("--queries", type=int, default=8, help="how many of the runs have queries")
    arguments.add_argument("--seed", type=int, default=79)
    options = arguments.parse_args()
    choose = random.Random(options.seed)
    kinds = {number < options.queries for number in range(options.runs)}
    most = {queries: _events(queries=queries) for queries in kinds}
    results: Counter[tuple[str, str]] = Counter()
    accidents = [*ACCIDENTS, *choose.choices(ACCIDENTS[1:6], k=max(0, options.runs - len(ACCIDENTS)))]
    choose.shuffle(accidents)
    for number, accident in enumerate(accidents[: options.runs], 1):
        queries = number <= options.queries
        after = choose.randint(1, most[queries])
        isolation = "process" if queries and number % 4 == 0 else "none"
        result = case(accident, after, isolation, queries=queries)
        results[accident.partition(":")[0], result] += 1
        kind = "queries" if queries else "spouts"
        print(f"{number:3}  {kind:8} {accident:28} {after:3} events  {isolation:8} {result}", flush=True)
    print(f"\n{options.runs} runs: nothing was deleted unless the end was clean, and every second run was complete")
    for (accident, result), count in sorted(results.items()):
        print(f"{accident:28} {result:8} {count}")


if __name__ == "__main__":
    main()
