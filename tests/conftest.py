"""What all tests share: one Spark session per process, the profiles of random examples, and the order of a run."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, settings

from streamlets.testkit.fixtures import kit, spark

__all__ = ["kit", "spark"]

# Spark's workers import the tests' own functions by the names that pytest gives their modules.
REPOSITORY = str(Path(__file__).resolve().parent.parent)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (REPOSITORY, os.environ.get("PYTHONPATH"))))

# Output is as wide as where there is no terminal, whatever the terminal of the person who runs the tests.
os.environ.pop("COLUMNS", None)

# The gate draws the same examples each time, so that it says something about the change; at a desk they are new ones.
# How long an example takes says something about the machine only, which may be busy.
settings.register_profile("desk", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("gate", settings.get_profile("desk"), derandomize=True)
settings.register_profile("long", settings.get_profile("desk"), max_examples=1000)
settings.load_profile("gate" if os.environ.get("CI") else "desk")

_PROCESS_GB = 4  # a test process, its Spark, and a run that a test starts


def pytest_xdist_auto_num_workers() -> int:
    """Return the number of test processes: one for each core, if memory allows. With more, Spark's own limits are
    exceeded on a busy machine: its Java process waits for the process of a Python source for 10 seconds only."""
    memory = psutil.virtual_memory().total // (_PROCESS_GB * 2**30)
    return max(1, min(os.cpu_count() or 1, memory, 8))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the tests that take longest, so that no process is left alone with one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
