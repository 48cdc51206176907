"""What all tests share: one Spark session for the whole run, set as the runner sets its own."""

from __future__ import annotations

import os
from pathlib import Path

from streamlets.testkit.fixtures import kit, spark

__all__ = ["kit", "spark"]

# Spark's workers import the tests' own functions by the names that pytest gives their modules.
REPOSITORY = str(Path(__file__).resolve().parent.parent)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (REPOSITORY, os.environ.get("PYTHONPATH"))))
