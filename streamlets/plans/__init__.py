"""Checks the logic of streamlets: it is built on empty streams in one Spark session; nothing starts or writes."""

from __future__ import annotations

from streamlets.plans.logic_checker import LogicChecker
from streamlets.plans.temporary_session import check_logic

__all__ = ["LogicChecker", "check_logic"]
