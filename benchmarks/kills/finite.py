"""A finite pipeline of seven streamlets, which ends by itself in a continuous run: also when it was killed before.

A spout, a batch source, a join of both, a window, SQL and two sinks. Each round is a new application: it is started,
killed with `kill -9` at a random time, and started again, until it ends with exit code 0. Then its topics and files
must have the records of a bounded run (`--available-now`), each once, which are the records that are computed here.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pyarrow.dataset as ds

from benchmarks.kills.harness import Target
from benchmarks.kills.ledger import REPOSITORY
from benchmarks.processes import QUICK_JAVA, killed_at_end, left_behind, started_by
from blueprint.plan import TopicPlan
from streamlets.channels.base import TopicLostError
from streamlets.channels.delta.channel import DeltaChannel

ORDERS, PER_TRANSACTION, CUSTOMERS, LARGE = 600, 30, 20, 70
_PATIENCE = 900.0
_WHOLE = "kill -9 at any time"

_MODULE = """
from datetime import UTC, datetime, timedelta

from pyspark.sql import functions as F

from streamlets import AvroInlet, AvroOutlet, BatchSource, GeneratorSpout, SparkStreamlet, SparkStreamletLogic

ORDER = "id long, customer long, amount long, at timestamp"
ENRICHED = "id long, region string, amount long"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Orders(GeneratorSpout):
    out = AvroOutlet(schema=ORDER)

    def run(self, out, resume):
        for first in range(resume or 0, ORDERS, PER_TRANSACTION):
            rows = [
                {"id": n, "customer": n % CUSTOMERS, "amount": n % 100, "at": BEGIN + timedelta(seconds=n)}
                for n in range(first, first + PER_TRANSACTION)
            ]
            yield out.transaction(rows, resume=first + PER_TRANSACTION)
            if not out.bounded and out.wait(0.3):
                return


class Customers(BatchSource):
    out = AvroOutlet(schema="customer long, region string")

    def discover(self, eat, event):
        for customer in range(CUSTOMERS):
            eat(customer, key=str(customer))

    def prepare(self, task):
        self._rows = [{"customer": task, "region": "north" if task % 2 else "south"}]

    def read_next(self):
        return self._rows.pop() if self._rows else None


class Join(SparkStreamlet):
    orders = AvroInlet(schema=ORDER)
    customers = AvroInlet(schema="customer long, region string")
    out = AvroOutlet(schema=ENRICHED)

    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self):
            me = self.streamlet
            joined = self.read_stream(me.orders).join(self.read_stream(me.customers), "customer")
            return self.write_stream(joined.select("id", "region", "amount"), me.out)


class Minutes(SparkStreamlet):
    orders = AvroInlet(schema=ORDER)
    out = AvroOutlet(schema="minute long, orders long, amount long")

    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self):
            me = self.streamlet
            orders = self.read_stream(me.orders).withWatermark("at", "0 seconds").groupBy(F.window("at", "1 minute"))
            sums = orders.agg(F.count("*").alias("orders"), F.sum("amount").alias("amount"))
            minute = (F.unix_seconds("window.start") / 60).cast("long").alias("minute")
            return self.write_stream(sums.select(minute, "orders", "amount"), me.out)
