"""Triggers that an author sets on Spark's own objects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamlets.api.context import StreamingWrite
from streamlets.api.errors import StreamletError
from streamlets.runner.units.site import require_supported_triggers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_continuous_triggers_are_refused_at_the_start(spark: SparkSession, tmp_path: Path) -> None:
    """Of queries that the runner starts, and of those that the author has started; other triggers are not."""
    writer = spark.readStream.format("rate").load().writeStream.format("noop")
    writer = writer.option("checkpointLocation", str(tmp_path))
    query = writer.queryName("own").trigger(continuous="1 second").start()
    try:
        for item, name in ((StreamingWrite("ticks", writer, ()), "ticks"), (query, "own")):
            with pytest.raises(StreamletError, match=f"the query `{name}` has a continuous trigger, .* real-time = 5"):
                require_supported_triggers([item])
    finally:
        query.stop()
    require_supported_triggers([StreamingWrite("ticks", writer.trigger(processingTime="1 second"), ())])
