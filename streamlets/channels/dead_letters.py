"""The Spark columns of a dead letter, in the order of its contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blueprint.avro.dead_letters import dead_letter_contract

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["dead_letter_columns", "dead_letter_contract"]


def dead_letter_columns(original: Column, reason: Column, *, port: str, coordinates: str, version: str) -> list[Column]:
    """Return the Spark columns of a dead letter, in the order of its contract.

    Arguments:
        original: the broken row, as JSON.
        reason: why the row breaks its contract.
        port: the outlet, as `streamlet.outlet`.
        coordinates: the query and the batch, as `query/batch`.
        version: the version of the streamlet.
    """
    from pyspark.sql import functions as F

    return [
        original.alias("record"),
        F.lit(port).alias("port"),
        F.lit(coordinates).alias("coordinates"),
        reason.alias("reason"),
        F.current_timestamp().alias("time"),
        F.lit(version).alias("version"),
    ]
