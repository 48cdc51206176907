"""Reads the lineage of a case with the Spark of the tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.lineage.kinds import Kind
from streamlets.lineage.relations import PlanLineage
from streamlets.lineage.values import CONSTANT, Influence, Influences, Source, Value
from streamlets.spark.plan_json import PlanPart, plan_of
from streamlets.spark.plan_leaves import table_text
from tests.streamlets.lineage.cases import INLETS, Case

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Checker:
    """Builds the logic of cases on empty inlets.

    Arguments:
        session: its own session.
        directory: a directory for the empty inlets.
    """

    def __init__(self, session: SparkSession, directory: Path) -> None:
        self._session = session
        self._directory = directory
        self._streams = {name: self._inlet(name, streaming=True) for name in INLETS}
        self._batches = {name: self._inlet(name, streaming=False) for name in INLETS}

    def _inlet(self, name: str, *, streaming: bool) -> DataFrame:
        path = self._directory / name
        path.mkdir(parents=True, exist_ok=True)
        reader = self._session.readStream if streaming else self._session.read
        return reader.schema(INLETS[name]).parquet(str(path))

    def differences(self, case: Case) -> list[str]:
        """Return the differences between the lineage of a case and the known one."""
        result = PlanLineage(self._leaf).relation(plan_of(self.frame(case)))
        values = {column.name: column.value for column in result.columns}
        found = {name: _text(value.inputs) for name, value in values.items()}
        for path in case.nested:
            name, *fields = path.split(".")
            value = values[name]
            for field in fields:
                value = value.field(field)
            found[path] = _text(value.inputs)
        expected = {name: _sorted(text.split(", ")) for name, text in (dict(case.columns) | dict(case.nested)).items()}
        unknown = [*result.unknown, *(reason for value in values.values() for reason in value.unknown)]
        compared = [
            (f"column {name}", found.get(name), expected.get(name)) for name in dict.fromkeys([*found, *expected])
        ]
        compared += [("rows", _text(frozenset(result.rows)), _sorted(case.rows.split(", "))), ("unknown", unknown, [])]
        return [f"{what}: found {one}, expected {other}" for what, one, other in compared if one != other]

    def frame(self, case: Case) -> DataFrame:
        """Return the rows of a case."""
        inlets = self._batches if case.batch else self._streams
        if not isinstance(case.logic, str):
            return case.logic(inlets)
        for name, frame in inlets.items():
            frame.createOrReplaceTempView(name)
        return self._session.sql(case.logic)

    def _leaf(self, part: PlanPart, names: Sequence[str]) -> Sequence[Value]:
        text = str(part.fields.get("sourceName") or "") if part.name == "StreamingRelation" else table_text(part, str)
        inlet = next((inlet for inlet in INLETS if str(self._directory / inlet) in text), None)
        if inlet is None:
            return [CONSTANT] * len(names)
        source = Source(inlet=inlet)
        return [Value(frozenset({Influence(source, (name,), Kind.IDENTITY)}), nested=True) for name in names]


def _text(influences: Influences) -> list[str]:
    return _sorted(f"{each.kind.value} {each.source.inlet}.{'.'.join(each.path)}" for each in influences)


def _sorted(texts: Iterable[str]) -> list[str]:
    return sorted(filter(None, texts))
