"""The pytest plugin: the fixtures `spark` and `kit`, and test cases as data in files `test_*.streamlet.yaml`.

pytest imports it in every test run of an environment with Streamlets, so it is a module of its own, which imports
nothing of the framework until a test uses a fixture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

_UPDATE = "--flow-update"

pytest.register_assert_rewrite("streamlets.testkit.channels")  # before any test module imports the suite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamlets.testkit import Testkit
    from streamlets.testkit.cases import Case


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that records expectations."""
    help = "record the records that streamlets write as the expectations of cases in test_*.streamlet.yaml"
    parser.getgroup("streamlets").addoption(_UPDATE, action="store_true", help=help)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker of the suite of channels, and refuse to record in several processes, which would write the
    same file."""
    config.addinivalue_line("markers", "spark: needs Java; a test of channels with queries")
    if config.getoption(_UPDATE) and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError(f"{_UPDATE} needs a single process: pass -n0")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a file of cases."""
    if file_path.name.startswith("test_") and file_path.name.endswith((".streamlet.yaml", ".streamlet.yml")):
        return CaseFile.from_parent(parent, path=file_path)
    return None


class CaseFile(pytest.File):
    """A file of cases."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each case.

        Raises:
            CollectError: the file is invalid.
        """
        from streamlets.testkit import TestkitError
        from streamlets.testkit.cases import read_cases

        try:
            cases = read_cases(self.path)
        except TestkitError as error:
            raise self.CollectError(str(error)) from None
        for case in cases:
            yield pytest.Function.from_parent(self, name=case.name, callobj=_test(case))


def _test(case: Case) -> Callable[[Testkit, pytest.FixtureRequest], None]:
    def run(kit: Testkit, request: pytest.FixtureRequest) -> None:
        from streamlets.testkit import RecordError, TestkitError

        try:
            differences = case.run(kit, update=bool(request.config.getoption(_UPDATE)))
        except (RecordError, TestkitError) as error:
            differences = str(error)
        if differences:
            pytest.fail(differences, pytrace=False)

    return run


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Start the Spark session of a test run, which takes seconds; use it only for tests that run a query."""
    from streamlets.testkit import start_session

    session = start_session(directory=tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def kit(spark: SparkSession, tmp_path: Path) -> Iterator[Testkit]:
    """Create a testkit in the temporary directory of a test."""
    from streamlets.testkit import Testkit

    with Testkit(spark, tmp_path / "testkit") as testkit:
        yield testkit
