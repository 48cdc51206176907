"""The shared setup of all tests: a Spark session per process, profiles of random examples, the order of tests."""

from __future__ import annotations

import os
import re
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, settings

from _streamlets_pytest import kit
from tests.kafka.fixtures import kafka_broker, spark

__all__ = ["kafka_broker", "kit", "spark"]

# Spark's workers import functions of the tests by the names that pytest gives their modules.
REPOSITORY = str(Path(__file__).resolve().parent.parent)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (REPOSITORY, os.environ.get("PYTHONPATH"))))

# The width of the output does not depend on the terminal in which the tests run.
os.environ.pop("COLUMNS", None)

# In CI the random examples are always the same, so that a failure is caused by the change; elsewhere they are new.
# There are no deadlines, because the time of an example depends on how busy the machine is.
settings.register_profile("desk", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("gate", settings.get_profile("desk"), derandomize=True)
settings.register_profile("long", settings.get_profile("desk"), max_examples=1000)
settings.load_profile("gate" if os.environ.get("CI") else "desk")

_PROCESS_GB = 4  # a test process, its Spark, and a run that a test starts


def pytest_xdist_auto_num_workers() -> int:
    """Return the number of test processes: one for each core, if memory allows.

    With more, Spark's own limits are exceeded on a busy machine: its Java process waits for the process of a Python
    source for 10 seconds only.
    """
    memory = psutil.virtual_memory().total // (_PROCESS_GB * 2**30)
    return max(1, min(os.cpu_count() or 1, memory, 8))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the tests that take longest, so that no process is left alone with one at the end. The other tests of
    a file stay together, in their order: they share fixtures, and the tests before each of them are the same ones."""
    items.sort(key=lambda item: (item.get_closest_marker("slow") is None, item.get_closest_marker("spark") is None))
    for item in items:
        if item.get_closest_marker("slow") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the failed tests to the file that FAILED_TESTS names, one per line, for another attempt (`.ci/run`)."""
    if file := os.environ.get("FAILED_TESTS"):
        reports = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
        tests = [re.sub(r"@\w+$", "", report.nodeid) for report in reports]  # pytest-xdist adds the group of a test
        Path(file).write_text("".join(f"{test}\n" for test in tests), encoding="utf-8")
