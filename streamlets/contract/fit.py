"""`Fit`: what values of one Spark type need to become a schema's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column

from streamlets.contract.path import Path

Change = Callable[[Column], Column]
Check = Callable[[Column, Path], Column]


@dataclass(frozen=True, slots=True)
class Fit:
    """What a value needs to become the schema's.

    Arguments:
        change: gives the value in the schema's Spark type, null for null; None when it has it already.
        check: gives the first reason why a value breaks the schema, else null (also for null); None when none can.
    """

    change: Change | None = None
    check: Check | None = None

    def apply(self, column: Column) -> Column:
        """The value in the schema's Spark type."""
        return self.change(column) if self.change else column
