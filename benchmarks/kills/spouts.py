"""Spouts: no acknowledged transaction is lost, none is in a topic twice, and none in part.

A program and a generator deliver numbered transactions, and continue from their markers. A second program has no
markers: it delivers again what was not acknowledged. The programs, the runner or both are killed. After each kill the
topics are read: every transaction must be there complete, and so must all that a program has noted as acknowledged.
With markers none may be there twice. At the end an egress with keys reads the topic of the program without markers, and
its table must have every transaction once. Only this needs Spark.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import psutil

from benchmarks.kills.harness import KILL, Target
from benchmarks.kills.ledger import REPOSITORY
from benchmarks.processes import QUICK_JAVA, command_line, killed_at_end, left_behind, started_by, wait_until
from blueprint.plan import TopicPlan
from streamlets.channels.base import TopicLostError
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.storage.crash import VARIABLE

POINTS = ("before-delivery-commit", "after-append-file", "after-append-commit", "before-delivery-answer")
SIZE = 10
"""The records of a transaction."""

_PASSAGES = 8
_BLUEPRINT = """
blueprint {
  streamlets {
    feed { class = streamlets.Spout, outlets.out = "number long, part int", parameters { cmd = [python, feed.py] } }
    plain = ${blueprint.streamlets.feed} { parameters.cmd = [python, feed.py, plain] }
    count { class = counting.Count }
  }
  topics {
    fed { producers = [feed.out] }
    plain { producers = [plain.out] }
    counted { producers = [count.out] }
  }
}
flow.application = kills
flow.retry { min-backoff = 50ms, max-backoff = 200ms }
"""
_EGRESS = """
blueprint {
  streamlets.table {
    class = streamlets.Sink
    parameters {
      to = jdbc
      options { url = "sqlite:plain.db", table = plain, keys = "number, part", sequence-by = number }
    }
  }
  topics.plain.consumers = [table.in]
}
"""
_PROGRAM = """
import json, sys
from pathlib import Path
from streamlets import spout

plain = "plain" in sys.argv
notes = Path("acknowledged-plain" if plain else "acknowledged")
if plain:
    noted = notes.read_text().split("\\n")[:-1] if notes.exists() else []
    notes.write_text("".join(line + "\\n" for line in noted))
    number = int(noted[-1]) + 1 if noted else 0
else:
    number = spout.marker() or 0
with notes.open("a") as acknowledged:
    while True:
        with spout.transaction() as transaction:
            half = [{"number": number, "part": part} for part in range(5)]
            transaction.put("half", "".join(json.dumps(row) + "\\n" for row in half))
            for part in range(5, 10):
                transaction.emit({"number": number, "part": part})
            if not plain:
                transaction.marker = number + 1
        acknowledged.write(f"{number}\\n")
        acknowledged.flush()
        number += 1
"""
_GENERATOR = """
from streamlets import AvroOutlet, GeneratorSpout

class Count(GeneratorSpout):
    out = AvroOutlet(schema="number long, part int")

    def run(self, out, resume):
        number = resume or 0
        while not out.wait(0.01):
            yield out.transaction([{"number": number, "part": part} for part in range(10)], resume=number + 1)
            number += 1
