"""Events of queries reach the unit that claimed them, and nothing is kept of queries that are over."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from streamlets.spark.listener import Claim, QueryListener, reports_after

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def progress(run_id: str, batch: int) -> SimpleNamespace:
    """Spark's event of a batch."""
    report = json.dumps({"runId": run_id, "batchId": batch})
    return SimpleNamespace(progress=lambda: SimpleNamespace(json=lambda: report))


def terminated(run_id: str) -> SimpleNamespace:
    """Spark's event of a clean end."""
    return SimpleNamespace(exception=lambda: SimpleNamespace(isDefined=lambda: False), runId=lambda: run_id)


class Heard:
    """Records the events of a claim."""

    def __init__(self) -> None:
        self.told: list[int | str] = []
        self.claim = Claim(self._progress, lambda text: self.told.append("ended"))

    def _progress(self, report: Mapping[str, Any]) -> None:
        self.told.append(report["batchId"])


def test_a_query_that_ended_before_it_was_claimed_is_told_in_order() -> None:
    """First its batches, then its end; the claim is not kept for further events."""
    listener, heard = QueryListener(), Heard()
    for batch in range(3):
        listener.onQueryProgress(progress("fast", batch))
    listener.onQueryTerminated(terminated("fast"))
    listener.claim("fast", heard.claim)
    assert heard.told == [0, 1, 2, "ended"]
    listener.onQueryProgress(progress("fast", 3))
    assert heard.told == [0, 1, 2, "ended"]


def test_events_reach_the_claim_until_the_end() -> None:
    """Also events from before the claim, but none after the end or a release."""
    listener, ended, released = QueryListener(), Heard(), Heard()
    for run_id, heard in (("a", ended), ("b", released)):
        listener.onQueryProgress(progress(run_id, 0))
        listener.claim(run_id, heard.claim)
        listener.onQueryProgress(progress(run_id, 1))
    listener.onQueryTerminated(terminated("a"))
    listener.release("b")
    for run_id in ("a", "b"):
        listener.onQueryProgress(progress(run_id, 2))
    assert (ended.told, released.told) == ([0, 1, "ended"], [0, 1])


def test_a_query_that_nobody_claims_is_remembered_in_part() -> None:
    """The last events of the last runs are kept, for any number of events and runs."""
    listener, late, gone = QueryListener(), Heard(), Heard()
    for run in range(100):
        listener.onQueryProgress(progress(f"run-{run}", 0))
    for batch in range(1000):
        listener.onQueryProgress(progress("endless", batch))
    listener.claim("endless", late.claim)
    listener.claim("run-0", gone.claim)
    assert late.told == list(range(900, 1000))
    assert gone.told == []


@pytest.mark.spark
def test_a_look_that_found_no_data_is_not_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Spark keeps a report of it with the number of the next batch, but without the step that writes a batch."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"a": 1}')
    session = spark.newSession()
    session.conf.set("spark.sql.streaming.noDataProgressEventInterval", "100ms")
    rows = session.readStream.name("files").schema("a int").json(str(tmp_path / "in"))
    query = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        query.processAllAvailable()
        deadline = time.monotonic() + 300
        while not any("addBatch" not in report.durationMs for report in query.recentProgress):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert [report["batchId"] for report in reports_after(query, -1)] == [0]
    finally:
        query.stop()
