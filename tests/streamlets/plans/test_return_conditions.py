"""Conditions of cycles that only Spark can judge."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from blueprint.diagnostics import Span
from blueprint.hocon.text_place import TextPlace
from blueprint.plan import OutletPlan, ReturnCondition, StreamletPlan
from streamlets.plans.return_conditions import condition_findings
from tests.streamlets.channels.topics import READING

PLACE = Span("blueprint.conf", 3, 5, 3, 20)


def _plan(condition: str) -> StreamletPlan:
    descriptor: Any = None
    returns = ReturnCondition(condition, place=TextPlace(PLACE, None))
    outlets = (OutletPlan("retry", "again", None, READING, "readings", returns=returns),)
    return StreamletPlan(ref="retry", class_name="shop.Retry", descriptor=descriptor, outlets=outlets)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("no_such_function(id) <= 5", "no_such_function"),
        ("to_date(id, id, id) IS NULL", "to_date"),
        ("map(id, 1) = map(id, 1)", "map"),
    ],
)
def test_a_condition_that_spark_refuses_is_a_finding(spark: Any, condition: str, reason: str) -> None:
    """It has the place of the expression and the reason of Spark."""
    places: Any = SimpleNamespace(of=lambda error: (), own=lambda place: None, here=lambda: None)
    (finding,) = condition_findings(_plan(condition), spark, places)
    assert finding.code == "cycle-records"
    assert finding.headline.startswith("`records` of `allow-cycles.retry` is refused by Spark: ")
    assert reason in finding.headline.lower() + " ".join(finding.causes).lower()
    assert finding.primary is not None
    assert finding.primary.span == PLACE


@pytest.mark.spark
@pytest.mark.parametrize("condition", ["id <= 5 AND pmod(id, 2) = 0", "nobody <= 5"])
def test_others_are_not_repeated(spark: Any, condition: str) -> None:
    """A condition that Spark accepts, or in which verification without Spark finds the mistake, has no finding."""
    places: Any = SimpleNamespace(of=lambda error: (), own=lambda place: None, here=lambda: None)
    assert list(condition_findings(_plan(condition), spark, places)) == []
