"""The benchmark that kills Java under streamlets that hold objects of Spark, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.java_kills import STREAMLETS, running

_PATIENCE = 400.0


@pytest.mark.spark
@pytest.mark.slow
def test_streamlets_that_hold_objects_of_spark_process_again(tmp_path: Path) -> None:
    """Their modules keep functions, columns, schemas, a broadcast variable, an accumulator and a table that were made
    with a Java process; each reads and writes again with the next one, without being asked to."""
    with running(tmp_path, "--isolation", "none") as run:
        assert run.processing(0, _PATIENCE) == frozenset(), run.events
        since = run.kill_java()
        assert run.processing(since, _PATIENCE) == frozenset(), run.events[since:]
        failed = {event["streamlet"] for event in run.events if event.get("state") == "backing-off"}
        assert failed == STREAMLETS
        causes = {event["cause"] for event in run.events if event.get("state") == "backing-off"}
        assert causes == {"Spark's Java process is gone (killed by signal 9)"}
