"""The lineage of a streamlet whose logic was built on empty streams."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.settings.secret_sources import streamlet_secrets
from streamlets.lineage.expression_places import ExpressionPlaces
from streamlets.lineage.kinds import Kind
from streamlets.lineage.model import ColumnLineage, ColumnPath, OutputLineage, StreamletLineage
from streamlets.lineage.relations import PlanLineage, Relation
from streamlets.lineage.values import CONSTANT, Influence, Source, Value
from streamlets.plans.built_streamlet import BuiltStreamlet
from streamlets.plans.empty_ports import BRANCHES
from streamlets.spark.plan_json import PlanPart, plan_of
from streamlets.spark.plan_leaves import source_text, table_text
from streamlets.spark.stream_writer import rows_of

if TYPE_CHECKING:
    from blueprint.avro.model import Contract
    from blueprint.plan import StreamletPlan
    from streamlets.plans.queries import CheckedQuery

_CONSTANT_LEAVES = frozenset({"LocalRelation", "OneRowRelation", "Range"})


def lineage_of(built: BuiltStreamlet) -> StreamletLineage:
    """Return the lineage of the outputs of a streamlet.

    Arguments:
        built: the streamlet, in its session.
    """
    return _Reader(built).read()


class _Reader:
    def __init__(self, built: BuiltStreamlet) -> None:
        self._built = built
        self._mask = streamlet_secrets(built.plan).masked
        self._here = f"{Path.cwd()}{os.sep}"

    def read(self) -> StreamletLineage:
        """Return the lineage; a query that cannot be read has a reason instead."""
        outputs: list[OutputLineage] = []
        for query in self._built.queries:
            try:
                outputs += self._outputs(query)
            except Exception as error:  # noqa: BLE001 - the classes of another version of Spark; the others are read
                reason = f"the plan of {query.description} cannot be read ({type(error).__name__})"
                outputs += [OutputLineage(query.name, outlet, unknown=(reason,)) for outlet in self._outlets(query)]
        return StreamletLineage(tuple(outputs))

    def _shown(self, text: str) -> str:
        """Return a text without secrets, with paths relative to the working directory."""
        return self._mask(text).replace(self._here, "")

    def _outlets(self, query: CheckedQuery) -> Sequence[str]:
        return tuple(self._built.frames.get(query.name, ())) or ("",)

    def _outputs(self, query: CheckedQuery) -> list[OutputLineage]:
        rows = rows_of(query.writer)
        frames = self._built.frames.get(query.name, {})
        result = self._relation(rows)
        if query.own_sink or not frames:
            return [self._output(query, result, self._places(rows), sink=self._shown(_sink(query, self._built.plan)))]
        contracts = {outlet.name: outlet.contract for outlet in self._built.plan.outlets}
        outputs = []
        for outlet, frame in frames.items():
            own = result if frame is rows else self._relation(frame, result)
            output = self._output(query, own, self._places(frame), outlet)
            outputs.append(_in_contract(output, contracts[outlet]))
        return outputs

    def _relation(self, frame: Any, base: Relation | None = None) -> Relation:
        """Return the result of a frame.

        Arguments:
            base: the result of the query, if the frame is a branch of it that begins with its rows.
        """
        used = False

        def leaf(part: PlanPart, names: Sequence[str]) -> Sequence[Value]:
            nonlocal used
            if base is not None and self._is_branch(part):
                used = True
                by_name = {column.name: column.value for column in base.columns}
                return [by_name.get(name, CONSTANT) for name in names]
            return self._source(part, names)

        result = PlanLineage(leaf).relation(plan_of(frame))
        if base is None or not used:
            return result
        rows = {**result.rows, **base.rows}
        return replace(result, rows=rows, unknown=result.unknown | base.unknown)

    def _is_branch(self, part: PlanPart) -> bool:
        return part.name == "LogicalRelation" and self._built.directory_of(BRANCHES) in table_text(part, str)

    def _source(self, part: PlanPart, names: Sequence[str]) -> Sequence[Value]:
        """Return the columns of a source."""
        if part.name in _CONSTANT_LEAVES:
            return [CONSTANT] * len(names)
        source = self._inlet(part) or Source(external=self._shown(self._external(part)))
        return [Value(frozenset({Influence(source, (name,), Kind.IDENTITY)}), nested=True) for name in names]

    def _inlet(self, part: PlanPart) -> Source | None:
        text = str(part.fields.get("sourceName") or "")
        for inlet in self._built.plan.inlets:
            if text.endswith(f"[{self._built.directory_of(inlet.name)}]"):
                return Source(inlet=inlet.name)
        return None

    def _external(self, part: PlanPart) -> str:
        if part.name.startswith("StreamingRelation"):
            return source_text(part, self._mask)
        if part.name in ("LogicalRDD", "ExternalRDD"):
            return "rows that the logic creates"
        return table_text(part, self._mask)

    def _output(
        self, query: CheckedQuery, result: Relation, places: ExpressionPlaces, outlet: str = "", sink: str = ""
    ) -> OutputLineage:
        whole = self._built.in_file(query.place.span) if query.place is not None else None
        columns: dict[ColumnPath, ColumnLineage] = {}
        for column in result.columns:
            place = places.of(column) or whole
            for path, value in column.value.paths((column.name,)):
                columns[path] = ColumnLineage(value.inputs, place, tuple(sorted(value.unknown)))
        found = {influence: places.of_decision(decision) for influence, decision in result.rows.items()}
        return OutputLineage(
            query.name, outlet, sink, columns, frozenset(result.rows), whole, tuple(sorted(result.unknown)),
            {influence: place for influence, place in found.items() if place is not None},
        )  # fmt: skip

    def _places(self, frame: Any) -> ExpressionPlaces:
        return ExpressionPlaces(frame, self._built.places, self._built.statements, self._built.in_file)


def _sink(query: CheckedQuery, plan: StreamletPlan) -> str:
    """Return a sink in words."""
    format, options = query.facts.format, query.facts.options
    if plan.class_name == "streamlets.Sink":
        chosen = plan.parameters.get("options")
        format = str(plan.parameters.get("to"))
        options = {str(name): str(value) for name, value in chosen.items()} if isinstance(chosen, dict) else {}
    elif not format:
        return "a function of batches" if query.facts.batches else "a function of rows"
    path = options.get("path") or options.get("topic") or options.get("table") or ""
    return " ".join(filter(None, (format, path)))


def _in_contract(output: OutputLineage, contract: Contract) -> OutputLineage:
    """Return the lineage of the columns that an outlet has: further columns of the rows are dropped."""
    names = {field.name.lower(): field.name for field in contract.record.fields}
    columns: dict[ColumnPath, ColumnLineage] = {}
    for path, column in output.columns.items():
        if path[0].lower() in names:
            columns[(names[path[0].lower()], *path[1:])] = column
    missing: Mapping[ColumnPath, ColumnLineage] = {
        (name,): ColumnLineage(place=output.place, written=False) for name in names.values() if (name,) not in columns
    }
    return replace(output, columns=columns | dict(missing))
