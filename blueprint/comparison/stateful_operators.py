"""The stateful operators of Spark 4.3: their names in checkpoints and plans, and for users."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class StatefulOperator:
    """A physical operator that keeps state between batches.

    Arguments:
        name: its name in Spark, in the metadata of a checkpoint and in progress reports.
        node: the node of an analyzed plan that becomes this operator; several operators may share one.
        label: its name for users, in a table.
        phrase: its name for users in a sentence; default: the label in backticks, as the name of a method.
        holds: when its state has rows that are output later. State that only the author's function can interpret is
            not counted.
    """

    name: str
    node: str
    label: str
    phrase: str = ""
    holds: Literal["never", "in append mode", "always"] = "never"

    def __post_init__(self) -> None:
        object.__setattr__(self, "phrase", self.phrase or f"`{self.label}`")

    def holds_back(self, output_mode: str) -> bool:
        """Return whether its state has rows that are output later, in a query with an output mode."""
        return self.holds == "always" or (self.holds == "in append mode" and output_mode == "append")


AGGREGATION = StatefulOperator("stateStoreSave", "Aggregate", "aggregation", "an aggregation", "in append mode")
SESSION_WINDOWS = StatefulOperator(
    "sessionWindowStateStoreSaveExec", "Aggregate", "session windows", "session windows", "in append mode"
)
JOIN = StatefulOperator("symmetricHashJoin", "Join", "join", "a stream-stream join", "always")
DEDUPLICATION = StatefulOperator("dedupeWithinWatermark", "DeduplicateWithinWatermark", "dropDuplicatesWithinWatermark")
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
    DEDUPLICATION,
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
    """Return the operator with a name in a checkpoint. An operator that Spark 4.3 does not have has only its name."""
    return _BY_NAME.get(name) or StatefulOperator(name, "", name)


def operator_phrases(names: Iterable[str], *, none: str = "state") -> str:
    """Return operators in words: `an aggregation and a stream-stream join`.

    Arguments:
        names: their names in Spark.
        none: the phrase when there are none.
    """
    return " and ".join(dict.fromkeys(stateful_operator(name).phrase for name in names)) or none
