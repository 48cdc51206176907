"""PSTL's options about retry on a query: taken off the writer, told when wrong, beaten by settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from blueprint.plan import Retry
from blueprint.quantities import Duration
from streamlets.api.errors import StreamletError
from streamlets.api.retry_options import retry_of, take_retry_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 10**9


@pytest.mark.spark
def test_options_are_taken_off_the_writer(spark: SparkSession) -> None:
    """The sink sees its own options only; a wrong one is the author's mistake."""
    rows = spark.readStream.format("rate").name("ticks").load()
    writer = rows.writeStream.format("noop").option("pstl.retry.min-backoff", "250ms").option("path", "x")
    writer = writer.option("PSTL.retry.max.attempts", 3)
    assert take_retry_options(writer, "q") == {"min_backoff": Duration(SECOND // 4), "max_attempts": 3}
    field = writer._jwrite.getClass().getDeclaredField("extraOptions")
    field.setAccessible(True)
    assert field.get(writer._jwrite).toString() == "Map(path -> x)"
    assert take_retry_options(writer, "q") == {}
    with pytest.raises(StreamletError, match=r"the query `q`: `pstl.retry.max.backoff` must be a duration .*not `5`"):
        take_retry_options(writer.option("pstl.retry.max.backoff", "5"), "q")


def test_settings_come_before_options_and_options_before_defaults() -> None:
    """What `flow` sets stays; what it leaves open is the option's; the rest is as it was."""
    plan = Retry(max_attempts=7, min_backoff=Duration(2 * SECOND))
    options = {"max_attempts": 3, "min_backoff": Duration(SECOND // 4)}
    found = retry_of(plan, frozenset({"max_attempts"}), options, "q")
    assert found == Retry(max_attempts=7, min_backoff=Duration(SECOND // 4))


def test_waits_that_contradict_each_other_are_refused() -> None:
    """A shortest wait beyond the longest is told with both."""
    with pytest.raises(StreamletError, match=r"shortest wait .* \(2 hours\) is longer than its longest \(1 hours\)"):
        retry_of(Retry(), frozenset(), {"min_backoff": Duration(7200 * SECOND)}, "q")
