"""A fused topic: the rows of an outlet become the records of an inlet within one query, and are not stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from streamlets.channels.conformity import outlet_conformance

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from blueprint.plan import InletPlan, OutletPlan

_SHOWN = 500
_COUNTER = "streamlets-records-of-"


class NotFusableError(Exception):
    """Rows cannot pass from an outlet to an inlet within a query; the message is the reason, after `because`."""


def passed_on(rows: DataFrame, outlet: OutletPlan, inlet: InletPlan) -> DataFrame:
    """Return the records that an inlet reads of the rows that an outlet writes, with the contracts of both.

    A row that breaks the contract of the outlet fails the query. The records are counted: see `records_passed`. Spark
    moves no expression past the count, so that each record is computed once, as if it had been stored.

    Arguments:
        rows: the streaming rows of the outlet, as its author computed them.
        outlet: the outlet.
        inlet: the inlet.

    Raises:
        NotFusableError: broken rows of the outlet go to the dead letters, which a fused topic does not have.
        ContractError: no row can conform to the outlet.
    """
    from pyspark.sql import functions as F

    fit = outlet_conformance(rows.schema, outlet)
    if fit.refuses and outlet.on_invalid == "dead-letters":
        raise NotFusableError(
            f"rows of `{outlet.streamlet}.{outlet.name}` may break its contract, and go to the dead letters then"
        )
    if fit.reason is not None:
        rows = rows.where(F.assert_true(fit.reason.isNull(), _message(outlet, fit.reason, fit.original)).isNull())
    counted = rows.select(*fit.columns).observe(_COUNTER + outlet.topic, F.count(F.lit(1)).alias("records"))
    return counted.select(*(F.col(f"`{field.name}`") for field in inlet.contract.record.fields))


def records_passed(report: Mapping[str, Any], topic: str, executions: int = 1) -> int:
    """Return the number of records of a batch that passed a fused topic.

    Arguments:
        report: the content of `StreamingQueryProgress.json`.
        topic: the id of the topic.
        executions: how often the batch was executed.
    """
    observed = (report.get("observedMetrics") or {}).get(_COUNTER + topic) or {}
    return int(observed.get("records") or 0) // executions


def _message(outlet: OutletPlan, reason: Column, original: Column) -> Column:
    from pyspark.sql import functions as F

    return F.concat(
        F.lit(
            f"[BROKEN_ROWS] a row breaks the contract `{outlet.contract.record.name}` of "
            f"`{outlet.streamlet}.{outlet.name}`: "
        ),
        reason,
        F.lit(", in the row "),
        F.substring(original, 1, _SHOWN),
    )
