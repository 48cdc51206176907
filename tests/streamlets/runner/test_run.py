"""Whole runs of a small application in processes of their own: to the end, through failures, signals and kills."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import psutil
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

REPOSITORY = Path(__file__).resolve().parents[3]
APP = REPOSITORY / "tests" / "streamlets" / "runner" / "app" / "ledger.py"


@pytest.fixture(scope="module")
def harness() -> ModuleType:
    """The kill harness of the benchmarks, with the application it runs."""
    spec = importlib.util.spec_from_file_location("kill_ledger", REPOSITORY / "benchmarks" / "kill_ledger.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["kill_ledger"] = module
    spec.loader.exec_module(module)
    return module


def _events(folder: Path) -> list[dict[str, object]]:
    lines = (folder / "run.out").read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def _wait(process: subprocess.Popen[bytes], folder: Path, text: str) -> None:
    while text not in (folder / "run.out").read_text():
        assert process.poll() is None, (folder / "run.out").read_text()
        time.sleep(0.1)


def _all_gone(members: list[psutil.Process]) -> None:
    """Wait until all have ended; one that nobody reaps has ended, too."""
    for _ in range(600):
        left = [each for each in members if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]
        if not left:
            return
        time.sleep(0.1)
    raise AssertionError(f"left behind: {left}")


def _checkpoints(folder: Path) -> Iterator[tuple[str, int, int]]:
    for query in sorted((folder / "state" / "ledger" / "checkpoints").glob("*/*")):
        last = [
            max(int(f.name) for f in (query / part).iterdir() if f.name.isdigit()) for part in ("offsets", "commits")
        ]
        yield f"{query.parent.name}.{query.name}", last[0], last[1]


def _flow(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Another terminal."""
    command = [sys.executable, "-c", "from cli.main import main; main()", *arguments]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def _is_reader(process: psutil.Process) -> bool:
    try:
        return any("python_streaming_source_runner" in word for word in process.cmdline())
    except psutil.Error:  # it has ended
        return False


def _kill_readers(runner: int) -> None:
    """Kill the Python processes that look for news in topics, one a query."""
    readers = [each for each in psutil.Process(runner).children(recursive=True) if _is_reader(each)]
    assert readers
    for each in readers:
        each.kill()


def test_failure_upgrade_and_drain(harness: ModuleType, tmp_path: Path) -> None:
    """A streamlet that fails for good leaves the others running, its author's line told; a second run on the same state
    is refused. Other terminals see it degraded, pause a streamlet, and put a repaired version in its place, in the same
    process, with the pause in force. Python workers that are killed make it back off, no more. A signal drains it and
    leaves nothing behind; no record is lost or doubled."""
    ledger, at = harness.Ledger(tmp_path), ("--state-dir", str(tmp_path / "state"))
    ledger.feed(3)
    endless = ledger.start(bounded=False, more=("double.parameters.fail-at=250", "double.retry.max-attempts=0"))
    _wait(endless, tmp_path, '"state":"failed"')
    second = subprocess.run(ledger.command(), capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert f"already run by process {endless.pid} " in second.stderr
    assert "Traceback" not in second.stderr
    members = psutil.Process(endless.pid).children(recursive=True)
    status = _flow(tmp_path, "status", str(APP.parent), *at, "--format", "json")
    assert status.returncode == 1
    seen = json.loads(status.stdout)["ledger"]
    assert (seen["health"], seen["process"], seen["alive"]) == ("degraded", endless.pid, True)
    _kill_readers(endless.pid)
    ledger.feed(1)
    _wait(endless, tmp_path, '"state":"backing-off"')
    paused = _flow(tmp_path, "pause", "sums", "--path", str(APP.parent), *at)
    assert paused.returncode == 0, paused.stderr
    sound = [each for each in ledger.command() if each.startswith("flow.")]
    upgraded = _flow(tmp_path, "upgrade", str(APP.parent), *sound, *at)
    assert upgraded.returncode == 0, upgraded.stdout + upgraded.stderr
    assert upgraded.stdout.endswith("ledger is upgraded\n")
    assert "sums: paused: paused by " in upgraded.stdout
    _all_gone(members)
    resumed = _flow(tmp_path, "resume", "sums", "--path", str(APP.parent), *at)
    assert resumed.returncode == 0, resumed.stderr
    members = psutil.Process(endless.pid).children(recursive=True)
    endless.send_signal(signal.SIGTERM)
    assert endless.wait() == 0
    _all_gone(members)

    events = _events(tmp_path)
    (failed,) = [event for event in events if event.get("state") == "failed"]
    (line,) = [n for n, text in enumerate(APP.read_text().splitlines(), start=1) if "raise ValueError" in text]
    assert failed["streamlet"] == "double"
    assert str(failed["cause"]).startswith("ValueError: 250 is a bad number")
    assert [frame.rpartition("/")[2] for frame in failed["frames"]] == [f"ledger.py:{line} in twice"]  # type: ignore[attr-defined]
    assert [event["exit_code"] for event in events if event["event"] == "run-ended"] == [1, 0]
    drained = {name: (begun, done) for name, begun, done in _checkpoints(tmp_path)}
    assert all(begun == done for begun, done in drained.values()), drained

    assert ledger.run() == 0
    wanted = harness.expected(4)
    assert harness.differences(ledger.records(), wanted) == dict.fromkeys(wanted, (0, 0))
    status = _flow(tmp_path, "status", str(APP.parent), *at)
    assert (status.returncode, status.stdout.splitlines()[0][:22]) == (3, "ledger is not running;")


def test_kills_lose_and_double_nothing(harness: ModuleType, tmp_path: Path) -> None:
    """Killed at a crash point and by `kill -9` in a batch, on one state without a pause, the ledger comes out exact."""
    ledger = harness.Ledger(tmp_path)
    told = list(harness.rounds(ledger, ["before-spark-commit"], 1, random.Random(7)))
    assert ledger.run() == 0
    wanted = harness.expected(ledger.files)
    assert harness.differences(ledger.records(), wanted) == dict.fromkeys(wanted, (0, 0)), told
