"""The stateful operators of Spark 4.3: their names in checkpoints and plans, and what users call them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class StatefulOperator:
    """A physical operator that keeps state between batches.

    Arguments:
        name: Spark's name for it, in the metadata of a checkpoint and in progress reports.
        node: the node of an analyzed plan that becomes this operator; several operators may share one.
        label: what users call it, in a table.
        phrase: the same in a sentence; the label in backticks where it is a method's name.
        holds: when its state has rows of output that are still to come. State that only an author's function can
            interpret is not counted.
    """

    name: str
    node: str
    label: str
    phrase: str = ""
    holds: Literal["never", "in append mode", "always"] = "never"

    def __post_init__(self) -> None:
        object.__setattr__(self, "phrase", self.phrase or f"`{self.label}`")

    def holds_back(self, output_mode: str) -> bool:
        """Return whether rows in its state are output that is still to come, in a query of an output mode."""
        return self.holds == "always" or (self.holds == "in append mode" and output_mode == "append")


AGGREGATION = StatefulOperator("stateStoreSave", "Aggregate", "aggregation", "an aggregation", "in append mode")
SESSION_WINDOWS = StatefulOperator(
    "sessionWindowStateStoreSaveExec", "Aggregate", "session windows", "session windows", "in append mode"
)
JOIN = StatefulOperator("symmetricHashJoin", "Join", "join", "a stream-stream join", "always")
LIMIT = StatefulOperator("globalLimit", "GlobalLimit", "limit", "a limit")
TRANSFORM_ROWS = StatefulOperator(
    "transformWithStateInPySparkExec", "TransformWithStateInPySpark", "transformWithState"
)
TRANSFORM_PANDAS = StatefulOperator(
    "transformWithStateInPandasExec", "TransformWithStateInPySpark", "transformWithStateInPandas"
)

STATEFUL_OPERATORS = (
    AGGREGATION,
    StatefulOperator("StatefulStreamlineAggregate", "Aggregate", "aggregation", "an aggregation"),  # real-time mode
    SESSION_WINDOWS,
    JOIN,
    StatefulOperator("dedupe", "Deduplicate", "dropDuplicates"),
    StatefulOperator("dedupeWithinWatermark", "DeduplicateWithinWatermark", "dropDuplicatesWithinWatermark"),
    StatefulOperator("flatMapGroupsWithState", "FlatMapGroupsWithState", "flatMapGroupsWithState"),
    StatefulOperator("applyInPandasWithState", "FlatMapGroupsInPandasWithState", "applyInPandasWithState"),
    StatefulOperator("transformWithStateExec", "TransformWithState", "transformWithState"),
    TRANSFORM_ROWS,
    TRANSFORM_PANDAS,
    LIMIT,
)
"""Every operator of Spark 4.3 that writes to a state store."""

_BY_NAME = {operator.name: operator for operator in STATEFUL_OPERATORS}


def stateful_operator(name: str) -> StatefulOperator:
    """Return the operator of a name in a checkpoint; one that this version of Spark does not have has its name only."""
    return _BY_NAME.get(name) or StatefulOperator(name, "", name)


def operator_phrases(names: Iterable[str], *, none: str = "state") -> str:
    """Return what operators are to a reader: `an aggregation and a stream-stream join`.

    Arguments:
        names: Spark's.
        none: the phrase when there are none.
    """
    return " and ".join(dict.fromkeys(stateful_operator(name).phrase for name in names)) or none
