"""`flow run --view`: further views of a run, among them one of another package, `tests/toy_view`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TOY = Path(__file__).resolve().parents[1] / "toy_view"
MODULE = """
from streamlets import AvroOutlet, GeneratorSpout

class Numbers(GeneratorSpout):
    out = AvroOutlet(schema="number long")

    def run(self, out, resume):
        yield out.transaction([{"number": 1}, {"number": 2}])
"""
BLUEPRINT = "blueprint { streamlets.source = numbers_app.Numbers, topics.numbers.producers = [source.out] }"

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs an application of a spout, which ends by itself, with arguments of `flow run`."""
    (tmp_path / "numbers_app.py").write_text(MODULE)
    (tmp_path / "blueprint.conf").write_text(BLUEPRINT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(TOY), os.environ["PYTHONPATH"]))}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "cli.main", "run", *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
        )  # fmt: skip

    return run


def test_views_of_other_packages_and_of_files_show_a_run(run: Run, tmp_path: Path) -> None:
    """They are beside the output of the run, which stays as it is. Each of them gets every event."""
    done = run("--view", "steps=steps.txt", "--view", "jsonl=events.jsonl")
    assert done.returncode == 0, done.stderr
    assert "source" in done.stdout and "{" not in done.stdout
    states = ["source starting", "source running", "source completed"]
    assert [line for line in (tmp_path / "steps.txt").read_text().splitlines() if line in states] == states
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert (events[0]["event"], events[-1]["event"]) == ("run-started", "run-ended")
    assert run("--view", "jsonl=events.jsonl").returncode == 0
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) > len(events), "it is appended to"


def test_a_run_is_reported_to_openlineage(run: Run, tmp_path: Path) -> None:
    """The view `openlineage` writes an event for the start and the end of a streamlet, and a log of its own."""
    done = run("--view", "openlineage=lineage.jsonl")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in (tmp_path / "lineage.jsonl").read_text().splitlines()]
    assert [event["eventType"] for event in events if event["eventType"] != "RUNNING"] == ["START", "COMPLETE"]
    assert events[-1]["outputs"][0]["facets"]["schema"]["fields"][0]["name"] == "number"
    (log,) = tmp_path.glob(".flow/*/logs/openlineage.log")
    assert f"{len(events)} events sent, 0 not sent" in log.read_text()
    refused = run("--view", "openlineage=https://me:secret@lineage.example")
    assert refused.returncode == 2 and "OPENLINEAGE_API_KEY" in refused.stderr and "secret" not in refused.stderr


def test_a_run_goes_on_without_a_view_that_fails(run: Run, tmp_path: Path) -> None:
    """The output says so once; the view is closed as usual."""
    done = run("--view", "steps=steps.txt,running")
    assert done.returncode == 0, done.stderr
    (warning,) = [line for line in done.stdout.splitlines() if "view" in line]
    assert warning == (
        "warning: the view `steps` has failed and shows nothing more; the run goes on: ValueError: no step running"
    )
    assert "source completed" in done.stdout.replace(": ", " ")
    assert "running" not in (tmp_path / "steps.txt").read_text()


@pytest.mark.parametrize(
    ("view", "code", "problem"),
    [
        ("jsnol=x", 2, "there is no view `jsnol`; did you mean `jsonl`?"),
        ("lines", 2, "the view `lines` needs the standard output; request it by `--format lines`"),
        ("jsonl", 2, "the view `jsonl` needs the standard output; request it by `--format jsonl`"),
        ("steps", 2, "the view `steps` cannot be opened: write the file, as in `--view steps=steps.txt`"),
        (
            "metrics=http",
            2,
            "the view `metrics` cannot be opened: a port must be a number from 1 to 65535, found `http`",
        ),
        ("metrics=65536", 2, "the view `metrics` cannot be opened: a port must be a number from 1 to 65535"),
        ("jsonl=missing/events.jsonl", 1, "a view cannot be opened: [Errno 2] No such file or directory"),
    ],
)
def test_a_view_that_cannot_be_opened_is_refused(run: Run, tmp_path: Path, view: str, code: int, problem: str) -> None:
    """Nothing is started."""
    done = run("--view", view)
    assert (done.returncode, done.stdout) == (code, "")
    assert problem in " ".join(done.stderr.split())
    assert not list(tmp_path.glob(".flow/*/topics/*"))


def test_a_port_in_use_is_refused_before_anything_runs(run: Run, tmp_path: Path) -> None:
    """The setting opens the view as the option does; the message names the address and the settings."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (tmp_path / "blueprint.conf").write_text(f"{BLUEPRINT}\nflow.metrics.port = {port}")
        done = run()
    assert (done.returncode, done.stdout) == (2, "")
    problem = f"the view `metrics` cannot be opened: 127.0.0.1:{port}: Address already in use; set `flow.metrics.port`"
    assert problem in " ".join(done.stderr.split())
    assert not list(tmp_path.glob(".flow/*/topics/*"))
    assert run().returncode == 0


def test_a_run_serves_metrics_while_it_goes_on(run: Run, tmp_path: Path) -> None:
    """A spout of the application reads them itself, so nothing depends on time."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "numbers_app.py").write_text(_READS_METRICS.replace("PORT", str(port)))
    (tmp_path / "blueprint.conf").write_text(f"{BLUEPRINT}\nflow.metrics.port = {port}")
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'streamlets_records_out_total{port="out",query="",streamlet="source"} 1.0' in (tmp_path / "seen").read_text()


_READS_METRICS = """
import time
from pathlib import Path
from urllib.request import urlopen

from streamlets import AvroOutlet, GeneratorSpout

class Numbers(GeneratorSpout):
    out = AvroOutlet(schema="number long")

    def run(self, out, resume):
        yield out.transaction([{"number": 1}])
        for _ in range(600):
            seen = urlopen("http://127.0.0.1:PORT/metrics", timeout=60).read().decode()
            if "streamlets_records_out_total{" in seen:
                break
            time.sleep(0.1)
        Path("seen").write_text(seen)
"""
