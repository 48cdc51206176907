"""A small version of `benchmarks/kills/java.py`: kill Java once, with streamlets that keep Spark objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.kills.java import STREAMLETS, running

_PATIENCE = 400.0


@pytest.mark.spark
@pytest.mark.full
def test_streamlets_with_spark_objects_recover(tmp_path: Path) -> None:
    """Each streamlet continues with the next Java process.

    Their modules keep functions, columns, schemas, a broadcast variable, an accumulator and a table that were created
    with the previous one.
    """
    with running(tmp_path, "--isolation", "none") as run:
        assert run.processing(0, _PATIENCE) == frozenset(), run.events
        since = run.kill_java()
        assert run.processing(since, _PATIENCE) == frozenset(), run.events[since:]
        failed = {event["streamlet"] for event in run.events if event.get("state") == "backing-off"}
        assert failed == STREAMLETS
        causes = {event["cause"] for event in run.events if event.get("state") == "backing-off"}
        assert causes == {"Spark's Java process exited (killed by signal 9)"}
