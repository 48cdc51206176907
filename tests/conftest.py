"""What all tests share: one Spark session for the whole run, set as the runner sets its own."""

from __future__ import annotations

from streamlets.testkit.fixtures import kit, spark

__all__ = ["kit", "spark"]
