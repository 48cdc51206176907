"""The conditions under which records return into a cycle, as Spark judges them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from blueprint.diagnostics import Diagnostic, Label
from blueprint.plan import StreamletPlan
from blueprint.sql.conditions import condition_faults
from streamlets.contract.types import spark_schema
from streamlets.plans.build_errors import build_error_finding
from streamlets.plans.places import Places

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def condition_findings(plan: StreamletPlan, session: SparkSession, places: Places) -> Iterator[Diagnostic]:
    """Yield a finding for each condition that Spark refuses, unless verification without Spark has found the mistake.

    Arguments:
        plan: the streamlet.
        session: its session.
        places: the locations in the project.
    """
    from pyspark.errors import PySparkException

    for outlet in plan.outlets:
        condition = outlet.returns
        if condition is None or condition_faults(condition.records, outlet.contract):
            continue
        try:
            session.createDataFrame([], spark_schema(outlet.contract)).where(condition.records)
        except PySparkException as error:
            found = build_error_finding(error, places)
            place = Label(condition.place.span) if condition.place is not None else found.primary
            headline = f"`records` of `allow-cycles.{plan.ref}` is refused by Spark: {found.headline}"
            yield replace(found, code="cycle-records", headline=headline, primary=place)
            return
