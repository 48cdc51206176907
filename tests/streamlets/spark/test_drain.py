"""A drained query ends after its running batch, with any source and during any activity of the query."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from streamlets.runner.checkpoints.checkpoint import latest
from streamlets.spark.drain import drain, is_down

pytestmark = pytest.mark.spark

PATIENCE = 300
BACKLOG = 400


class Files:
    """A query that reads files with Spark's own source, which does not know about drains."""

    def __init__(self, spark: Any, directory: Path) -> None:
        self._spark = spark
        self._directory = directory
        (directory / "in").mkdir()

    def feed(self, count: int) -> None:
        """Create files with a row, each of which is a batch."""
        for number in range(count):
            draft = self._directory / "draft"
            draft.write_text(f'{{"n": {number}}}\n')
            draft.rename(self._directory / "in" / f"{number}.json")

    def start(self, trigger: str = "0 seconds", **sink: Any) -> Any:
        """Start, and wait until a batch was finished."""
        source = self._spark.readStream.name("files").schema("n bigint").option("maxFilesPerTrigger", 1)
        rows = source.json(str(self._directory / "in"))
        writer = rows.writeStream.trigger(processingTime=trigger).option(
            "checkpointLocation", self._directory / "check"
        )
        query = (writer.foreachBatch(sink["batch"]) if sink else writer.format("noop")).start()
        before = time.monotonic()
        while query.lastProgress is None and not sink:
            assert time.monotonic() - before < PATIENCE
            time.sleep(0.01)
        return query

    def last(self) -> tuple[int, int]:
        """Return the last batch that was planned, and the last one that was committed; -1 for none."""
        planned, committed = (latest(self._directory / "check" / part) for part in ("offsets", "commits"))
        return -1 if planned is None else planned, -1 if committed is None else committed


@pytest.fixture
def files(spark: Any, tmp_path: Path) -> Files:
    """A folder with a backlog."""
    made = Files(spark, tmp_path)
    made.feed(BACKLOG)
    return made


def test_drains_under_backlog_end_on_a_commit(files: Files) -> None:
    """At any time, no batch is planned and not run; `stop` would leave such a batch half of the time."""
    for moment in range(8):
        query = files.start()
        time.sleep(0.03 * moment)
        drain(query)
        assert query.awaitTermination(PATIENCE)
        planned, committed = files.last()
        assert planned == committed
        assert query.exception() is None
    assert committed < BACKLOG - 1, "there was no backlog"


def test_a_drained_query_is_not_down_before_its_batch_is(files: Files, tmp_path: Path) -> None:
    """The batch is finished although Spark reports the query as inactive. A batch that an earlier run has planned
    counts as running."""

    def fails(rows: Any, number: int) -> None:
        raise RuntimeError("it fails")

    def batch(rows: Any, number: int) -> None:
        (tmp_path / "begun").touch()
        while not (tmp_path / "go on").exists():
            time.sleep(0.01)

    with pytest.raises(Exception, match="it fails"):
        files.start(batch=fails).awaitTermination(PATIENCE)
    assert files.last() == (0, -1)
    query = files.start(batch=batch)
    while not (tmp_path / "begun").exists():
        time.sleep(0.01)
    drain(query)
    assert not is_down(query)
    (tmp_path / "go on").touch()
    assert query.awaitTermination(PATIENCE)
    while not is_down(query):
        time.sleep(0.01)
    assert files.last() == (0, 0)


def test_a_query_that_waits_for_its_trigger_ends_at_once(files: Files) -> None:
    """The drain does not wait for the next trigger in an hour."""
    query = files.start("1 hour")
    drain(query)
    assert query.awaitTermination(PATIENCE)
    assert files.last() == (0, 0)
