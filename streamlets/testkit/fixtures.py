"""Fixtures for pytest: in a `conftest.py`, `from streamlets.testkit.fixtures import kit, spark`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamlets.testkit.kit import Testkit
from streamlets.testkit.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Start the Spark session of a test run, which takes seconds; use it only for tests that run a query."""
    session = start_session(folder=tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def kit(spark: SparkSession, tmp_path: Path) -> Iterator[Testkit]:
    """Create a testkit in the temporary directory of a test."""
    with Testkit(spark, tmp_path / "testkit") as testkit:
        yield testkit
