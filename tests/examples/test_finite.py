"""The example of a finite pipeline: it ends by itself with the results that are computed here, and goes on later.

In the gate, `tests/crossings/test_example_logic.py` steps it, and `tests/streamlets/runner/test_finite_run.py` has a
smaller pipeline that ends by itself.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks.processes import QUICK_JAVA
from blueprint.plan import TopicPlan
from streamlets.channels.delta.channel import DeltaChannel

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLE = REPOSITORY / "examples" / "finite"
PATIENCE = 600.0
DELAY = timedelta(days=2)


def priced(application: Path) -> list[dict[str, Any]]:
    """Return the sales with their cities and prices."""
    data = application / "data"
    prices = {
        row["product"]: row["cents_each"]
        for file in (data / "products").glob("*.json")
        for row in json.loads(file.read_text())
    }
    cities = {row["store"]: row["city"] for row in _rows(data / "stores" / "stores.csv")}
    return [
        {
            "id": int(row["id"]),
            "at": datetime.fromisoformat(row["at"]),
            "city": cities[row["store"]],
            "cents": int(row["pieces"]) * prices[row["product"]],
        }
        for file in sorted((data / "sales").glob("*.csv"))
        for row in _rows(file)
    ]


def large(application: Path) -> list[tuple[int, str, int]]:
    """Return the large sales, computed without Spark."""
    return [(sale["id"], sale["city"], sale["cents"]) for sale in priced(application) if sale["cents"] >= 1000]


def hours_over(application: Path) -> dict[datetime, tuple[int, int]]:
    """Return the number and the value of the sales of each hour that is over, computed without Spark."""
    sales = priced(application)
    sums: dict[datetime, list[int]] = defaultdict(list)
    for sale in sales:
        sums[sale["at"].replace(minute=0)].append(sale["cents"])
    watermark = max(sale["at"] for sale in sales) - DELAY
    return {
        hour: (len(cents), sum(cents)) for hour, cents in sums.items() if hour + timedelta(hours=1) <= watermark
    }  # fmt: skip


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def reported(application: Path) -> list[tuple[int, str, int]]:
    """Return what the sink has written, sorted."""
    files = (application / "out" / "large").glob("*.json")
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return sorted((row["id"], row["city"], row["cents"]) for row in rows)


def emitted(application: Path) -> list[tuple[datetime, tuple[int, int]]]:
    """Return the hours in the topic, sorted."""
    topics = application / ".flow" / "bakery" / "topics"
    topic = DeltaChannel(topics).topic(TopicPlan("hours", "hours", "delta", True, (), (), {}))
    rows = [row for batch in topic.scan() for row in batch.to_pylist()]
    return sorted((row["hour"], (row["sales"], row["cents"])) for row in rows)


def run(application: Path) -> tuple[dict[str, str], list[str]]:
    """Run the application, which must end by itself; return the last state of each streamlet, and those with open
    windows."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    command = [sys.executable, "-m", "cli.main", "run", str(application), "--format", "json", QUICK_JAVA]
    ended = subprocess.run(
        command, env=os.environ | {"PATH": path, "PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    events = [json.loads(line) for line in ended.stdout.splitlines()]
    states = {event["streamlet"]: event["state"] for event in events if event["event"] == "unit-changed"}
    return states, [event["streamlet"] for event in events if event["event"] == "rows-in-state"]


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.spark
def test_the_pipeline_ends_by_itself(tmp_path: Path) -> None:
    """All seven streamlets complete in a continuous run, the results have each record once, and the hours that are
    still open are reported."""
    application = Path(shutil.copytree(EXAMPLE, tmp_path / "my-app", ignore=shutil.ignore_patterns(".flow", "out")))
    states, keeping = run(application)
    assert states == dict.fromkeys(
        ("sales", "products", "stores", "priced", "hours", "large", "report"), "completed"
    )  # fmt: skip
    assert "hours" in keeping
    assert reported(application) == sorted(large(application))
    assert len(hours_over(application)) == 6 and emitted(application) == sorted(hours_over(application).items())


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.spark
def test_a_later_day_closes_the_hours_that_were_kept(tmp_path: Path) -> None:
    """A second run delivers only the new file, and loses none of the hours that were open at the end of the first."""
    application = Path(shutil.copytree(EXAMPLE, tmp_path / "my-app", ignore=shutil.ignore_patterns(".flow", "out")))
    run(application)
    _next_day(application)
    run(application)
    assert reported(application) == sorted(large(application))
    assert len(hours_over(application)) == 9 and emitted(application) == sorted(hours_over(application).items())


def _next_day(application: Path) -> None:
    """Add the sale of a later day."""
    text = "id,at,store,product,pieces\n1000,2026-03-09T08:00:00Z,market,cake,2\n"
    (application / "data" / "sales" / "2026-03-09.csv").write_text(text)
