"""What determines the content of a query's state, from its analyzed plan.

Every expression is followed through renamed and computed columns to the sources, so that it does not matter how the
author has spread it over several steps. Columns that nothing uses are omitted, as the optimizer omits them from
state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from blueprint.comparison.descriptor import DescribedLogic
from blueprint.comparison.meaning import TIME_ZONE
from blueprint.settings.secret_sources import streamlet_secrets
from streamlets.spark.expression_terms import Surroundings
from streamlets.spark.plan_json import part_of, plan_of
from streamlets.spark.plan_reader import PlanReader
from streamlets.spark.python_functions import code_digests
from streamlets.spark.session_meaning import meaning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from blueprint.plan import StreamletPlan

FORM = 1
"""The form of the texts. A change of the normal form, after which equal logic has another text, makes it a new one."""


def query_logic(
    frame: DataFrame,
    mode: str,
    inlets: Iterable[tuple[str, ...]] = (),
    mask: Callable[[str], str] = str,
    inlet_sources: Collection[str] | None = None,
) -> DescribedLogic:
    """Return the logic that determines the content of the state of a query.

    Arguments:
        frame: the rows that it writes.
        mode: its output mode.
        inlets: the columns of each inlet. Above Kafka's messages, the first rows with the columns of an inlet are its
            records.
        mask: returns a text without secrets.
        inlet_sources: the names of the sources that are inlets, whose topics the blueprint determines; None for all.
    """
    plan = plan_of(frame)
    zone = str(frame.sparkSession.conf.get(TIME_ZONE))
    tries = "try_" in plan.node.treeString()
    around = Surroundings(code_digests(plan), zone, mask, tries, lambda node: _subquery(node, around, inlet_sources))
    reader = PlanReader(inlets, around, inlet_sources)
    results = [f"result {name} = {term.text}" for name, term in reader.read(plan)]
    rules = (f"output mode {mode}", *sorted(reader.rules), *results)
    return DescribedLogic(tuple(reader.operators), rules, meaning(frame.sparkSession), FORM)


def logic_of(
    frame: DataFrame, mode: str, streamlet: StreamletPlan, inlet_sources: Collection[str] | None = None
) -> DescribedLogic:
    """Return the logic that determines the content of the state of a streamlet's query; see `query_logic`."""
    inlets = (tuple(field.name for field in inlet.contract.record.fields) for inlet in streamlet.inlets)
    return query_logic(frame, mode, inlets, streamlet_secrets(streamlet).masked, inlet_sources)


def _subquery(node: Any, around: Surroundings, inlet_sources: Collection[str] | None) -> str:
    """Return the logic of a plan inside of an expression, which is a node in Java."""
    plan = part_of(node)
    reader = PlanReader((), replace(around, code=code_digests(plan)), inlet_sources)
    results = [term.text for _, term in reader.read(plan)]
    operators = [f"{operator.name} {role} {text}" for operator in reader.operators for role, text in operator.parts]
    return "; ".join([", ".join(results), *operators, *sorted(reader.rules)])
