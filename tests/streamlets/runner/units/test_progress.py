"""Progress: from Spark's report of a batch to the event."""

from __future__ import annotations

import json
from pathlib import Path

from streamlets.runner.checkpoints.state_rows import operators
from streamlets.runner.events.model import UnitId
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
    """Rows are summed over sources, late rows over operators; the channel's count of rows out stands."""
    event = progressed(REPORT, UNIT, 1.0, output_mode="append", rows_out={"out": 9}, dead_letters=6)
    assert (event.batch, event.rows_in, event.rows_out, event.dead_letters) == (4, 15, {"out": 9}, 6)
    assert (event.late, event.seconds, event.watermark) == (3, 1.5, "2020-01-01T00:00:00.000Z")


def test_what_is_held_depends_on_the_output_mode() -> None:
    """Groups are held back in append mode only; joins always; keys that are merely remembered never."""
    held = {
        mode: progressed(REPORT, UNIT, 1.0, output_mode=mode, rows_out={}).held for mode in ("append", "update", "")
    }
    assert held == {"append": 12, "update": 5, "": 5}


def test_all_rows_of_state_are_counted_whatever_the_output_mode() -> None:
    """What state holds is told beside what is held back: groups and keys that are merely remembered are state, too."""
    assert progressed(REPORT, UNIT, 1.0, output_mode="update", rows_out={}).state_rows == 1012


def test_rows_out_of_sinks() -> None:
    """Where no channel told, Spark's own count of its sink is taken, and none when Spark does not know."""
    known = REPORT | {"sink": {"numOutputRows": 0}}
    assert progressed(known, UNIT, 1.0, output_mode="", rows_out={}).rows_out == {"sink": 0}
    assert progressed(REPORT, UNIT, 1.0, output_mode="", rows_out={}).rows_out == {}


def test_no_watermark_yet() -> None:
    """The epoch is Spark's way to say that there is none."""
    report = REPORT | {"eventTime": {"watermark": "1970-01-01T00:00:00.000Z"}}
    assert progressed(report, UNIT, 1.0, output_mode="", rows_out={}).watermark is None


def test_operators_from_sparks_notes(tmp_path: Path) -> None:
    """The stateful operators of a checkpoint are read from Spark's notes; what is no note is passed over."""
    for number, name in ((1, "symmetricHashJoin"), (0, "stateStoreSave")):
        notes = tmp_path / "state" / str(number) / "_metadata"
        notes.mkdir(parents=True)
        note = {"operatorInfo": {"operatorId": number, "operatorName": name}, "stateStoreInfo": []}
        (notes / "metadata").write_text(f"v1\n{json.dumps(note)}")
        (notes / ".metadata.crc").write_bytes(b"\xff\x00crc")
    assert operators(tmp_path) == [(0, "stateStoreSave"), (1, "symmetricHashJoin")]
    assert operators(tmp_path / "none") == []
