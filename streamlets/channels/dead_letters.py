"""Dead letters: Spark columns that make one of a broken row, in the order of their fixed contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blueprint.avro.dead_letters import dead_letter_contract

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["dead_letter_columns", "dead_letter_contract"]


def dead_letter_columns(original: Column, reason: Column, *, port: str, coordinates: str, version: str) -> list[Column]:
    """Spark columns that make a dead letter of a broken row, in the contract's order."""
    from pyspark.sql import functions as F

    return [
        original.alias("record"),
        F.lit(port).alias("port"),
        F.lit(coordinates).alias("coordinates"),
        reason.alias("reason"),
        F.current_timestamp().alias("time"),
        F.lit(version).alias("version"),
    ]
