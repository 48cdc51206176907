"""The groups of streamlets that share a driver, and the part of the plan that each driver gets."""

from __future__ import annotations

from typing import Any

import pytest

from blueprint.core_settings import ApplicationSettings, StreamletSettings
from blueprint.plan import ApplicationPlan, StreamletPlan
from streamlets.runner.drivers.groups import driver_plans
from streamlets.spark.session import SessionError


def _plan(**streamlets: dict[str, Any]) -> ApplicationPlan:
    descriptor: Any = None
    made = tuple(
        StreamletPlan(ref=ref, class_name=f"m.{ref}", descriptor=descriptor, settings=StreamletSettings(**own))
        for ref, own in streamlets.items()
    )
    return ApplicationPlan(
        name="app",
        blueprint="blueprint.conf",
        directory=".",
        streamlets=made,
        topics=(),
        settings=ApplicationSettings(spark={"spark.driver.memory": "1g", "spark.sql.x": "1"}),
    )


def test_each_streamlet_has_a_driver_unless_it_joins_a_group() -> None:
    """The name of a streamlet without a group is its group, which others can join. The order of the streamlets is kept
    within a driver."""
    drivers = driver_plans(_plan(a={}, b={"group": "io"}, c={"group": "a"}, d={}, e={"group": "io"}))
    refs = [(driver.name, [streamlet.ref for streamlet in driver.plan.streamlets]) for driver in drivers]
    assert refs == [("a", ["a", "c"]), ("io", ["b", "e"]), ("d", ["d"])]


def test_process_wide_settings_of_a_streamlet_are_set_for_its_driver() -> None:
    """A streamlet with a driver of its own sets its memory; settings of a session stay with the streamlet."""
    big, other = driver_plans(_plan(big={"spark": {"spark.driver.memory": "4g", "spark.sql.y": "2"}}, other={}))
    assert big.plan.settings.spark == {"spark.driver.memory": "4g", "spark.sql.x": "1"}
    assert big.plan.streamlet("big").settings.spark == {"spark.sql.y": "2"}
    assert other.plan.settings.spark == {"spark.driver.memory": "1g", "spark.sql.x": "1"}


def test_a_group_with_different_process_wide_settings_is_refused() -> None:
    """The error has both streamlets; the same value twice is allowed."""
    four, two = {"spark.driver.memory": "4g"}, {"spark.driver.memory": "2g"}
    with pytest.raises(
        SessionError, match=r"`a` and `b` share the driver `g`, but set `spark\.driver\.memory` to 4g and"
    ):
        driver_plans(_plan(a={"spark": four, "group": "g"}, b={"spark": two, "group": "g"}))
    (driver,) = driver_plans(_plan(a={"spark": four, "group": "g"}, b={"spark": four, "group": "g"}))
    assert driver.plan.settings.spark["spark.driver.memory"] == "4g"
