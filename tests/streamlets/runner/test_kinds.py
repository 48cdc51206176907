"""A kind of streamlets of another package, `tests/toy_kind`: its units run in the runner, without Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from benchmarks.processes import (
    alive,
    events,
    java_processes,
    killed_at_end,
    left_behind,
    started_by,
    wait_until,
)
from streamlets.runner.kinds import KINDS
from tests.cli.conftest import Flow, flow  # noqa: F401 - the fixture

TOY = Path(__file__).resolve().parents[2] / "toy_kind"
COUNTER = """
blueprint {
  streamlets {
    counter { class = toy_kind.Ticker PARAMETERS }
    ARCHIVE
  }
  topics { numbers { producers = [counter.out] CONSUMERS } }
}
flow.application = counting
flow.streamlets.counter.retry { min-backoff = 100ms, max-backoff = 500ms }
"""
ARCHIVE = """
    archive { class = streamlets.Sink, inlets.in = "number long", parameters { to = parquet, options.path = out } }
"""


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the package on the path, as an installation does, in this process and in those that it starts."""
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("PYTHONPATH", str(TOY))
    yield
    sys.modules.pop("toy_kind", None)


@dataclass(frozen=True)
class Run:
    """A run of the application in a directory.

    Arguments:
        out: the file with its events.
    """

    process: subprocess.Popen[bytes]
    out: Path

    def until(self, reached: Callable[[], bool]) -> None:
        """Wait for a condition."""
        wait_until(self.process, self.out, reached)

    def has(self, streamlet: str, key: str) -> bool:
        """Return whether a value of an event of a streamlet is neither zero nor empty."""
        return any(event.get("streamlet") == streamlet and event.get(key) for event in events(self.out))


def project(root: Path, *, archive: bool) -> Path:
    """Write an application with a ticker, and a streamlet on Spark that reads it if `archive`."""
    consumers = ", consumers = [archive.in]" if archive else ""
    blueprint = COUNTER.replace("ARCHIVE", ARCHIVE if archive else "").replace("CONSUMERS", consumers)
    blueprint = blueprint.replace("PARAMETERS", ", parameters.data = data")
    (root / "blueprint.conf").write_text(blueprint)
    return root


@contextmanager
def running(root: Path, *options: str) -> Iterator[Run]:
    """Run the application in a process until the end of the context."""
    out = root / "events.jsonl"
    command = [sys.executable, "-m", "cli.main", "run", str(root), "--format", "json", *options]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(TOY), str(TOY.parents[1])))}
    with out.open("wb") as file, (root / "errors.txt").open("wb") as errors:
        process = subprocess.Popen(command, stdout=file, stderr=errors, env=environment)
    with killed_at_end(process):
        yield Run(process, out)


def control(run: Run, flow: Flow, root: Path) -> None:  # noqa: F811 - a fixture
    """Let the ticker fail and recover, pause and resume it, and stop the run, all with commands."""
    at = ("--path", str(root))
    failed = "counter: backing-off: FileNotFoundError: there is no directory `data`"
    run.until(lambda: failed in flow("status", str(root)).out)
    (root / "data").mkdir()
    run.until(lambda: unit_status(flow, root)["rows_out"] != {})
    unit = unit_status(flow, root)
    assert (unit["query"], unit["state"], unit["batch"], unit["rows_out"]["out"] % 10) == ("", "running", None, 0)
    assert unit["restarts"] > 0
    assert unit["rate"] > 0
    paused = flow("pause", "counter", *at)
    assert (paused.code, paused.out.splitlines()[-1][10:]) == (0, f"counter: paused: paused by {_user(paused.out)}")
    written = unit_status(flow, root)["rows_out"]["out"]
    resumed = flow("resume", "counter", *at)
    assert (resumed.code, resumed.out.splitlines()[-1][10:]) == (0, "counter: running")
    run.until(lambda: unit_status(flow, root)["rows_out"]["out"] > written)


def stopped_by_sql(run: Run, flow: Flow, root: Path) -> None:  # noqa: F811 - a fixture
    """Show the queries and stop one of them with statements, then restart its streamlet."""
    shown = flow("sql", str(root), "-e", "SHOW STREAMS").out.splitlines()
    assert [line.split()[:2] for line in shown] == [["stream", "state"], ["counter", "running"], ["sink", "running"]]
    stopped = flow("sql", str(root), "-e", "STOP STREAM sink; SHOW STREAMS")
    assert (stopped.code, stopped.out.splitlines()[-1].split()[:2]) == (0, ["sink", "stopped"])
    assert flow("restart", "archive", "--path", str(root)).code == 0
    run.until(lambda: flow("sql", str(root), "-e", "SHOW STREAMS").out.splitlines()[-1].split()[1] == "running")


def unit_status(flow: Flow, root: Path) -> dict[str, Any]:  # noqa: F811 - a fixture
    """Return the status of the ticker's unit."""
    status = json.loads(flow("status", str(root), "--format", "json").out)["counting"]
    (unit,) = status["streamlets"][0]["units"]
    assert isinstance(unit, dict)
    return unit


def _user(text: str) -> str:
    return text.rstrip().rpartition(" ")[2]


def drained(run: Run, flow: Flow, root: Path) -> None:  # noqa: F811 - a fixture
    """Stop the run gracefully; all units must be drained, and no process remains."""
    members = started_by(run.process.pid)
    assert flow("stop", str(root)).code == 0
    assert run.process.wait(300) == 0
    assert java_processes(alive(members)) == []  # the run waits for Java
    assert left_behind(members) == []
    states = [e["state"] for e in events(run.out) if e["event"] == "unit-changed" and e["streamlet"] == "counter"]
    assert states[-2:] == ["draining", "stopped"]


