"""What all tests share: one Spark session for the run, set as the runner sets its own, and how chance is drawn."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

from streamlets.testkit.fixtures import kit, spark

__all__ = ["kit", "spark"]

# Spark's workers import the tests' own functions by the names that pytest gives their modules.
REPOSITORY = str(Path(__file__).resolve().parent.parent)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (REPOSITORY, os.environ.get("PYTHONPATH"))))

# The gate draws the same examples each time, so that it says something about the change; at a desk they are new ones.
# How long an example takes says something about the machine only, which may be busy.
settings.register_profile("desk", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("gate", settings.get_profile("desk"), derandomize=True)
settings.load_profile("gate" if os.environ.get("CI") else "desk")
