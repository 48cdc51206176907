"""What Spark tells of queries reaches whoever claimed them, and nothing is kept of those that are over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from streamlets.spark.listening import Claim, Listening


def progress(run_id: str, batch: int) -> SimpleNamespace:
    """Spark's event of a batch."""
    report = json.dumps({"runId": run_id, "batchId": batch})
    return SimpleNamespace(progress=lambda: SimpleNamespace(json=lambda: report))


def terminated(run_id: str) -> SimpleNamespace:
    """Spark's event of a clean end."""
    return SimpleNamespace(exception=lambda: SimpleNamespace(isDefined=lambda: False), runId=lambda: run_id)


class Heard:
    """Notes what a claim is told."""

    def __init__(self) -> None:
        self.told: list[int | str] = []
        self.claim = Claim(self._progress, lambda text: self.told.append("ended"))

    def _progress(self, report: Mapping[str, Any]) -> None:
        self.told.append(report["batchId"])


def test_a_query_that_ended_before_it_was_claimed_is_told_in_order() -> None:
    """Its batches, then its end; whoever claimed it is not kept for events that cannot come."""
    listening, heard = Listening(), Heard()
    for batch in range(3):
        listening.onQueryProgress(progress("fast", batch))
    listening.onQueryTerminated(terminated("fast"))
    listening.claim("fast", heard.claim)
    assert heard.told == [0, 1, 2, "ended"]
    listening.onQueryProgress(progress("fast", 3))
    assert heard.told == [0, 1, 2, "ended"]


def test_events_reach_the_claim_until_the_end() -> None:
    """Also those from before the claim; after the end, or once it is released, nothing does."""
    listening, ended, released = Listening(), Heard(), Heard()
    for run_id, heard in (("a", ended), ("b", released)):
        listening.onQueryProgress(progress(run_id, 0))
        listening.claim(run_id, heard.claim)
        listening.onQueryProgress(progress(run_id, 1))
    listening.onQueryTerminated(terminated("a"))
    listening.release("b")
    for run_id in ("a", "b"):
        listening.onQueryProgress(progress(run_id, 2))
    assert (ended.told, released.told) == ([0, 1, "ended"], [0, 1])


def test_a_query_that_nobody_claims_is_remembered_in_part() -> None:
    """However long it runs, and however many there are: the last events of the last ones."""
    listening, late, gone = Listening(), Heard(), Heard()
    for run in range(100):
        listening.onQueryProgress(progress(f"run-{run}", 0))
    for batch in range(1000):
        listening.onQueryProgress(progress("endless", batch))
    listening.claim("endless", late.claim)
    listening.claim("run-0", gone.claim)
    assert late.told == list(range(900, 1000))
    assert gone.told == []