@pytest.mark.usefixtures("installed")
def test_the_kind_is_found_by_its_entry_point(flow: Flow, tmp_path: Path) -> None:  # noqa: F811 - a fixture
    """The registry has it next to Spark, and a blueprint with a streamlet of it is valid."""
    assert {"spark", "ticker"} <= {*KINDS}
    result = flow("verify", str(project(tmp_path, archive=True)))
    assert result.code == 0, result.out


def test_a_kind_that_no_package_registers(flow: Flow, tmp_path: Path) -> None:  # noqa: F811 - a fixture
    """The run does not start, and the error has the name of the streamlet and of its class."""
    (tmp_path / "unknown_kind.py").write_text(
        "from blueprint.catalog import Kind\nfrom streamlets import AvroOutlet, Streamlet\n\n"
        "class Poller(Streamlet):\n    kind = Kind('poller')\n    out = AvroOutlet(schema='number long')\n"
    )
    blueprint = COUNTER.replace("toy_kind.Ticker PARAMETERS", "unknown_kind.Poller")
    blueprint = blueprint.replace("ARCHIVE", "").replace("CONSUMERS", "")
    (tmp_path / "blueprint.conf").write_text(blueprint)
    result = flow("run", str(tmp_path))
    assert result.code == 1
    assert "`counter` is of the kind `poller`, which no installed package registers" in result.err


@pytest.mark.usefixtures("installed")
def test_a_kind_without_spark_has_no_logic(flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """`verify --plans` and `describe --plans` neither start Spark for it nor report that anything was not checked."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "missing"))
    path = str(project(tmp_path, archive=False))
    result = flow("verify", "--plans", path)
    assert (result.code, result.err) == (0, ""), result.out + result.err
    assert "checked 1 streamlet, 1 topic" in " ".join(result.out.split())
    assert "not checked" not in result.out
    assert flow("describe", "--plans", path).code == 0


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("isolation", ["none", "process"])
def test_a_run_without_streamlets_on_spark_needs_no_java(
    flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolation: str  # noqa: F811 - a fixture
) -> None:  # fmt: skip
    """The supervisor starts, restarts, pauses, resumes and drains the unit as any other."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "missing"))
    project(tmp_path, archive=False)
    with running(tmp_path, "--isolation", isolation) as run:
        control(run, flow, tmp_path)
        drained(run, flow, tmp_path)
    assert {"spark-starting", "spark-up"} & {event["event"] for event in events(run.out)} == set()


@pytest.mark.usefixtures("installed")
def test_a_bounded_run_ends_with_the_units(tmp_path: Path) -> None:
    """The lines of the run sum up what the unit has written."""
    project(tmp_path, archive=False)
    (tmp_path / "data").mkdir()
    command = [sys.executable, "-m", "cli.main", "run", str(tmp_path), "--available-now", "--format", "lines"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(TOY), str(TOY.parents[1])))}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    lines = [line[10:] for line in ended.stdout.splitlines()]
    assert lines[0].startswith("counting: started with 1 streamlet; logs in ")
    assert lines[1:3] == ["counter: starting", "counter: running"]
    assert lines[-3:] == ["counter: 0 rows in, 50 to out", "counter: completed", "ended: all done (exit code 0)"]


@pytest.mark.usefixtures("installed")
def test_a_kind_has_tasks_whose_failures_are_dead_letters(flow: Flow, tmp_path: Path) -> None:  # noqa: F811 - a fixture
    """Its traits give it both topics, and the commands show them as those of a batch source."""
    project(tmp_path, archive=False)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "refused").write_text("2")
    command = [sys.executable, "-m", "cli.main", "run", str(tmp_path), "--available-now", "--format", "lines"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(TOY), str(TOY.parents[1])))}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "counter: 0 rows in, 40 to out" in ended.stdout
    (tasks,) = json.loads(flow("tasks", "list", str(tmp_path), "--format", "json").out)["counting"]
    assert (tasks["streamlet"], tasks["discovered"], tasks["failed"]) == ("counter", 5, 1)
    shown = flow("dead-letters", "show", "counter", str(tmp_path)).out
    assert "tick 2 is refused" in shown


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("isolation", [pytest.param("none", marks=pytest.mark.full), "process"])
def test_both_kinds_run_in_one_application(flow: Flow, tmp_path: Path, isolation: str) -> None:  # noqa: F811 - a fixture
    """The streamlet on Spark reads every number once, and its query is drained after the ticker."""
    project(tmp_path, archive=True)
    with running(tmp_path, "--isolation", isolation) as run:
        control(run, flow, tmp_path)
        run.until(lambda: run.has("archive", "rows_in"))
        stopped_by_sql(run, flow, tmp_path)
        drained(run, flow, tmp_path)
    changes = [(e["streamlet"], e["state"]) for e in events(run.out) if e["event"] == "unit-changed"]
    assert changes[::-1].index(("counter", "draining")) > changes[::-1].index(("archive", "draining"))
    files = (tmp_path / "out").glob("*.parquet")
    numbers = sorted(number for file in files for number in pq.read_table(file)["number"].to_pylist())
    assert numbers == list(range(len(numbers)))
    assert numbers
