"""Streamlets as jobs of OpenLineage: datasets, schemas, and the lineage of columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import DatasetFacet, column_lineage_dataset, schema_dataset

from blueprint.avro.model import Contract, Record, type_text
from blueprint.plan import ApplicationPlan, OutletPlan, StreamletPlan
from streamlets.lineage.application import ApplicationLineage, record_in
from streamlets.lineage.model import OutputLineage
from streamlets.lineage.openlineage.datasets import DatasetName, described_dataset, topic_dataset
from streamlets.lineage.values import Influence, Influences

_DEEPEST = 8
"""The depth to which nested fields are described; contracts may be recursive."""


class Jobs:
    """The datasets of the streamlets of an application.

    Arguments:
        plan: the application.
        topics: the directory of the topics on the channel `delta`.
    """

    def __init__(self, plan: ApplicationPlan, topics: Path) -> None:
        self._plan = plan
        self._topics = topics
        self.lineage: ApplicationLineage | None = None

    def inputs(self, streamlet: StreamletPlan) -> list[InputDataset]:
        """Return the datasets that a streamlet reads; those outside of the application once its plan is known."""
        names = {self._of_topic(inlet.topic): inlet.contract for inlet in streamlet.inlets}
        known = [_input(name, contract) for name, contract in names.items()]
        external = {name for output in self._outputs(streamlet) for name in self._external(output)}
        return known + [InputDataset(name.namespace, name.name) for name in sorted(external)]

    def outputs(self, streamlet: StreamletPlan) -> list[OutputDataset]:
        """Return the datasets that a streamlet writes, with the lineage of their columns once its plan is known."""
        written = [self._of_outlet(streamlet, outlet) for outlet in streamlet.outlets]
        for output in self._outputs(streamlet):
            name = described_dataset(output.sink, Path.cwd()) if output.sink else None
            if name is not None:
                facets = self._columns(streamlet, (output,))
                written.append(OutputDataset(name.namespace, name.name, facets=facets))
        return written

    def _of_outlet(self, streamlet: StreamletPlan, outlet: OutletPlan) -> OutputDataset:
        name = self._of_topic(outlet.topic)
        outputs = tuple(output for output in self._outputs(streamlet) if output.outlet == outlet.name)
        facets = _schema(outlet.contract) | self._columns(streamlet, outputs)
        return OutputDataset(name.namespace, name.name, facets=facets)

    def _outputs(self, streamlet: StreamletPlan) -> tuple[OutputLineage, ...]:
        known = self.lineage.streamlets.get(streamlet.ref) if self.lineage is not None else None
        return known.outputs if known is not None else ()

    def _external(self, output: OutputLineage) -> Iterator[DatasetName]:
        for influence in output.rows.union(*(column.inputs for column in output.columns.values())):
            if not influence.source.inlet:
                name = described_dataset(influence.source.external, Path.cwd())
                if name is not None:
                    yield name

    def _columns(self, streamlet: StreamletPlan, outputs: Iterable[OutputLineage]) -> dict[str, DatasetFacet]:
        """Return the facet of the columns of an output; none if something of it is not known."""
        fields: dict[str, list[column_lineage_dataset.InputField]] = {}
        rows: list[column_lineage_dataset.InputField] = []
        for output in outputs:
            if output.unknown or any(column.unknown for column in output.columns.values()):
                return {}
            for path, column in output.columns.items():
                fields.setdefault(".".join(path), []).extend(self._fields(streamlet, column.inputs))
            rows += self._fields(streamlet, output.rows)
        if not fields:
            return {}
        facet = column_lineage_dataset.ColumnLineageDatasetFacet(
            {name: column_lineage_dataset.Fields(inputs) for name, inputs in fields.items()}, rows
        )
        return {"columnLineage": facet}

    def _fields(self, streamlet: StreamletPlan, influences: Influences) -> Iterator[column_lineage_dataset.InputField]:
        """Yield the columns of datasets, each with the kinds of the dependencies on it."""
        kinds: dict[tuple[DatasetName, str], list[Influence]] = {}
        for influence in sorted(influences, key=lambda each: each.order):
            named = self._named(streamlet, influence)
            if named is not None:
                kinds.setdefault(named, []).append(influence)
        for (name, field), own in kinds.items():
            transformations = [
                column_lineage_dataset.Transformation(each.kind.type, each.kind.subtype, masking=each.masking)
                for each in own
            ]
            yield column_lineage_dataset.InputField(name.namespace, name.name, field, transformations)

    def _named(self, streamlet: StreamletPlan, influence: Influence) -> tuple[DatasetName, str] | None:
        inlet = next((own for own in streamlet.inlets if own.name == influence.source.inlet), None)
        if inlet is None:
            name = described_dataset(influence.source.external, Path.cwd())
            return (name, ".".join(influence.path)) if name is not None else None
        assert self.lineage is not None
        path = self.lineage.path_in_topic(inlet, influence.path)
        return (self._of_topic(inlet.topic), ".".join(path)) if path is not None else None

    def _of_topic(self, id: str) -> DatasetName:
        return topic_dataset(self._plan.topic(id), self._topics)


def _input(name: DatasetName, contract: Contract) -> InputDataset:
    return InputDataset(name.namespace, name.name, facets=_schema(contract))


def _schema(contract: Contract) -> dict[str, DatasetFacet]:
    return {"schema": schema_dataset.SchemaDatasetFacet(_described(contract, contract.record, _DEEPEST))}


def _described(contract: Contract, record: Record | None, depth: int) -> list[schema_dataset.SchemaDatasetFacetFields]:
    if record is None or depth == 0:
        return []
    return [
        schema_dataset.SchemaDatasetFacetFields(
            field.name, type_text(field.schema), field.doc or None,
            fields=_described(contract, record_in(contract, field.schema), depth - 1),
        )
        for field in record.fields
    ]  # fmt: skip
