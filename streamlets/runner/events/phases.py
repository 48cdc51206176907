"""The phases of a batch: where its time went, by the reports of Spark and of the channel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of a batch.

    Arguments:
        name: its name in events, in the status and in metrics.
        description: the work in it, for the documentation.
        steps: the steps of Spark's report (`durationMs`) that belong to it.
    """

    name: str
    description: str
    steps: tuple[str, ...] = ()


PHASES = (
    Phase(
        "offsets", "the sources report how far there are records, and prepare to read them",
        ("latestOffset", "getOffset", "setOffsetRange", "getEndOffset", "getBatch"),
    ),
    Phase("planning", "Spark plans the execution", ("queryPlanning",)),
    Phase("executing", "Spark reads, processes and writes the rows, and updates the state", ("addBatch",)),
    Phase("publishing", "the channel makes the written rows visible in the topics"),
    Phase(
        "committing", "Spark writes the plan and the commit of the batch to the checkpoint",
        ("walCommit", "commitOffsets", "commitBatch"),
    ),
    Phase("other", "the rest"),
)  # fmt: skip
"""The phases in the order of a batch. Their durations add up to the duration of the batch."""


def seconds_by_phase(report: Mapping[str, Any], publishing: float = 0.0) -> dict[str, float]:
    """Return the duration of a batch by phase, in seconds; phases that took less than a millisecond are omitted.

    Spark reads, processes and writes rows in one pass, so that these cannot be told apart.

    Arguments:
        report: the content of `StreamingQueryProgress.json`.
        publishing: the seconds of `addBatch` in which the channel has published the rows.
    """
    durations = report.get("durationMs") or {}
    seconds = {phase.name: sum(float(durations.get(step) or 0) for step in phase.steps) / 1000 for phase in PHASES}
    seconds["publishing"] = min(publishing, seconds["executing"])
    seconds["executing"] -= seconds["publishing"]
    seconds["other"] = float(report.get("batchDuration") or 0) / 1000 - sum(seconds.values())
    return {name: rounded for name, value in seconds.items() if (rounded := round(value, 3)) > 0}
