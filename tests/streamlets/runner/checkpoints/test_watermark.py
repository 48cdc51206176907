"""The batch that emits what a watermark has closed is planned when a stop has prevented it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamlets.runner.checkpoints.checkpoint import Checkpoint, read_checkpoint
from streamlets.runner.checkpoints.watermark import with_batch_after_watermark
from tests.streamlets.runner.checkpoints.test_checkpoint import written

NOW = 1_700_000_000.5


def stopped(root: Path, *, watermark: int, planned: bool = False, state: bool = True, named: bool = True) -> Checkpoint:
    """Return the checkpoint of a query that was stopped after its batch 1 had moved the watermark to this time."""
    batches = {number: {"in": json.dumps({"at": number})} for number in range(3 if planned else 2)}
    directory = written(root, "mean.out", batches, 1, named=named, watermark=watermark)
    if state:
        metadata = directory / "state" / "0" / "_metadata"
        metadata.mkdir(parents=True)
        (metadata / "metadata").write_text(
            'v1\n{"operatorInfo":{"operatorId":0,"operatorName":"stateStoreSave"},"stateStoreInfo":[]}'
        )
    return read_checkpoint(directory)


@pytest.mark.parametrize("named", [True, False])
def test_the_batch_has_the_positions_of_the_last_one_and_its_watermark(tmp_path: Path, named: bool) -> None:
    """So it reads no rows, as the one that Spark would have planned. It is planned once."""
    before = stopped(tmp_path, watermark=5000, named=named)
    after = with_batch_after_watermark(before, NOW)
    assert after.planned is not None
    assert before.committed is not None
    assert (after.planned.number, after.planned.positions) == (2, before.committed.positions)
    assert (after.planned.time, after.planned.settings) == (1_700_000_000.5, before.committed.settings)
    lines = [(after.directory / "offsets" / str(number)).read_text().split("\n") for number in (1, 2)]
    assert [lines[1][0], *lines[1][2:]] == [lines[0][0], *lines[0][2:]]
    assert json.loads(lines[1][1])["batchWatermarkMs"] == 5000
    assert with_batch_after_watermark(after, NOW) == after
    assert sorted(entry.name for entry in (after.directory / "offsets").glob(".*.[0-9]*")) == []


@pytest.mark.parametrize(
    ("watermark", "planned", "state"), [(0, False, True), (5000, True, True), (5000, False, False)]
)
def test_no_batch_is_planned_without_need(tmp_path: Path, watermark: int, planned: bool, state: bool) -> None:
    """The watermark has not moved, a batch is planned already, or there is no state."""
    before = stopped(tmp_path, watermark=watermark, planned=planned, state=state)
    files = sorted((before.directory / "offsets").iterdir())
    assert with_batch_after_watermark(before, NOW) == before
    assert sorted((before.directory / "offsets").iterdir()) == files


def test_a_query_that_has_not_run_has_no_batch(tmp_path: Path) -> None:
    """Neither does one whose checkpoint is damaged, which is repaired or refused first."""
    assert with_batch_after_watermark(read_checkpoint(tmp_path / "mean" / "out"), NOW).planned is None
    before = stopped(tmp_path, watermark=5000)
    (before.directory / "commits" / "1").write_text("")
    damaged = read_checkpoint(before.directory)
    assert damaged.damage
    assert with_batch_after_watermark(damaged, NOW) == damaged