"""
_BLUEPRINT = '''
blueprint {
  streamlets {
    orders = pipeline.Orders
    customers { class = pipeline.Customers, parameters.discovery.triggerer = immediate }
    join = pipeline.Join
    minutes = pipeline.Minutes
    large {
      class = streamlets.Sql
      inlets.rows = "id long, region string, amount long", outlets.out = "id long, region string"
      parameters.statements = """
        CREATE TEMPORARY VIEW big AS SELECT id, region FROM rows WHERE amount >= LARGE;
        SAVE STREAM big TO out;
      """
    }
    archive {
      class = streamlets.Sink, inlets.in = "id long, region string, amount long"
      parameters { to = parquet, options.path = out/archive }
    }
    report {
      class = streamlets.Sink, inlets.in = "id long, region string", inlets.in.sequential = true
      parameters { to = json, options.path = out/report }
    }
  }
  topics {
    orders { producers = [orders.out], consumers = [join.orders, minutes.orders] }
    customers { producers = [customers.out], consumers = [join.customers] }
    enriched { producers = [join.out], consumers = [large.rows, archive.in] }
    minutes { producers = [minutes.out] }
    large { producers = [large.out], consumers = [report.in] }
  }
}
flow { application = finite, end = when-producers-end }
'''


def expected() -> dict[str, Counter[Any]]:
    """Return the records of each result, computed without Spark. The last window stays open."""
    orders = [(n, "north" if n % CUSTOMERS % 2 else "south", n % 100) for n in range(ORDERS)]
    begin = 29_453_760  # the minutes until 2026-01-01T00:00Z
    minutes = Counter[Any]()
    for minute in range((ORDERS - 1) // 60):
        amounts = [amount for n, _, amount in orders if n // 60 == minute]
        minutes[begin + minute, len(amounts), sum(amounts)] += 1
    return {
        "archive": Counter(orders),
        "report": Counter((n, region) for n, region, amount in orders if amount >= LARGE),
        "minutes": minutes,
    }


class Finite(Target):
    """The pipeline. Each round has a directory of its own, which is deleted if all is well."""

    points, each, kills = (), 0, 20

    def rounds(self, each: int, kills: int) -> list[str]:
        """Return as many lives as kills."""
        return [_WHOLE] * kills

    def play(self, round: str) -> tuple[bool, str]:
        """Run a new application with one kill; return whether it was hit while it was running."""
        number = len(self.memory.setdefault("lives", []))
        lasts = self.memory.get("lasts") or self._undisturbed()
        self.memory["lasts"] = lasts
        directory = self._project(f"life-{number}")
        after = self.dice.uniform(0.5, lasts)
        with killed_at_end(self._start(directory)) as run:
            with suppress(subprocess.TimeoutExpired):
                run.wait(after)
            hit = run.poll() is None
            if hit:
                self._kill(run)
        with killed_at_end(self._start(directory)) as run:
            code = run.wait(_PATIENCE)
        problems = self._problems(directory) + ([f"exit code {code}"] if code else [])
        self.memory["lives"].append([f"life {number}, killed after {after:.1f} s: {problem}" for problem in problems])
        if not problems:
            shutil.rmtree(directory)
        return hit, f"{round}, after {after:.1f} s of {lasts:.1f} s"

    def problems(self) -> list[str]:
        """Return what was wrong at the end of a life."""
        return [problem for life in self.memory.get("lives", ()) for problem in life]

    def settle(self) -> list[str]:
        """Compare with a bounded run."""
        directory = self._project("bounded")
        with killed_at_end(self._start(directory, "--available-now")) as run:
            code = run.wait(_PATIENCE)
        print(
            f"{len(self.memory.get('lives', ()))} lives of 7 streamlets, {ORDERS} orders in each; bounded run: {code}"
        )
        bounded = [f"the bounded run: {problem}" for problem in self._problems(directory)]
        return self.problems() + bounded + (["the bounded run has failed"] if code else [])

    def _undisturbed(self) -> float:
        """Return how long a life lasts without a kill, in seconds.

        Raises:
            RuntimeError: it does not end well.
        """
        directory, begun = self._project("undisturbed"), time.monotonic()
        with killed_at_end(self._start(directory)) as run:
            code = run.wait(_PATIENCE)
        if problems := self._problems(directory):
            raise RuntimeError(f"without a kill: {problems}, exit code {code}; see {directory}")
        return time.monotonic() - begun

    def _project(self, name: str) -> Path:
        directory = self.directory / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        numbers = {"ORDERS": ORDERS, "PER_TRANSACTION": PER_TRANSACTION, "CUSTOMERS": CUSTOMERS}
        constants = "".join(f"{name} = {value}\n" for name, value in numbers.items())
        (directory / "pipeline.py").write_text(constants + _MODULE)
        (directory / "blueprint.conf").write_text(_BLUEPRINT.replace("LARGE", str(LARGE)))
        return directory

    def _start(self, directory: Path, *options: str) -> subprocess.Popen[bytes]:
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        environment = os.environ | {"PATH": path, "PYTHONPATH": str(REPOSITORY)}
        command = [sys.executable, "-m", "cli.main", "run", str(directory), "--format", "json", QUICK_JAVA, *options]
        with (directory / "run.out").open("ab") as out:
            return subprocess.Popen(command, env=environment, stdout=out, stderr=out)

    def _kill(self, run: subprocess.Popen[bytes]) -> None:
        children = started_by(run.pid)
        for child in children if self.dice.random() < 0.5 else ():
            with suppress(psutil.NoSuchProcess):
                child.kill()
        run.kill()
        run.wait()
        assert left_behind(children, 120) == [], "a process has survived the runner"

    def _problems(self, directory: Path) -> list[str]:
        """Return what is lost or doubled in an application that has ended."""
        with (directory / "run.out").open() as out:
            events = [json.loads(line) for line in out if line.startswith("{")]
        states = {event["streamlet"]: event["state"] for event in events if event["event"] == "unit-changed"}
        open_ones = sorted(ref for ref, state in states.items() if state != "completed")
        found = [f"not completed: {', '.join(open_ones)}"] if open_ones or len(states) != 7 else []
        results = self._results(directory)
        for name, wanted in expected().items():
            lost, doubled = (wanted - results[name]).total(), (results[name] - wanted).total()
            if lost or doubled:
                found.append(f"{lost} records are missing in {name}, {doubled} are doubled or wrong")
        return found

    def _results(self, directory: Path) -> dict[str, Counter[Any]]:
        files = {"archive": "parquet", "report": "json"}
        results = {name: _rows(directory / "out" / name, form) for name, form in files.items()}
        channel = DeltaChannel(directory / ".flow" / "finite" / "topics")
        minutes = Counter[Any]()
        with suppress(TopicLostError):
            for batch in channel.topic(TopicPlan("minutes", "minutes", "delta", True, (), (), {})).scan():
                minutes.update(tuple(row.values()) for row in batch.to_pylist())
        return results | {"minutes": minutes}


def _rows(directory: Path, form: str) -> Counter[Any]:
    """Return the rows of the files in a directory; none if no file has been written."""
    files = [str(file) for file in directory.glob(f"*.{form}")]
    if not files:
        return Counter()
    table = ds.dataset(files, format=form).to_table()
    names = [name for name in ("id", "region", "amount") if name in table.column_names]
    return Counter(tuple(row[name] for name in names) for row in table.to_pylist())
