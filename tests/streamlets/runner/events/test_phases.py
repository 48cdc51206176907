"""The phases of a batch, from Spark's report."""

from __future__ import annotations

from pathlib import Path

from streamlets.runner.events.phases import PHASES, seconds_by_phase

REPORT = {
    "batchDuration": 1781,
    "durationMs": {
        "addBatch": 1180, "commitOffsets": 199, "getBatch": 1, "latestOffset": 1, "queryPlanning": 142,
        "triggerExecution": 1773, "walCommit": 208,
    },
}  # fmt: skip


def test_the_phases_add_up_to_the_batch() -> None:
    """Each step of Spark belongs to a phase; what it does not report is `other`."""
    assert seconds_by_phase(REPORT, publishing=0.18) == {
        "offsets": 0.002, "planning": 0.142, "executing": 1.0, "publishing": 0.18, "committing": 0.407, "other": 0.05
    }  # fmt: skip


def test_unknown_and_missing_steps() -> None:
    """A step of a later Spark is in `other`; a report without steps has only that, or nothing."""
    assert seconds_by_phase({"batchDuration": 500, "durationMs": {"newStep": 500}}) == {"other": 0.5}
    assert seconds_by_phase({}) == {}
    assert seconds_by_phase({"batchDuration": 0, "durationMs": {"addBatch": 20}}, publishing=3.0) == {
        "publishing": 0.02
    }


def test_the_documentation_has_the_phases() -> None:
    """The table in the page about the status is the one in the code."""
    page = (Path(__file__).parents[4] / "docs" / "status-json.md").read_text(encoding="utf-8")
    for phase in PHASES:
        assert f"| `{phase.name}` | {phase.description} |" in page
