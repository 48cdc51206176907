"""A kit without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streamlets.testkit import Testkit


@pytest.fixture
def spouts(tmp_path: Path) -> Iterator[Testkit]:
    """Return a kit for spouts, in the directory of the test."""
    with Testkit(directory=tmp_path / "kit") as kit:
        yield kit
