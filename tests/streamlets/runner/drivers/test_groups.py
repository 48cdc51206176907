"""Which streamlets share a driver, and what of the plan each driver gets."""

from __future__ import annotations

from typing import Any

import pytest

from blueprint.plan import ApplicationPlan, Retry, StreamletPlan
from streamlets.runner.drivers.groups import driver_plans
from streamlets.spark.session import SessionError


def _plan(**streamlets: dict[str, Any]) -> ApplicationPlan:
    descriptor: Any = None
    made = tuple(
        StreamletPlan(ref, f"m.{ref}", descriptor, {}, (), (), None, Retry(), own.get("spark", {}), {}, {},
                      group=own.get("group"))
        for ref, own in streamlets.items()
    )  # fmt: skip
    return ApplicationPlan("app", "blueprint.conf", ".", made, (), {"spark.driver.memory": "1g", "spark.sql.x": "1"})


def test_each_streamlet_has_a_driver_unless_it_joins_a_group() -> None:
    """A group is one driver, and so is a streamlet without one, whose name others may take for their group; both keep
    the order of the streamlets."""
    found = driver_plans(_plan(a={}, b={"group": "io"}, c={"group": "a"}, d={}, e={"group": "io"}))
    refs = [(driver.name, [streamlet.ref for streamlet in driver.plan.streamlets]) for driver in found]
    assert refs == [("a", ["a", "c"]), ("io", ["b", "e"]), ("d", ["d"])]


def test_settings_of_the_whole_process_go_to_the_process() -> None:
    """A streamlet with a driver of its own sets its memory; what belongs to a session stays with the session."""
    big, other = driver_plans(_plan(big={"spark": {"spark.driver.memory": "4g", "spark.sql.y": "2"}}, other={}))
    assert big.plan.spark == {"spark.driver.memory": "4g", "spark.sql.x": "1"}
    assert big.plan.streamlet("big").spark == {"spark.sql.y": "2"}
    assert other.plan.spark == {"spark.driver.memory": "1g", "spark.sql.x": "1"}


def test_a_group_must_agree_on_the_process() -> None:
    """Two values for one process are refused, with both streamlets named; the same value twice is one."""
    four, two = {"spark.driver.memory": "4g"}, {"spark.driver.memory": "2g"}
    with pytest.raises(
        SessionError, match=r"`a` and `b` share the driver `g` and set `spark\.driver\.memory` to 4g and"
    ):
        driver_plans(_plan(a={"spark": four, "group": "g"}, b={"spark": two, "group": "g"}))
    (driver,) = driver_plans(_plan(a={"spark": four, "group": "g"}, b={"spark": four, "group": "g"}))
    assert driver.plan.spark["spark.driver.memory"] == "4g"
