"""The Spark columns of a dead letter, in the order of its contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blueprint.avro.dead_letters import dead_letter_contract
from streamlets.channels.conformity import ORIGINAL, REASON

if TYPE_CHECKING:
    from pyspark.sql import Column

    from blueprint.plan import OutletPlan

__all__ = ["dead_letter_columns", "dead_letter_contract"]


def dead_letter_columns(outlet: OutletPlan, coordinates: str, version: str) -> list[Column]:
    """Return the Spark columns of a dead letter, in its contract's order, for rows of `conformity.with_reasons`.

    Arguments:
        outlet: the outlet whose contract the row breaks.
        coordinates: where the row comes from, as `query/batch`, or the query in real-time mode.
        version: the version of the application.
    """
    from pyspark.sql import functions as F

    return [
        F.col(ORIGINAL).alias("record"),
        F.lit(f"{outlet.streamlet}.{outlet.name}").alias("port"),
        F.lit(coordinates).alias("coordinates"),
        F.col(REASON).alias("reason"),
        F.current_timestamp().alias("time"),
        F.lit(version).alias("version"),
    ]
