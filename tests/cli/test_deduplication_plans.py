"""What `flow verify --plans` reports about an inlet with `deduplicate`; its advice is applied as it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamlets.plans import LogicChecker
from tests.cli.conftest import Flow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

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


@pytest.fixture(autouse=True)
def checker(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build logic in the Spark of all tests."""
    monkeypatch.setattr("streamlets.plans.check_logic", LogicChecker(spark, tmp_path / "plans"))


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


def test_other_keys_lose_the_state(flow: Flow, tmp_path: Path) -> None:
    """The state of a deduplication is in the query, as in a run: columns of one type would be mixed in it."""
    directory, described = tmp_path / "a", tmp_path / "described.json"
    assert verified(flow, directory, deduplicate=KEYS) == ""
    assert flow("describe", "--plans", "-o", str(described), str(directory)).code == 0
    query = json.loads(described.read_text())["streamlets"]["count"]["queries"]["counts"]
    assert query["operators"] == ["dedupeWithinWatermark", "stateStoreSave"]
    assert flow("verify", "--plans", "--against", str(described), str(directory)).code == 0
    (directory / "blueprint.conf").write_text(BLUEPRINT.format(deduplicate="{ keys = [seen], watermark = at }"))
    result = flow("verify", "--plans", "--against", str(described), str(directory))
    assert result.code == 1
    assert "was `orders.id`, and is now `orders.seen`" in " ".join(result.out.split())


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