"""


class Spouts(Target):
    """The application in a directory."""

    points, kills = POINTS, 40

    def __init__(self, directory: Path, dice: random.Random) -> None:
        super().__init__(directory, dice)
        directory.mkdir(parents=True, exist_ok=True)
        files = {"blueprint.conf": _BLUEPRINT, "egress.conf": _EGRESS, "feed.py": _PROGRAM, "counting.py": _GENERATOR}
        for name, text in files.items():
            (directory / name).write_text(text)

    @property
    def acknowledged(self) -> list[int]:
        """The transactions that the program with markers has noted."""
        return self._noted("acknowledged")

    def _noted(self, name: str) -> list[int]:
        """Return the transactions in a file of a program, without an incomplete last line."""
        file = self.directory / name
        return [int(line) for line in file.read_text().split("\n")[:-1]] if file.exists() else []

    def transactions(self) -> dict[str, Counter[int]]:
        """Return the number of records of each transaction, by topic; they must be complete."""
        channel = DeltaChannel(self.directory / ".flow" / "kills" / "topics")
        counts = {}
        for name in ("fed", "plain", "counted"):
            topic = channel.topic(TopicPlan(name, name, "delta", True, (), (), {}))
            with suppress(TopicLostError):  # the first run was killed before it created the topic
                rows = [(row["number"], row["part"]) for batch in topic.scan() for row in batch.to_pylist()]
                parts = Counter(rows)
                counts[name] = Counter(number for number, _ in rows)
                wrong = [row for row in parts if parts[row] * SIZE != counts[name][row[0]]]
                assert not wrong, f"parts of transactions in `{name}`: {wrong}"
        return counts

    def doubled(self) -> int:
        """Return how many transactions of the program without markers are in the topic more than once."""
        return sum(count > SIZE for count in self.transactions().get("plain", Counter()).values())

    def stored(self) -> Counter[int]:
        """Return the number of rows of each transaction in the table of the egress."""
        with closing(sqlite3.connect(self.directory / "plain.db")) as connection, suppress(sqlite3.OperationalError):
            return Counter(row[0] for row in connection.execute("SELECT number FROM plain"))
        return Counter()

    def problems(self) -> list[str]:
        """Return what is wrong with the topics."""
        found = []
        counts = self.transactions()
        for name, transactions in counts.items():
            wrong = {number: count for number, count in transactions.items() if name != "plain" and count != SIZE}
            found += [f"`{name}` has {count} records of transaction {number}" for number, count in wrong.items()]
            missing = set(range(max(transactions, default=-1) + 1)) - set(transactions)
            found += [f"`{name}` has no transaction {number}" for number in sorted(missing)]
        for name, file in (("fed", "acknowledged"), ("plain", "acknowledged-plain")):
            lost = set(self._noted(file)) - set(counts.get(name, ()))
            found += [f"the acknowledged transaction {number} of `{name}` was lost" for number in sorted(lost)]
        return found

    def start(self, crash_at: str = "", *options: str) -> subprocess.Popen[bytes]:
        """Start a run."""
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        environment = os.environ | {VARIABLE: crash_at, "PATH": path, "PYTHONPATH": str(REPOSITORY)}
        command = [sys.executable, "-m", "cli.main", "run", str(self.directory), "--format", "json", *options]
        with (self.directory / "run.out").open("ab") as out:
            return subprocess.Popen(command, env=environment, stdout=out, stderr=out)

    def play(self, round: str) -> tuple[bool, str]:
        """Kill once; everything that the run has started must end, too."""
        return True, self._kill() if round == KILL else self._crash(round)

    def _crash(self, point: str) -> str:
        """Run until a crash point is hit for the nth time; everything that the run has started must end, too."""
        nth = self.dice.randint(1, _PASSAGES)
        with killed_at_end(self.start(f"{point}:{nth}")) as run:
            self._until(run, lambda: run.poll() is not None)
            assert run.returncode == -signal.SIGKILL, f"exit code {run.returncode} instead of a crash"
        return f"{point}, passage {nth}"

    def _kill(self) -> str:
        """Kill the program, the runner or both after a few transactions, at a random moment."""
        victim = self.dice.choice(("program", "runner", "both"))
        with killed_at_end(self.start()) as run:
            self._more(run, self.dice.randint(1, 5))
            time.sleep(self.dice.uniform(0, 0.05))
            children = started_by(run.pid)
            if victim != "runner":
                for name in ("feed.py", "feed.py plain"):
                    programs = [child for child in children if command_line(child).endswith(name)]
                    for program in programs[-1:]:  # the guard's command line ends like that of its program
                        with suppress(psutil.NoSuchProcess):
                            program.kill()
            if victim == "program":
                self._more(run, 2)  # it is started again
            run.kill()
            run.wait()
            assert left_behind(children) == [], "a process has survived the runner"
        return f"kill -9 of {'program and runner' if victim == 'both' else victim}"

    def end(self) -> None:
        """Deliver a little more, and stop gracefully."""
        with killed_at_end(self.start()) as run:
            self._more(run, 3)
            run.send_signal(signal.SIGTERM)
            assert run.wait(120) == 0

    def store(self) -> None:
        """Run with the egress until its table has all that was acknowledged, and stop gracefully."""
        with killed_at_end(self.start("", "--conf", str(self.directory / "egress.conf"), QUICK_JAVA)) as run:
            wanted = self._noted("acknowledged-plain")[-1]
            self._until(run, lambda: wanted in self.stored())
            run.send_signal(signal.SIGTERM)
            assert run.wait(300) == 0

    def _more(self, run: subprocess.Popen[bytes], transactions: int) -> None:
        """Wait for further acknowledged transactions."""
        wanted = len(self.acknowledged) + transactions
        self._until(run, lambda: len(self.acknowledged) >= wanted)

    def _until(self, run: subprocess.Popen[bytes], reached: object) -> None:
        wait_until(run, self.directory / "run.out", reached, poll=0.01)  # type: ignore[arg-type]

    def settle(self) -> list[str]:
        """Deliver a little more, store all in the table of the egress, and compare."""
        self.end()
        doubled, problems = self.doubled(), self.problems()
        self.store()
        stored = self.stored()
        wrong = [number for number in range(max(stored) + 1) if stored[number] != SIZE]
        problems += [f"the table of the egress has {stored[number]} rows of transaction {number}" for number in wrong]
        counts = ", ".join(f"{name} {len(transactions)}" for name, transactions in self.transactions().items())
        print(f"{len(self.acknowledged)} acknowledged transactions; in the topics: {counts}")
        print(f"without markers, {doubled} twice; in the table of the egress {len(stored)}, {len(wrong)} of them wrong")
        return problems
