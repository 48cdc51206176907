"""The resilience example: a run whose join and egress fail repeatedly, and its ledger."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.processes import java_processes, killed_at_end
from tests.pages import blocks

RESILIENCE = Path(__file__).resolve().parent.parent.parent / "examples" / "resilience"
ORDERS = 160
OPENING = datetime(2024, 5, 1, 8, tzinfo=UTC)


def paid(order: int) -> bool:
    """Return whether an order has been paid when the shop closes, computed independently of the example."""
    return order % 10 != 3 and order + 30 < ORDERS


def row(order: int, paid_at: datetime | None) -> tuple[int, int, int, datetime, datetime | None]:
    """Return an order as an egress should write it."""
    return order, order * 31 % 97, 100 + order * 37 % 5000, OPENING + timedelta(seconds=order), paid_at


def _events_with_a_kill(run: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """Yield the events of a run, and kill Spark's Java process once, when the join runs for the first time."""
    assert run.stdout is not None
    killed = False
    for line in run.stdout:
        if not line.startswith("{"):
            continue
        event: dict[str, Any] = json.loads(line)
        yield event
        if not killed and (event.get("streamlet"), event.get("state")) == ("settle", "running"):
            (java,) = java_processes(psutil.Process(run.pid).children())
            java.kill()
            killed = True


@pytest.mark.spark
@pytest.mark.slow
def test_after_failures_only_the_appending_egress_has_duplicates(tmp_path: Path) -> None:
    """The run recovers, also when Spark's Java process is killed, and ends with exit code 0.

    Parquet has every order once; the appending egress has some of them twice.
    """
    from ledger import account, lines, main, parquet

    out = tmp_path / "out"
    run = subprocess.Popen(
        [
            *(sys.executable, "-m", "cli.main", "run", str(RESILIENCE), "--available-now", "--format", "json"),
            *("--state-dir", str(tmp_path / "state")),
            f"flow.streamlets.archive.parameters.options.path={out / 'archive'}",
            f"flow.streamlets.lines.parameters.path={out / 'lines.jsonl'}",
            f"flow.streamlets.till.parameters.orders={ORDERS}",
            "flow.streamlets.till.parameters.batch=80",
            "flow.streamlets.settle.retry.max-backoff=100ms",
            "flow.streamlets.lines.retry.max-backoff=100ms",
        ],
        env={**os.environ, "PYTHONPATH": str(RESILIENCE.parent.parent)},
        stdout=subprocess.PIPE,
        stderr=(tmp_path / "stderr").open("w"),
        text=True,
    )
    with killed_at_end(run):
        events = list(_events_with_a_kill(run))
        assert run.wait() == 0, (events, (tmp_path / "stderr").read_text())
    assert (tmp_path / "stderr").read_text() == ""
    failures = [event for event in events if event.get("state") == "backing-off"]
    assert {event["streamlet"] for event in failures} == {"settle", "lines"}
    exit_cause = "Spark's Java process exited (killed"
    gone = [event["streamlet"] for event in failures if event["cause"].startswith(exit_cause)]
    assert gone == ["settle"]

    rows = [tuple(record.values()) for record in parquet(out / "archive")]
    settled = {order for order in range(ORDERS) if paid(order)}
    assert Counter(order for order in rows if order[-1]) == Counter(
        row(order, OPENING + timedelta(seconds=order + 30)) for order in settled
    )
    unpaid = Counter(order for order in rows if order[-1] is None)
    assert set(unpaid.values()) == {1}
    assert set(unpaid) < {row(order, None) for order in range(3, ORDERS, 10)}

    exact, appended = account(parquet(out / "archive")), account(lines(out / "lines.jsonl"))
    assert exact.exact
    assert (appended.settled, appended.lost, appended.wrong) == (len(rows), 0, 0)
    assert appended.doubled > 0
    assert main(out, tmp_path / "state" / "resilience" / "status" / "status.json") == 0


def test_the_ledger_prints_what_its_page_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers on README.md are those of another run."""
    import ledger

    streamlets = [{"ref": ref, "units": [{"restarts": count}]} for ref, count in (("settle", 13), ("lines", 10))]
    (tmp_path / "status.json").write_text(json.dumps({"streamlets": streamlets}))
    accounts = iter([ledger.Account(961, 0, 0, 0), ledger.Account(961, 0, 500, 0)])
    monkeypatch.setattr(ledger, "account", lambda rows: next(accounts))
    (tmp_path / "lines.jsonl").touch()
    assert ledger.main(tmp_path, tmp_path / "status.json") == 0
    assert capsys.readouterr().out == next(blocks("examples/resilience/README.md", "text"))


def test_the_ledger_counts_lost_duplicate_and_wrong_rows(tmp_path: Path) -> None:
    """A gap before the last order of a kind is a loss, a second row a duplicate, another amount wrong."""
    from ledger import account, expected

    rows = [expected(order) for order in (0, 1, 2, 4, 13)]
    assert account(rows[1:3]).lost == 1
    assert account([*rows, rows[0]]) == account(rows).__class__(settled=5, lost=1, doubled=1, wrong=0)
    assert account([rows[0] | {"cents": 1}]).wrong == 1
    assert account([]).exact
