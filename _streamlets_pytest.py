"""The pytest plugin: the fixtures `spark` and `kit`.

pytest imports it in every test run of an environment with Streamlets, so it is a module of its own, which imports
nothing of the framework until a test uses a fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamlets.testkit import Testkit


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
