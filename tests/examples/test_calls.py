"""The example of call records, compared with sums over its data."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from streamlets.testkit import Testkit

CALLS = Path(__file__).resolve().parents[2] / "examples" / "calls"
LATENESS = timedelta(minutes=30)

Call = tuple[str, str, datetime, int]


def read() -> tuple[list[Call], int]:
    """Return the valid calls of both exchanges, and the number of other records."""
    with (CALLS / "data" / "mobile" / "morning.csv").open(encoding="utf-8") as file:
        records = list(csv.DictReader(file))
    lines = (CALLS / "data" / "landline" / "morning.jsonl").read_text(encoding="utf-8").splitlines()
    records += map(json.loads, lines)
    calls = []
    for record in records:
        if record["direction"] in ("incoming", "outgoing") and str(record["seconds"]).isdigit():
            try:
                began = datetime.fromisoformat(record["began"])
            except ValueError:
                continue
            calls.append((record["user"], record["direction"], began, int(record["seconds"])))
    return calls, len(records) - len(calls)


@pytest.mark.spark
def test_the_usage_of_complete_hours(kit: Testkit) -> None:
    """The report has the sums of the hours that the watermark has passed; the rejects are the broken records."""
    calls, broken = read()
    expected: dict[tuple[str, str, datetime], list[int]] = defaultdict(lambda: [0, 0])
    complete = max(began for _, _, began, _ in calls) - LATENESS
    for user, direction, began, seconds in calls:
        hour = began.replace(minute=0, second=0)
        if hour + timedelta(hours=1) <= complete:
            sums = expected[user, direction, hour]
            sums[0] += 1
            sums[1] += seconds
    app = kit.application(CALLS / "blueprint.conf")
    steps = app.step()
    usage = app.topic("usage").take()
    assert {(row["user"], row["direction"], row["from"]): [row["calls"], row["seconds"]] for row in usage} == expected
    assert len(app.sink("report").take()) == len(expected)
    assert len(app.sink("rejects").take()) == broken == 8
    assert steps["usage"].late == 0


def test_the_data_is_what_the_script_generates() -> None:
    """The files are those of the fixed seed."""
    check_generated(CALLS)


def check_generated(example: Path) -> None:
    """Check that the data of an example is what its script generates."""
    names: dict[str, object] = {"__file__": str(example / "generate.py"), "__name__": "generate"}
    exec((example / "generate.py").read_text(encoding="utf-8"), names)
    files = names["files"]
    assert callable(files)
    for file, content in files().items():
        assert file.read_text(encoding="utf-8") == content
