"""`Kind`: how a column depends on another one, in the terms of OpenLineage."""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """How a column depends on another one.

    A *direct* dependency gives the column its value. An *indirect* one decides whether a row exists, in which row a
    value is, or which of several values is taken.
    """

    IDENTITY = "identity"
    """The value, unchanged."""
    TRANSFORMATION = "transformation"
    """A value that is computed from a value of one row."""
    AGGREGATION = "aggregation"
    """A value that is computed from the values of several rows."""
    CONDITIONAL = "condition"
    """Decides which of several values is taken."""
    FILTER = "filter"
    """Decides whether a row is kept."""
    JOIN = "join key"
    """Decides which rows are joined."""
    GROUP_BY = "group key"
    """Decides which rows become one."""
    WINDOW = "window"
    """Partitions or orders the rows of a window function."""
    SORT = "sort key"
    """Orders the rows."""

    @property
    def direct(self) -> bool:
        """Whether it gives the value."""
        return self in _DIRECT

    @property
    def type(self) -> str:
        """The type in OpenLineage."""
        return "DIRECT" if self.direct else "INDIRECT"

    @property
    def subtype(self) -> str:
        """The subtype in OpenLineage."""
        return self.name

    def then(self, next: Kind) -> Kind:
        """Return the kind of a dependency through a column: of this one on its input, and `next` on this one."""
        if not next.direct or not self.direct:
            return next if not next.direct else self
        return max(self, next, key=_DIRECT.index)


_DIRECT = (Kind.IDENTITY, Kind.TRANSFORMATION, Kind.AGGREGATION)
"""The direct kinds, the weakest first."""
