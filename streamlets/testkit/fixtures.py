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
    """The one Spark session of a test run; starting it costs seconds, so ask for it only where a query runs."""
    session = start_session(folder=tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def kit(spark: SparkSession, tmp_path: Path) -> Iterator[Testkit]:
    """A testkit in the test's own temporary folder."""
    with Testkit(spark, tmp_path / "testkit") as made:
        yield made
