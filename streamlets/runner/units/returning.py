"""`ReturningRows`: the rows of an outlet in two parts: those that return into a cycle, and those that leave it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from blueprint.plan import OutletPlan, StreamletPlan
from streamlets.api.errors import StreamletError
from streamlets.channels.conformity import is_true

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROW, _BROKEN, _RETURNS = "_streamlets_row", "_streamlets_broken", "_streamlets_returns"


class ReturningRows:
    """The rows of an outlet with `else` in `allow-cycles`.

    Both parts come from one execution of the rows, so that a record is in exactly one of them, even if the logic or the
    condition depends on the time or on chance.

    Arguments:
        outlet: the outlet.
        rows: returns its rows, from the DataFrame of the query.
    """

    def __init__(self, outlet: OutletPlan, rows: Callable[[DataFrame], DataFrame]) -> None:
        assert outlet.returns is not None
        self._outlet, self._condition, self._rows = outlet, outlet.returns.records, rows
        self._batch: DataFrame | None = None
        self._checked: DataFrame | None = None

    def returning(self, batch: DataFrame) -> DataFrame:
        """Return the rows of the outlet itself: those that satisfy the condition or break its contract."""
        from pyspark.sql import functions as F

        return self._of(batch).where(F.col(_BROKEN) | F.col(_RETURNS)).select(f"{_ROW}.*")

    def leaving(self, batch: DataFrame) -> DataFrame:
        """Return the records that do not satisfy the condition."""
        from pyspark.sql import functions as F

        records = [F.col(f"`{field.name}`") for field in self._outlet.contract.record.fields]
        return self._of(batch).where(~F.col(_BROKEN) & ~F.col(_RETURNS)).select(*records)

    def _of(self, batch: DataFrame) -> DataFrame:
        """Return the rows of a batch with what decides about them, computed once."""
        from pyspark.sql import functions as F

        from streamlets.contract.conform import conformance

        if self._checked is None or batch is not self._batch:
            rows = self._rows(batch)
            fit = conformance(rows.schema, self._outlet.contract, extra=self._outlet.extra)
            broken = F.lit(False) if fit.reason is None else fit.reason.isNotNull()
            checked = rows.select(F.struct("*").alias(_ROW), broken.alias(_BROKEN), *fit.columns)
            checked = checked.withColumn(_RETURNS, ~F.col(_BROKEN) & is_true(self._condition))
            # Spark frees the rows when they are garbage; unlike persisted ones, they are never computed again.
            self._batch, self._checked = batch, checked.localCheckpoint()
        return self._checked


def outlet_for_others(
    plan: StreamletPlan, outlet: OutletPlan, written: Collection[str], query: str, *, real_time: bool
) -> str | None:
    """Return the outlet that records leave to which do not return into a cycle; None if there is none.

    Arguments:
        plan: the streamlet.
        outlet: an outlet that a query writes.
        written: the outlets that the query writes.
        query: the name of the query.
        real_time: whether the query has a real-time trigger.

    Raises:
        StreamletError: the query writes that outlet itself, or has a real-time trigger.
    """
    other = outlet.returns.otherwise if outlet.returns is not None else None
    if other is not None and other in written:
        raise StreamletError(
            f"the query `{query}` writes the outlet `{other}`, which gets the records of `{outlet.name}` that do not "
            f"return into the cycle: write it in a query of its own, or remove `else` of `allow-cycles.{plan.ref}`"
        )
    if other is not None and real_time:
        raise StreamletError(
            f"the query `{query}` has a real-time trigger and cannot write a second outlet: remove `else` of "
            f"`allow-cycles.{plan.ref}`, so that records that do not return go to the dead letters"
        )
    return other
