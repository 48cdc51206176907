"""The lineage of a streamlet as data: where the columns of its outlets and sinks come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streamlets.lineage.values import NONE, Influence, Influences

if TYPE_CHECKING:
    from blueprint.diagnostics import Span

ColumnPath = tuple[str, ...]
"""The name of a column, followed by the names of nested fields."""


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """Where a column comes from.

    Arguments:
        inputs: the columns on which it depends; the columns that decide about whole rows are in `OutputLineage.rows`.
        place: where it is computed, or else where its query is defined.
        unknown: the reasons why there may be further inputs.
        written: whether the rows have the column; a column that they do not have gets its default.
    """

    inputs: Influences = NONE
    place: Span | None = field(default=None, compare=False)
    unknown: tuple[str, ...] = ()
    written: bool = True


@dataclass(frozen=True, slots=True)
class OutputLineage:
    """Where the records of an outlet, or of a sink of the author, come from.

    Arguments:
        query: the name of the query that writes them.
        outlet: the name of the outlet; "" for a sink.
        sink: the sink, in words; "" for an outlet.
        columns: the lineage of each column and of each nested field that is known apart, by path.
        rows: the columns that decide which records there are.
        place: where the query is defined.
        unknown: the reasons why further columns may decide about the records.
        decided: where each of `rows` decides, if that is known.
    """

    query: str
    outlet: str = ""
    sink: str = ""
    columns: Mapping[ColumnPath, ColumnLineage] = field(default_factory=dict)
    rows: Influences = NONE
    place: Span | None = field(default=None, compare=False)
    unknown: tuple[str, ...] = ()
    decided: Mapping[Influence, Span] = field(default_factory=dict, compare=False)

    def place_of(self, influence: Influence) -> Span | None:
        """Return where a column decides about records, or else where the query is defined."""
        return self.decided.get(influence, self.place)


@dataclass(frozen=True, slots=True)
class StreamletLineage:
    """The lineage of the outputs of a streamlet.

    Arguments:
        outputs: its outputs, in the order of its queries.
        unknown: why the lineage is not known; "" if it is.
    """

    outputs: tuple[OutputLineage, ...] = ()
    unknown: str = ""
