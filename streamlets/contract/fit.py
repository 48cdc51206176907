"""`Fit`: the change and the check that convert values of a Spark type to a schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column

from streamlets.contract.path import Path

Change = Callable[[Column], Column]
Check = Callable[[Column, Path], Column]


@dataclass(frozen=True, slots=True)
class Fit:
    """How a value is converted to a schema.

    Arguments:
        change: converts the value to the schema's Spark type, null to null; None when it already has this type.
        check: returns the first reason why a value breaks the schema, otherwise null (also for null); None when no
            value can break it.
    """

    change: Change | None = None
    check: Check | None = None

    def apply(self, column: Column) -> Column:
        """Return the value in the schema's Spark type."""
        return self.change(column) if self.change else column
