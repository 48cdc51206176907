"""The shared setup of all tests: a Spark session per process, profiles of random examples, the order of tests."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, settings

from _streamlets_pytest import kit
from tests.kafka.fixtures import kafka_broker, spark
from tests.streamlets.egress.postgresql import postgresql_server

__all__ = ["kafka_broker", "kit", "postgresql_server", "spark"]

# The runs of tests are short: Java's second compiler would cost a third more CPU time, and pay off after minutes.
os.environ["JAVA_TOOL_OPTIONS"] = f"-XX:TieredStopAtLevel=1 {os.environ.get('JAVA_TOOL_OPTIONS', '')}".strip()

# Spark's workers import functions of the tests by the names that pytest gives their modules.
REPOSITORY = str(Path(__file__).resolve().parent.parent)
EXAMPLES = [f"{REPOSITORY}/examples/channels/{name}" for name in ("sqlite", "redis")]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (REPOSITORY, *EXAMPLES, os.environ.get("PYTHONPATH"))))

# The width of the output does not depend on the terminal in which the tests run.
os.environ.pop("COLUMNS", None)

# In CI the random examples are always the same, so that a failure is caused by the change; elsewhere they are new.
# There are no deadlines, because the time of an example depends on how busy the machine is.
settings.register_profile("desk", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("gate", settings.get_profile("desk"), derandomize=True)
settings.register_profile("long", settings.get_profile("desk"), max_examples=1000)
settings.load_profile("gate" if os.environ.get("CI") else "desk")

_PROCESS_GB = 4  # a test process, its Spark, and a run that a test starts

SHOWN_LINES = 20
"""The lines of a failure that are shown at once; all are shown at the end."""


def pytest_xdist_auto_num_workers() -> int:
    """Return the number of test processes: one for each core, if memory allows.

    With more, Spark's own limits are exceeded on a busy machine: its Java process waits for the process of a Python
    source for 10 seconds only.
    """
    memory = psutil.virtual_memory().total // (_PROCESS_GB * 2**30)
    return max(1, min(os.cpu_count() or 1, memory, 8))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the tests without Spark, which find most failures in the first minutes. Slow tests with Spark follow,
    and then files with ever fewer tests of Spark, so that no process is left alone with a long one at the end. The
    tests of a file, except slow ones, stay together, in their order: they share fixtures, and the tests before each of
    them are the same ones."""
    with_spark = Counter(item.path for item in items if item.get_closest_marker("spark") and not _is_slow(item))

    def place(item: pytest.Item) -> tuple[int, int]:
        if _is_slow(item):
            return (1 if item.get_closest_marker("spark") else -1), 0
        return (2, -with_spark[item.path]) if with_spark[item.path] else (0, 0)

    items.sort(key=place)
    for item in items:
        if not _is_slow(item):
            file = item.path.relative_to(REPOSITORY) if item.path.is_relative_to(REPOSITORY) else item.path
            item.add_marker(pytest.mark.xdist_group(re.sub(r"\W", "_", str(file))))


def _is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


class FailuresAtOnce:
    """Shows each failure when it happens, and not only at the end of the run."""

    def __init__(self, reporter: pytest.TerminalReporter) -> None:
        self._reporter = reporter

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Show the test, and the end of its traceback."""
        if report.failed:
            self._reporter.write_line("")
            self._reporter.write_line(f"FAILED {_test(report)} ({report.when})", red=True)
            self._reporter.write_line("\n".join(report.longreprtext.splitlines()[-SHOWN_LINES:]))


class EndsOfProcesses:
    """Shows when each test process ended its last test: one that ends long before the others has waited for them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._begun = clock, clock()
        self._ends: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the time of a report. pytest-xdist adds its process, except when that has crashed."""
        if process := getattr(report, "worker_id", ""):
            self._ends[process] = self._clock() - self._begun

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write a line with the processes."""
        ends = ", ".join(f"{process} {seconds:.0f} s" for process, seconds in sorted(self._ends.items()))
        terminalreporter.write_line(f"last tests of the processes: {ends}")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """In a run of several processes, which may take long, show failures at once, and when each process has ended."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and getattr(config.option, "numprocesses", None):
        config.pluginmanager.register(FailuresAtOnce(reporter))
        config.pluginmanager.register(EndsOfProcesses())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the failed tests to the file that FAILED_TESTS names, one per line, for another attempt (`.ci/run`)."""
    if file := os.environ.get("FAILED_TESTS"):
        reports = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
        tests = map(_test, reports)
        Path(file).write_text("".join(f"{test}\n" for test in tests), encoding="utf-8")


def _test(report: pytest.TestReport) -> str:
    """Return the id of a test without its group, which pytest-xdist adds."""
    return re.sub(r"@\w+$", "", report.nodeid)
