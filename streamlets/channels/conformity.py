"""Rows that break the contract of their outlet: marked with the reason, and reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamlets.channels.base import BrokenRowsError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from blueprint.plan import OutletPlan
    from streamlets.contract.conform import Conformance

REASON, ORIGINAL = "_streamlets_reason", "_streamlets_original"
_SHOWN = 500


def with_reasons(rows: DataFrame, fit: Conformance) -> DataFrame:
    """Return the rows as the contract requires them, with the reason why a row breaks it and the original row.

    Both additional columns are null for valid rows.
    """
    from pyspark.sql import functions as F

    assert fit.reason is not None
    original = F.when(fit.reason.isNotNull(), fit.original)
    return rows.select(*fit.columns, fit.reason.alias(REASON), original.alias(ORIGINAL))


def broken_rows_error(outlet: OutletPlan, count: int, reason: str, row: str) -> BrokenRowsError:
    """Return the error for rows that break the contract of an outlet without dead letters.

    Arguments:
        outlet: the outlet.
        count: the number of the rows.
        reason: why one of them breaks the contract.
        row: that row, as JSON.
    """
    rows = "1 row breaks" if count == 1 else f"{count:,} rows break"
    return BrokenRowsError(
        f"{rows} the contract `{outlet.contract.record.name}` of `{outlet.streamlet}.{outlet.name}`, "
        f"for example: {reason}, in the row {row[:_SHOWN]}"
    )
