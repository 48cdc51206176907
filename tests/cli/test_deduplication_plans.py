"""What `flow verify --plans` advises for windows of an inlet with `deduplicate`, applied as it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Flow

pytestmark = [pytest.mark.spark, pytest.mark.slow]

APP = """
from pyspark.sql import functions as F
from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, SparkStreamletLogic

class Count(SparkStreamlet):
    orders = AvroInlet(schema="id long NOT NULL, at timestamp NOT NULL, seen timestamp NOT NULL")
    counts = AvroOutlet(schema="orders long NOT NULL")

    class Logic(SparkStreamletLogic["Count"]):
        def build_streaming_queries(self):
            me = self.streamlet
            rows = self.read_stream(me.orders){watermark}
            counts = rows.groupBy(F.window("{column}", "1 hour")).agg(F.count("*").alias("orders")).select("orders")
            return self.write_stream(counts, me.counts, output_mode="append")
"""
BLUEPRINT = """
blueprint {{
  streamlets {{ count {{ class = app.Count, inlets.orders.deduplicate {deduplicate} }} }}
  topics {{
    orders {{ channel = kafka, managed = no, bootstrap.servers = "localhost:9092", consumers = [count.orders] }}
    counts {{ channel = kafka, bootstrap.servers = "localhost:9092", producers = [count.counts] }}
  }}
}}
"""
KEYS = "{ keys = [id], watermark = at }"


def verified(flow: Flow, directory: Path, *, deduplicate: str, column: str = "at", watermark: str = "") -> str:
    """Return the output of `flow verify --plans`, "" without findings."""
    directory.mkdir()
    (directory / "app.py").write_text(APP.replace("{watermark}", watermark).replace("{column}", column))
    (directory / "blueprint.conf").write_text(BLUEPRINT.format(deduplicate=deduplicate))
    result = flow("verify", "--plans", str(directory))
    return result.out if result.code else ""


def test_a_window_of_the_column_with_the_watermark_passes(flow: Flow, tmp_path: Path) -> None:
    """It needs no watermark of the logic."""
    assert verified(flow, tmp_path / "a", deduplicate=KEYS) == ""


def test_a_window_of_another_column(flow: Flow, tmp_path: Path) -> None:
    """The advice is the column that has the watermark; with it there is no finding."""
    found = " ".join(verified(flow, tmp_path / "a", deduplicate=KEYS, column="seen").split())
    assert "group by `at`, which has the watermark of the query" in found
    assert "withWatermark" not in found


def test_a_deduplication_by_headers(flow: Flow, tmp_path: Path) -> None:
    """Its watermark is that of the messages, which no window can have; the advice sets the column, and passes."""
    headers = "{ by-headers = true }"
    found = " ".join(verified(flow, tmp_path / "a", deduplicate=headers).split())
    assert "set `deduplicate.watermark` of the inlet to the column of the window" in found
    assert verified(flow, tmp_path / "b", deduplicate="{ by-headers = true, watermark = at }") == ""
