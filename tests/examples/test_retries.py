"""The example of a cycle that stops."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.processes import killed_at_end, wait_until
from streamlets.testkit import Testkit

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "retries"


@pytest.mark.spark
def test_a_payment_leaves_after_its_fifth_attempt(kit: Testkit) -> None:
    """`retry` counts the attempts; the sixth would not satisfy the condition of the cycle, so it leaves."""
    app = kit.application(EXAMPLE / "blueprint.conf")
    app.topic("declined").put([{"id": n, "amount": 9.5, "attempt": n} for n in (1, 4, 5, 6)])
    app.streamlet("retry").step()
    assert sorted(row["attempt"] for row in app.topic("payments").all()) == [2, 5]
    assert sorted(row["attempt"] for row in app.topic("given-up").all()) == [6, 7]


@pytest.mark.full
@pytest.mark.spark
def test_each_payment_is_charged_or_given_up(kit: Testkit) -> None:
    """Payment n needs n % 7 + 1 attempts, and has five; each leaves the cycle once, and no batch exceeds the limit."""
    app = kit.application(EXAMPLE / "blueprint.conf", arguments=("flow.streamlets.payments.parameters.count=10",))
    app.spout("payments").step()
    for _ in range(6):
        steps = app.step()
    assert steps["charge"].rows_in == 0, "nothing circulates any more"
    charged = {row["id"]: row["attempt"] for row in app.topic("charged").all()}
    assert charged == {n: n % 7 + 1 for n in range(10) if n % 7 < 5}
    assert sorted((row["id"], row["attempt"]) for row in app.topic("given-up").all()) == [(5, 6), (6, 6)]
    assert len(app.topic("payments").all()) == 10 + 8 + 6 + 4 + 3, "the fifth attempt is the last one"


def _rows(directory: Path) -> list[tuple[int, int]]:
    """Return the payments that a sink has written, with their attempts, sorted."""
    lines = [line for file in directory.glob("*.json") for line in file.read_text(encoding="utf-8").splitlines()]
    return sorted((row["id"], row["attempt"]) for row in map(json.loads, lines))


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.spark
def test_a_continuous_run_lets_each_payment_leave_the_cycle_once(tmp_path: Path) -> None:
    """Nothing circulates after the fifth attempts, and a stop ends the run normally."""
    project = tmp_path / "retries"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns(".flow", "out", "__pycache__"))
    command = [sys.executable, "-m", "cli.main", "run", str(project)]
    arguments = ["flow.streamlets.payments.parameters.count=7", "flow.trigger.processing-time=100 ms"]
    log, out, given_up = tmp_path / "run.log", project / "out" / "charged", project / "out" / "given-up"
    environment = os.environ | {"PYTHONPATH": str(EXAMPLE.parents[1])}
    with (
        log.open("w") as output,
        subprocess.Popen([*command, *arguments], stdout=output, stderr=output, env=environment) as run,
        killed_at_end(run),
    ):
        wait_until(run, log, lambda: (len(_rows(out)), len(_rows(given_up))) == (5, 2), poll=0.5)
        run.send_signal(signal.SIGTERM)
        assert run.wait(300) == 0, log.read_text(encoding="utf-8")
    assert _rows(out) == [(n, n + 1) for n in range(5)]
    assert _rows(given_up) == [(5, 6), (6, 6)]
