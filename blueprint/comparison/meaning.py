"""The Spark settings that change what expressions mean, and with it what is added to the state of a query."""

from __future__ import annotations

TIME_ZONE = "spark.sql.session.timeZone"

MEANINGS = (
    TIME_ZONE,
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.execution.pandas.convertToArrowArraySafely",
    "spark.sql.execution.pythonUDF.arrow.enabled",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.timestampType",
)
"""Those outside of `LEGACY`."""

LEGACY = "spark.sql.legacy."
"""The beginning of the names of all settings that restore the meaning of an older Spark."""


def changes_meaning(setting: str) -> bool:
    """Return whether a Spark setting changes what expressions mean."""
    return setting in MEANINGS or setting.startswith(LEGACY)
