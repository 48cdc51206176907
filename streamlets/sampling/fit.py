"""`flow verify --sample`: the schemas of sources, compared with samples of their data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from blueprint.avro.model import Contract, Field
from blueprint.avro.spark_types import optional, spark_columns
from blueprint.catalog import FilledOutlet
from blueprint.diagnostics import Severity
from blueprint.logic import Buildable, BuildableApplication, SampleProblem
from blueprint.settings.options import typed_options
from blueprint.spelling import did_you_mean, listing
from blueprint.wording import counted
from streamlets.contract.values import RecordError, Values
from streamlets.ingress.batch_sources.context import SourceContext
from streamlets.ingress.batch_sources.read_items import BrokenRecord, ContractBatch
from streamlets.ingress.sources.base import OpenSource
from streamlets.ingress.sources.registry import SOURCES
from streamlets.ingress.sources.sample import Sample, SampleError
from streamlets.sampling.proposal import propose

ROWS = 1000
"""The number of records of a sample."""

_TASKS = 4
_COLUMN = re.compile(r": `([A-Za-z_]\w*)[^`]*`: ")


def check_samples(application: BuildableApplication) -> Iterator[SampleProblem]:
    """Yield what does not fit between the schemas of sources and samples of their data.

    Arguments:
        application: the streamlets; those that no source fills are ignored.
    """
    for streamlet in application.streamlets:
        for filled in streamlet.plan.descriptor.external.fills:
            yield from _Fit(streamlet, filled).problems()


@dataclass(slots=True)
class _Fit:
    """The comparison of one source with its schema."""

    streamlet: Buildable
    filled: FilledOutlet

    @property
    def _contract(self) -> Contract:
        return next(o.contract for o in self.streamlet.plan.outlets if o.name == self.filled.outlet)

    @property
    def _options(self) -> dict[str, Any]:
        return typed_options(self.filled.source, self.filled.options, Path(self.streamlet.plan.directory))

    @property
    def _context(self) -> SourceContext:
        plan = self.streamlet.plan
        mounts = {name: Path(path) for name, path in plan.volume_mounts.items()}
        return SourceContext(streamlet=plan.ref, directory=Path(plan.directory), volume_mounts=mounts)

    def problems(self) -> Iterator[SampleProblem]:
        """Yield the problems."""
        source, sample = SOURCES[self.filled.source.name], None
        try:
            sample = source.sample(self._options, self._context, ROWS)
        except (SampleError, OSError, ValueError) as error:
            if type(source).sample.__qualname__ != "SourceType.sample":  # others have no samples, but can be read
                help = ("the schema was not compared with the data: run `flow verify --sample` when it is there",)
                yield self._problem("sample-unreadable", f"cannot be sampled: {error}", help=help)
                return
        missing = list(self._missing(sample)) if sample is not None else []
        yield from missing
        if sample is not None:
            yield from self._unread(sample, missing)
        if not missing:
            yield from self._values(sample)

    def _missing(self, sample: Sample) -> Iterator[SampleProblem]:
        """Yield the fields that no record of the sample has, and that cannot be null for that reason."""
        columns, options = sample.columns, self._options
        if not columns:
            return
        named = (option.name for option in self.filled.source.options if option.columns and option.name in options)
        given = {str(options[name]) for name in named}
        table = bool(sample.names or sample.types)  # every record has the same columns
        for field in self._contract.record.fields:
            if field.name in columns or field.name in given or (field.has_default and field.default is not None):
                continue
            is_null = options.get("missing-columns", "fail" if table else "null") == "null"
            if is_null and optional(field.schema, self._contract)[1]:
                continue
            others = [column for column in columns if column not in {f.name for f in self._contract.record.fields}]
            help = did_you_mean(field.name, others) or (f"the columns are {listing(columns)}",)
            message = f"the data has no column `{field.name}`"
            yield self._problem("sample-column-missing", message, field, (f"in {sample.size}",), help)

    def _unread(self, sample: Sample, missing: Sequence[SampleProblem]) -> Iterator[SampleProblem]:
        """Yield the columns of the sample that the schema does not have, unless one of these problems names it."""
        fields = {field.name for field in self._contract.record.fields}
        named = " ".join(help for problem in missing for help in problem.help if help.startswith("did you mean"))
        unread = [column for column in sample.columns if column not in fields and f"`{column}`" not in named]
        if unread and not self.filled.source.one_string:
            types = dict(propose(sample, self.streamlet.plan.ref).columns)
            added = ", ".join(f"{name} {types[name].removesuffix(' NOT NULL')}" for name in unread if name in types)
            help = (f"to read them, add to the schema: {added}",) if added else ()
            noun = "column" if len(unread) == 1 else "columns"
            message = f"the schema does not have the {noun} {listing(unread)} of the data"
            yield self._problem("sample-column-unread", message, causes=(f"in {sample.size}",), help=help)

    def _values(self, sample: Sample | None) -> Iterator[SampleProblem]:
        """Yield the columns whose values do not fit, as the source reads a few of its tasks."""
        broken: dict[str, list[str]] = {}
        total = 0
        try:
            for item in self._items():
                total += 1 if isinstance(item, str) else item
                if isinstance(item, str):
                    match = _COLUMN.search(item)
                    broken.setdefault(match[1] if match else "", []).append(item)
        except Exception as error:  # noqa: BLE001 - sources of other packages raise any
            message = f"cannot be read: {error}"
            help = ("in a run, its task fails, and becomes a dead letter",)
            yield self._problem("sample-unreadable", message, help=help, severity=Severity.ERROR)
            return
        fields = {field.name: field for field in self._contract.record.fields}
        types = spark_columns(self._contract)
        proposed = dict(propose(sample, self.streamlet.plan.ref).columns) if sample is not None else {}
        for column, reasons in broken.items():
            field = fields.get(column)
            count = f"{len(reasons)} of {counted(total, 'record')} of the sample"
            if field is None:
                message = f"{count} cannot be read as records"
            else:
                message = f"{count} do not fit the column `{column}`, whose type is {types[column]}"
            fitting = proposed.get(column, "").removesuffix(" NOT NULL")
            advice = (
                [f"every value of the sample fits {proposed[column]}"] if fitting not in ("", types[column]) else []
            )
            if field is not None and fitting == types[column] and not proposed[column].endswith("NOT NULL"):
                advice.append("let the column be null: remove `NOT NULL`, or add `null` to its type")
            advice.append("in a run, such records are dead letters")
            severity = Severity.ERROR if len(reasons) == total else None
            yield self._problem("sample-value", message, field, reasons[:1], advice, severity)

    def _items(self) -> Iterator[int | str]:
        """Yield the number of records that were read, and the reason of each that cannot be."""
        source = SOURCES[self.filled.source.name]
        discovering = source.open(self._options, replace(self._context, contract=self._contract, discovers=True))
        try:
            tasks = list(discovering.sampled_tasks(_TASKS))
        finally:
            discovering.close()
        reading = source.open(self._options, replace(self._context, contract=self._contract))
        try:
            for task in tasks:
                yield from _read(reading, task, self._contract)
        finally:
            reading.close()

    def _problem(
        self, code: str, message: str, field: Field | None = None, causes: Any = (), help: Any = (),
        severity: Severity | None = None,
    ) -> SampleProblem:  # fmt: skip
        place = field.span if field is not None else None
        headline = f"`{self.streamlet.plan.ref}`: {message}"
        return SampleProblem(code, self.streamlet.plan.ref, headline, place, tuple(causes), tuple(help), severity)


def _read(source: OpenSource, task: Any, contract: Contract) -> Iterator[int | str]:
    """Yield the number of records of each piece of a task up to `ROWS`, and the reason of each broken record."""
    number = 0
    for item in source.read(task):
        read: int | str = 1
        if isinstance(item, BrokenRecord):
            read = item.reason
        elif isinstance(item, ContractBatch):
            read = item.records.num_rows
        else:
            try:
                Values(contract).record(item, contract.record)
            except RecordError as error:
                read = f"record {number + 1}: {error}"
        yield read
        number += read if isinstance(read, int) else 1
        if number >= ROWS:
            return
