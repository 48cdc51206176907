"""The effective settings of a session that change what expressions mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blueprint.comparison.meaning import LEGACY, MEANINGS, TIME_ZONE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def meaning(session: SparkSession) -> dict[str, str]:
    """Return the effective values of the settings that change what expressions mean.

    The time zone is not among them: the expressions that depend on it have it in their text.
    """
    from pyspark.errors import PySparkException

    settings = {name: value for name, value in session.conf.getAll.items() if name.startswith(LEGACY)}
    for name in MEANINGS:
        try:
            settings[name] = str(session.conf.get(name))
        except PySparkException:  # this version of Spark does not have it
            continue
    del settings[TIME_ZONE]
    return dict(sorted(settings.items()))
