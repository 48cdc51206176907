"""The file with what a spout has done."""

from __future__ import annotations

import time
from pathlib import Path

from streamlets.ingress.spouts.report import ReportFile, SpoutReport, read_report


def test_the_last_transaction_is_written_without_another_one(tmp_path: Path) -> None:
    """Also if it is committed right after a write, and none follows."""
    report = ReportFile(tmp_path / "report", every=0.01)
    report.started(5, None)
    report.committed(10, 1)
    report.committed(10, 0)
    end = time.monotonic() + 60
    while read_report(tmp_path / "report").transactions < 2 and time.monotonic() < end:
        time.sleep(0.001)
    written = read_report(tmp_path / "report")
    assert (written.transactions, written.records, written.dead_letters, written.epoch) == (2, 20, 1, 5)


def test_many_transactions_are_written_together(tmp_path: Path) -> None:
    """At most once in each period, and at the end."""
    now = [100.0]
    report = ReportFile(tmp_path / "report", every=1000.0, clock=lambda: now[0])
    report.started(1, 9000)
    for _ in range(5):
        report.committed(1, 0)
    assert read_report(tmp_path / "report") == SpoutReport(epoch=1, port=9000)
    now[0] = 1100.0
    report.committed(1, 0)
    assert read_report(tmp_path / "report").transactions == 6
    report.committed(1, 0)
    report.write()
    assert read_report(tmp_path / "report").transactions == 7


def test_a_runner_that_stood_by_continues_the_counts(tmp_path: Path) -> None:
    """Those at its start, not those from before it waited."""
    standing_by = ReportFile(tmp_path / "report")
    first = ReportFile(tmp_path / "report")
    first.started(1, None)
    first.committed(10, 0)
    first.write()
    standing_by.started(2, None)
    assert read_report(tmp_path / "report") == SpoutReport(1, 10, 0, first._report.last_commit, 2)
