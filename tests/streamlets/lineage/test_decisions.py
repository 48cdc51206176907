"""What decides about records has the place of its condition, not the line that writes the records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamlets.lineage.trace import Tracer
from tests.streamlets.lineage.kiosk_lineage import build

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DECISIONS = Path(__file__).parent / "decisions"


def _line(text: str, file: str) -> tuple[str, int]:
    """Return a file of the application, and the line of it that has a text."""
    lines = (DECISIONS / file).read_text().split("\n")
    return file, next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize(
    ("topic", "file", "expected"),
    [
        (
            "visits", "deciding.py",
            {
                "filter people.tier": "tier != 'none'", "filter people.city": '"city") != ""',
                "filter people.customer": "isNotNull()", "group key orders.page": "dropDuplicates",
                "join key orders.customer": ".join(kept", "join key people.customer": ".join(kept",
                "group key orders.customer": "groupBy(", "group key people.tier": "groupBy(",
            },
        ),
        (
            "counts", "blueprint.conf",
            {
                "filter visits.page": "WHERE page <>", "filter visits.amount": "amount > 3",
                "group key visits.customer": "GROUP BY customer",
            },
        ),
    ],
)  # fmt: skip
def test_the_place_of_each_decision(spark: SparkSession, topic: str, file: str, expected: dict[str, str]) -> None:
    """Filters, joins, groups and deduplication, by columns, by names and in SQL."""
    steps = Tracer(build(spark, DECISIONS), 1).up(topic, ("customer",))
    found = {
        f"{step.kind.value} {step.name}": (Path(step.place.file).name, step.place.line)
        for step in steps
        if step.decides and step.kind is not None and step.place is not None
    }
    assert found == {decision: _line(text, file) for decision, text in expected.items()}
