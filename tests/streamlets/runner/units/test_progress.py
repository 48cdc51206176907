"""The event of a finished batch, from Spark's report."""

from __future__ import annotations

import json
from pathlib import Path

from streamlets.runner.checkpoints.state_rows import operators
from streamlets.runner.events.status import UnitId
from streamlets.runner.units.progress import progressed

UNIT = UnitId("a", "out")
REPORT = {
    "batchId": 4,
    "batchDuration": 1500,
    "eventTime": {"watermark": "2020-01-01T00:00:00.000Z"},
    "stateOperators": [
        {"operatorName": "stateStoreSave", "numRowsTotal": 7, "numRowsDroppedByWatermark": 2},
        {"operatorName": "symmetricHashJoin", "numRowsTotal": 5, "numRowsDroppedByWatermark": 1},
        {"operatorName": "dedupe", "numRowsTotal": 1000, "numRowsDroppedByWatermark": 0},
    ],
    "sources": [{"numInputRows": 10}, {"numInputRows": 5}],
    "sink": {"description": "x", "numOutputRows": -1},
}


def test_numbers_of_a_batch() -> None:
    """Rows are summed over sources, late rows over operators; rows out are those of the channel."""
    event = progressed(REPORT, UNIT, 1.0, output_mode="append", rows_out={"out": 9}, dead_letters=6)
    assert (event.batch, event.rows_in, event.rows_out, event.dead_letters) == (4, 15, {"out": 9}, 6)
    assert (event.late, event.seconds, event.watermark) == (3, 1.5, "2020-01-01T00:00:00.000Z")


def test_late_rows_are_counted_once() -> None:
    """Spark counts them in each execution of the batch."""
    assert progressed(REPORT, UNIT, 1.0, output_mode="append", rows_out={}, executions=3).late == 1


def test_the_rows_held_back_depend_on_the_output_mode() -> None:
    """Groups are held back in append mode only, rows of joins always, keys of deduplications never."""
    modes = ("append", "update", "")
    pending = {mode: progressed(REPORT, UNIT, 1.0, output_mode=mode, rows_out={}).pending_rows for mode in modes}
    assert pending == {"append": 12, "update": 5, "": 5}


def test_all_rows_in_state_are_counted_in_every_output_mode() -> None:
    """Groups and keys are rows in state, too, even if they are not held back."""
    assert progressed(REPORT, UNIT, 1.0, output_mode="update", rows_out={}).state_rows == 1012


def test_the_phases_and_the_state_of_a_batch() -> None:
    """Durations are seconds by phase; the memory and the time in state are summed over the operators."""
    operator = {
        "operatorName": "dedupe", "numRowsTotal": 1, "memoryUsedBytes": 4176, "allUpdatesTimeMs": 71,
        "allRemovalsTimeMs": 41, "commitTimeMs": 188,
    }  # fmt: skip
    report = REPORT | {"durationMs": {"addBatch": 1200, "walCommit": 100}, "stateOperators": [operator, operator]}
    event = progressed(report, UNIT, 1.0, output_mode="append", rows_out={}, publishing=0.2)
    assert event.phases == {"executing": 1.0, "publishing": 0.2, "committing": 0.1, "other": 0.2}
    assert (event.state_bytes, event.state_seconds) == (8352, 0.6)
    assert progressed(REPORT, UNIT, 1.0, output_mode="append", rows_out={}).state_bytes == 0


def test_rows_out_of_sinks() -> None:
    """Without a count of the channel, Spark's count of its sink is used, if it is known."""
    known = REPORT | {"sink": {"numOutputRows": 0}}
    assert progressed(known, UNIT, 1.0, output_mode="", rows_out={}).rows_out == {"sink": 0}
    assert progressed(REPORT, UNIT, 1.0, output_mode="", rows_out={}).rows_out == {}
    function = REPORT | {"sink": {"description": "ForeachBatchSink", "numOutputRows": 0}}
    assert progressed(function, UNIT, 1.0, output_mode="", rows_out={}).rows_out == {}


def test_no_watermark_yet() -> None:
    """Spark reports the epoch then."""
    report = REPORT | {"eventTime": {"watermark": "1970-01-01T00:00:00.000Z"}}
    assert progressed(report, UNIT, 1.0, output_mode="", rows_out={}).watermark is None


def test_operators_are_read_from_sparks_metadata(tmp_path: Path) -> None:
    """Other files are ignored."""
    for number, name in ((1, "symmetricHashJoin"), (0, "stateStoreSave")):
        notes = tmp_path / "state" / str(number) / "_metadata"
        notes.mkdir(parents=True)
        note = {"operatorInfo": {"operatorId": number, "operatorName": name}, "stateStoreInfo": []}
        (notes / "metadata").write_text(f"v1\n{json.dumps(note)}")
        (notes / ".metadata.crc").write_bytes(b"\xff\x00crc")
    assert operators(tmp_path) == [(0, "stateStoreSave"), (1, "symmetricHashJoin")]
    assert operators(tmp_path / "none") == []
