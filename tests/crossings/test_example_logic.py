"""Each example and template on Spark: its logic is built, described, and stepped by the testkit."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamlets.testkit import Testkit
from tests.crossings.built_logic import check_logic, check_step, logic, modules
from tests.crossings.example_directories import APPLICATIONS, Application
from tests.crossings.test_examples import every_application, path
from tests.pages import REPOSITORY

__all__ = ["logic", "modules", "path"]

pytestmark = pytest.mark.spark

SETTINGS = {
    "examples/flights": ("flow.streamlets.flights.parameters.until=3", "flow.streamlets.weather.parameters.until=2"),
    "examples/resilience": (
        "flow.streamlets.till.parameters.orders=50",
        "flow.streamlets.settle.parameters.failures=0",
        "flow.streamlets.lines.parameters.failures=0",
    ),
}
"""Settings for a step with few records, and without the failures that an example shows."""

WITHOUT_RECORDS = {
    "examples/changes": "its spout reads a database that `store.py` makes",
    "examples/pages": "its source reads a server",
    "examples/sources": "one of its sources reads a server",
    "examples/retries": "its payments come from a generator",
    "examples/sensors": "its source delivers records over time",
    "examples/spouts": "its spouts run until they are stopped",
}
"""The applications that have no records in a step, and why; their tests in `tests/examples` run them."""

OVER_TIME = {"examples/bottleneck"}
"""The applications whose sources have the more records the longer a step takes."""

LETTERS = {
    "cli/templates/files-to-delta": "dead-letters.orders",
    "examples/bottleneck": "dead-letters.payments",
}
"""The dead letters that an application shows."""

SHOWN = {"examples/sources": ("unbounded-state",)}
"""The findings that an application has: its join keeps all orders and products."""

STEPPED = {
    "cli/templates/minimal": "tests/manual/test_tutorial.py",
    "examples/calls": "tests/examples/test_calls.py",
    "examples/changes": "tests/examples/test_changes.py",
    "examples/flights": "tests/examples/test_flights.py",
    "examples/jobs": "tests/examples/test_jobs.py",
    "examples/jobs/databases.sql": "tests/examples/test_jobs.py",
    "examples/jobs/flights.sql": "tests/examples/test_jobs.py",
    "examples/jobs/planes.sql": "tests/examples/test_jobs.py",
    "examples/jobs/weather.sql": "tests/examples/test_jobs.py",
    "examples/orders": "tests/examples/test_orders.py",
    "examples/resilience": "tests/examples/test_resilience.py",
    "examples/retries": "tests/examples/test_retries.py",
    "examples/sources": "tests/examples/test_sources.py",
    "examples/sensors": "tests/examples/test_sensors.py",
    "examples/spouts": "tests/examples/test_spouts.py",
    "examples/taxi": "tests/examples/test_taxi.py",
}
"""The applications that another test of the gate steps or runs, and compares with known results."""


def test_the_tables_have_applications_only() -> None:
    """A row of an application that no longer exists is removed, and the tests that run them exist."""
    assert {*SETTINGS, *WITHOUT_RECORDS, *OVER_TIME, *LETTERS, *STEPPED} <= set(map(str, APPLICATIONS))
    assert [test for test in STEPPED.values() if not (REPOSITORY / test).exists()] == []


@every_application
def test_verify_and_describe_with_plans(application: Application, path: Path, logic: None) -> None:
    """Its logic has no findings, and its descriptor has the queries of each streamlet on Spark."""
    check_logic(application.file, *application.arguments, shown=SHOWN.get(str(application), ()))


@pytest.mark.parametrize(
    "application",
    [
        pytest.param(application, marks=[pytest.mark.full] if str(application) in STEPPED else [], id=str(application))
        for application in APPLICATIONS
    ],
)
def test_a_step(application: Application, path: Path, kit: Testkit) -> None:
    """In a step of the testkit each streamlet reads all records of its inlets, and no record breaks a contract."""
    name = str(application)
    app = kit.application(application.file, arguments=(*application.arguments, *SETTINGS.get(name, ())))
    if name in ("examples/pages", "examples/sources"):
        with pytest.raises(OSError, match="refused"):
            app.step()
        return
    records = check_step(app, lambda letters: LETTERS.get(name) != letters)
    if name not in OVER_TIME:
        assert (records == 0 and len(app.plan.topics) > 0) == (name in WITHOUT_RECORDS)
