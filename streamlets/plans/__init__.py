"""Checks the logic of streamlets: it is built on empty streams in one Spark session; nothing is started or written."""

from __future__ import annotations

from streamlets.plans.check import check_logic
from streamlets.plans.checker import LogicChecker

__all__ = ["LogicChecker", "check_logic"]
