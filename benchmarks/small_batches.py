"""Consecutive small batches: the time of a batch on a Delta topic and with Spark's Parquet file sink.

    python -m benchmarks.small_batches [BATCHES] [ROWS]

All write the same source (ROWS records per batch, without a pause) in one session, in turns and twice. The result is
the better median of a batch's time in Spark's progress, without the first five batches. `checked` is a topic whose
contract the rows may break (an enum of 1,000 symbols).
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

from pyspark.sql import DataFrame, SparkSession

from benchmarks.chain import CONTRACT, FIELDS, RECORD, readings, spark
from blueprint.avro.sources.loading import parse_contract
from blueprint.plan import OutletPlan, TopicPlan
from streamlets.channels.base import Branch, TopicQuery
from streamlets.channels.delta.channel import DeltaChannel

GAUGES = {"type": "enum", "name": "Gauge", "symbols": [f"gauge_{i}" for i in range(1000)]}
CHECKED = parse_contract(
    json.dumps(RECORD | {"fields": [{"name": "src", "type": GAUGES} if f["name"] == "src" else f for f in FIELDS]})
)


def main() -> None:
    """Run the three writers in turn and print their medians."""
    batches = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    session = spark()
    directory = Path(tempfile.mkdtemp(prefix="small-"))
    try:
        medians: dict[str, float] = {}
        for turn, name in enumerate(("files", "delta", "checked") * 2):
            root = directory / f"{name}-{turn}"
            took = measure(writer(session.newSession(), name, root, rows), root, batches)
            medians[name] = min(took, medians.get(name, took))
            print(f"{name:8}{took:8.0f} ms per batch", flush=True)
        print(f"\n{rows:,} rows per batch: delta / files {medians['delta'] / medians['files']:.2f}")
    finally:
        session.stop()
        shutil.rmtree(directory, ignore_errors=True)


def writer(session: SparkSession, name: str, root: Path, rows: int) -> Any:
    """Return the writer to measure."""
    source = readings(session, rows)
    if name == "files":
        return source.writeStream.format("parquet").option("path", str(root / "out"))
    if name == "checked":
        source = source.selectExpr("id", "replace(src, '-', '_') src", "ts", "value")
    channel = DeltaChannel(root / "topics")
    topic = channel.topic(TopicPlan("out", "out", "delta", True, (), (), {}))
    topic.create()
    outlet = OutletPlan("a", "out", None, CHECKED if name == "checked" else CONTRACT, "out")

    def all_of(frame: DataFrame) -> DataFrame:
        return frame

    return channel.writer(source, (Branch(outlet, all_of, topic),), None, TopicQuery(streamlet="a", name="out"))


def measure(stream: Any, root: Path, batches: int) -> float:
    """Return the median time of a batch in milliseconds."""
    query = stream.option("checkpointLocation", str(root / "checkpoint")).trigger(processingTime="0 seconds").start()
    seen: dict[int, float] = {}
    while len(seen) < batches + 5:
        if query.exception() is not None:
            raise query.exception()
        seen |= {p["batchId"]: p["durationMs"]["triggerExecution"] for p in query.recentProgress if p["numInputRows"]}
        time.sleep(0.05)
    query.stop()
    return statistics.median(list(seen.values())[5:])


if __name__ == "__main__":
    main()
