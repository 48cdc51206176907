"""PSTL's retry options of a query: removed from the writer, checked, and overridden by settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from blueprint.core_settings import Retry
from blueprint.quantities import Duration
from streamlets.api.errors import StreamletError
from streamlets.api.retry_options import retry_of, take_retry_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 10**9


@pytest.mark.spark
def test_options_are_removed_from_the_writer(spark: SparkSession) -> None:
    """The sink gets its own options only; an invalid retry option is an error in the author's code."""
    rows = spark.readStream.format("rate").name("ticks").load()
    writer = rows.writeStream.format("noop").option("pstl.retry.min-backoff", "250ms").option("path", "x")
    writer = writer.option("PSTL.retry.max.attempts", 3)
    assert take_retry_options(writer, "q") == {"min_backoff": Duration(SECOND // 4), "max_attempts": 3}
    field = writer._jwrite.getClass().getDeclaredField("extraOptions")
    field.setAccessible(True)
    assert field.get(writer._jwrite).toString() == "Map(path -> x)"
    assert take_retry_options(writer, "q") == {}
    with pytest.raises(
        StreamletError,
        match=r"in the query `q`, `pstl.retry.max.backoff` must be a duration .*found `5` without a unit",
    ):
        take_retry_options(writer.option("pstl.retry.max.backoff", "5"), "q")


def test_settings_override_options_and_options_override_defaults() -> None:
    """An option applies to a field that `flow` does not set."""
    plan = Retry(max_attempts=7, min_backoff=Duration(2 * SECOND))
    options = {"max_attempts": 3, "min_backoff": Duration(SECOND // 4)}
    retry = retry_of(plan, frozenset({"max_attempts"}), options, "q")
    assert retry == Retry(max_attempts=7, min_backoff=Duration(SECOND // 4))


def test_the_minimum_back_off_cannot_exceed_the_maximum() -> None:
    """The message has both values."""
    with pytest.raises(
        StreamletError, match=r"minimum back-off \(2 hours\) is longer than the maximum back-off \(1 hour\)"
    ):
        retry_of(Retry(), frozenset(), {"min_backoff": Duration(7200 * SECOND)}, "q")
