"""Rows that break the contract of their outlet, or leave a cycle: marked with the reason, and reported."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamlets.channels.base import BrokenRowsError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from blueprint.plan import OutletPlan
    from streamlets.contract.conform import Conformance

REASON, ORIGINAL = "_streamlets_reason", "_streamlets_original"
_SHOWN = 500


def outlet_conformance(rows: StructType, outlet: OutletPlan) -> Conformance:
    """Return how rows are converted to the records of an outlet.

    If records that do not return into a cycle leave to the dead letters, the condition is part of it.

    Arguments:
        rows: the schema of the rows.
        outlet: the outlet.

    Raises:
        ContractError: no row can conform; with the reasons by field.
    """
    from streamlets.contract.conform import conformance

    fit = conformance(rows, outlet.contract, extra=outlet.extra)
    if outlet.returns is None or outlet.returns.otherwise is not None:
        return fit
    assert outlet.on_invalid == "dead-letters", "verification requires a place for the records that do not return"
    return replace(fit, condition=outlet.returns.records)


def with_reasons(rows: DataFrame, fit: Conformance) -> DataFrame:
    """Return the rows as the contract requires them, with the reason why a row is refused and the original row.

    Both additional columns are null for accepted rows.
    """
    from pyspark.sql import functions as F

    reason = F.lit(None).cast("string") if fit.reason is None else fit.reason
    if fit.condition is None:
        original = F.when(reason.isNotNull(), fit.original)
        return rows.select(*fit.columns, reason.alias(REASON), original.alias(ORIGINAL))
    checked = rows.select(*fit.columns, reason.alias(REASON), fit.original.alias(ORIGINAL))
    leaving = F.lit(f"the record does not return into the cycle: `{fit.condition}` is not true")
    refused = F.coalesce(REASON, F.when(~is_true(fit.condition), leaving))
    records = [F.col(f"`{name}`") for name in checked.columns[: len(fit.columns)]]
    return checked.select(*records, refused.alias(REASON), F.when(refused.isNotNull(), F.col(ORIGINAL)).alias(ORIGINAL))


def is_true(condition: str) -> Column:
    """Return whether a SQL expression is true for a row, and neither false nor null."""
    from pyspark.sql import functions as F

    return F.coalesce(F.expr(condition), F.lit(False))


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
