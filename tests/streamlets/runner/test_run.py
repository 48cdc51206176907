"""Whole runs of a small application in processes of their own: to the end, through failures, signals and kills."""

from __future__ import annotations

import json
import random
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from benchmarks.kills.harness import KILL
from benchmarks.kills.ledger import POINTS, REPOSITORY, Ledger, differences, expected, play_round
from benchmarks.processes import command_line, left_behind, started_by

pytestmark = [pytest.mark.spark, pytest.mark.slow]

APP = REPOSITORY / "tests" / "streamlets" / "runner" / "app" / "ledger.py"


def _wait(ledger: Ledger, process: subprocess.Popen[bytes], state: str) -> None:
    """Wait until a streamlet has entered a state."""
    ledger.wait_until(process, lambda: any(event.get("state") == state for event in ledger.run_events()))


def _kill_readers(runner: int) -> None:
    """Kill the Python processes that look for news in topics, one a query."""
    readers = [each for each in started_by(runner) if "python_streaming_source_runner" in command_line(each)]
    assert readers
    for reader in readers:
        with suppress(psutil.NoSuchProcess):
            reader.kill()


def kill(ledger: Ledger, point: str, dice: random.Random) -> str:
    """Kill until a run was hit; return what was hit."""
    hit, description = play_round(ledger, point, dice)
    return description if hit else kill(ledger, point, dice)


def assert_exact(ledger: Ledger, kills: list[str]) -> None:
    """Run to the end; every record must be there once, whatever was killed before."""
    assert ledger.run() == 0
    wanted = expected(ledger.files)
    assert differences(ledger.records(), wanted) == dict.fromkeys(wanted, (0, 0)), kills


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """The application; nothing of its runs is left after the test."""
    with Ledger(tmp_path) as ledger:
        yield ledger


def test_failure_upgrade_drain_and_kill(ledger: Ledger) -> None:
    """A streamlet that fails for good leaves the others running, and its author's line is reported; a second run on the
    same state is refused. From other terminals the run is shown as degraded, a streamlet is paused, and a fixed version
    takes over in the same process and keeps the pause. Killed Python workers only cause a back-off. A signal drains the
    run, after which no process remains. The next run is killed in a batch; no record is lost or duplicated."""
    ledger.feed(3)
    endless = ledger.start(bounded=False, more=("double.parameters.fail-at=250", "double.retry.max-attempts=0"))
    _wait(ledger, endless, "failed")
    second = subprocess.run(ledger.command(), capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert f", as process {endless.pid}" in second.stderr
    assert "Traceback" not in second.stderr
    members = started_by(endless.pid)
    status = ledger.flow("status", str(APP.parent), "--format", "json")
    assert status.returncode == 1
    seen = json.loads(status.stdout)["ledger"]
    assert (seen["health"], seen["process"], seen["alive"]) == ("degraded", endless.pid, True)
    _kill_readers(endless.pid)
    ledger.feed(1)
    _wait(ledger, endless, "backing-off")
    paused = ledger.flow("pause", "sums", "--path", str(APP.parent))
    assert paused.returncode == 0, paused.stderr
    settings = [argument for argument in ledger.command() if argument.startswith("flow.")]
    upgraded = ledger.flow("upgrade", str(APP.parent), *settings)
    assert upgraded.returncode == 0, upgraded.stdout + upgraded.stderr
    assert upgraded.stdout.endswith("ledger is upgraded\n")
    assert "sums: paused: paused by " in upgraded.stdout
    assert left_behind(members) == []
    resumed = ledger.flow("resume", "sums", "--path", str(APP.parent))
    assert resumed.returncode == 0, resumed.stderr
    members = started_by(endless.pid)
    endless.send_signal(signal.SIGTERM)
    assert endless.wait() == 0
    assert left_behind(members) == []

    events = ledger.run_events()
    kinds = [event["event"] for event in events]
    assert kinds.index("spark-up") < kinds.index("unit-changed")  # in the order in which it happened
    (failed,) = [event for event in events if event.get("state") == "failed"]
    (line,) = [n for n, text in enumerate(APP.read_text().splitlines(), start=1) if "raise ValueError" in text]
    assert failed["streamlet"] == "double"
    assert str(failed["cause"]).startswith("ValueError: 250 is a bad number")
    assert [frame.rpartition("/")[2] for frame in failed["frames"]] == [f"ledger.py:{line} in twice"]
    assert [event["exit_code"] for event in events if event["event"] == "run-ended"] == [1, 0]
    drained = {streamlet: ledger.last_batch(streamlet) for streamlet in ledger.queries}
    assert all(begun == done >= 0 for begun, done in drained.values()), drained

    assert_exact(ledger, [kill(ledger, "before-spark-commit", random.Random(7))])
    status = ledger.flow("status", str(APP.parent))
    assert (status.returncode, status.stdout.splitlines()[0][:22]) == (3, "ledger is not running;")


@pytest.mark.full
def test_kills_lose_and_double_nothing(ledger: Ledger) -> None:
    """Killed at each crash point and with SIGKILL in a batch, on one state without a pause, the ledger is exact."""
    dice = random.Random(7)
    assert_exact(ledger, [kill(ledger, point, dice) for point in (*POINTS, KILL, KILL)])
