"""Whole runs of a small application in processes of their own: to the end, through failures, signals and kills."""

from __future__ import annotations

import importlib.util
import json
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


def test_failure_repair_and_drain(harness: ModuleType, tmp_path: Path) -> None:
    """A streamlet that fails for good leaves the others running and gives exit code 1, its author's line first; on the
    same state the repaired application makes up for it; a signal drains the endless run, and nothing is left behind."""
    ledger = harness.Ledger(tmp_path)
    ledger.feed(3)
    broken = ledger.start(more=("double.parameters.fail-at=150", "double.retry.max-attempts=0"))
    assert broken.wait() == 1
    events = _events(tmp_path)
    (failed,) = [event for event in events if event.get("state") == "failed"]
    (line,) = [n for n, text in enumerate(APP.read_text().splitlines(), start=1) if "raise ValueError" in text]
    assert failed["streamlet"] == "double"
    assert str(failed["cause"]).startswith("ValueError: 150 is a bad number")
    assert [frame.rpartition("/")[2] for frame in failed["frames"]] == [f"ledger.py:{line} in twice"]  # type: ignore[attr-defined]
    ended = {event["streamlet"] for event in events if event.get("state") == "completed"}
    assert ended == {"numbers", "sums", "archive"}

    assert ledger.run() == 0
    assert harness.differences(ledger.records(), harness.expected(3)) == dict.fromkeys(harness.expected(3), (0, 0))
    status = json.loads((tmp_path / "state" / "ledger" / "status" / "status.json").read_text())
    assert (status["health"], status["exit_code"]) == ("ended", 0)

    (tmp_path / "run.out").write_text("")
    endless = ledger.start(bounded=False)
    ledger.feed(8)
    _wait(endless, tmp_path, '"unit-progressed","streamlet":"double"')
    second = subprocess.run(ledger.command(), capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert f"already run by process {endless.pid} " in second.stderr
    assert "Traceback" not in second.stderr
    members = psutil.Process(endless.pid).children(recursive=True)
    endless.send_signal(signal.SIGTERM)
    assert endless.wait() == 0
    _all_gone(members)
    drained = [(name, begun, committed) for name, begun, committed in _checkpoints(tmp_path) if name != "numbers.out"]
    assert all(begun == committed for _, begun, committed in drained), drained
    assert {e["streamlet"] for e in _events(tmp_path) if e.get("state") == "stopped"} == set(harness.QUERIES)

    assert ledger.run() == 0
    assert ledger.records()["doubled"] == harness.expected(11)["doubled"]


def test_kills_lose_and_double_nothing(harness: ModuleType, tmp_path: Path) -> None:
    """Killed at crash points and by `kill -9` in a batch, on one state without a pause, the ledger comes out exact."""
    ledger = harness.Ledger(tmp_path)
    points = ["after-data-files", "after-topic-commit", "before-spark-commit"]
    told = list(harness.rounds(ledger, points, 1, random.Random(7)))
    assert all("not passed" not in each and "ended before" not in each for each in told), told
    assert ledger.run() == 0
    wanted = harness.expected(ledger.files)
    assert harness.differences(ledger.records(), wanted) == dict.fromkeys(wanted, (0, 0)), told
