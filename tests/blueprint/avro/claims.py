"""Claims about any pair of schemas, shared by the tests and the benchmark."""

from __future__ import annotations

import io
import json
import re

import fastavro
from fastavro.schema import to_parsing_canonical_form

from blueprint.avro import Contract, Place, canonical_form, check, load_contract, parse_contract
from blueprint.avro.model import Array, Map, Record, Schema, Union
from blueprint.avro.resolution.changes import apply_edit
from blueprint.avro.resolution.planner import resolve_plan
from blueprint.diagnostics import Span
from tests.blueprint.avro.apache import ApacheReader, aliased, limits
from tests.blueprint.avro.executing import execute
from tests.blueprint.avro.oracles import FastReader, apache_compatible, both_parsed, divergence
from tests.blueprint.avro.schemas import Flat, Generator

HERE = Span("ports.py", 1, 1, 1, 2)


def contract_of(flat: Flat) -> Contract:
    """Return the contract of a generated schema."""
    loaded = load_contract(flat.nested(), base_directory="there-is-none", declared=HERE)
    assert loaded.contract is not None, [problem.headline for problem in loaded.problems]
    return loaded.contract


class Claims:
    """The claims about a random pair."""

    def __init__(self, generator: Generator) -> None:
        self.generator = generator
        self.flat_writer, self.flat_reader = generator.pair()
        self.writer, self.reader = contract_of(self.flat_writer), contract_of(self.flat_reader)
        self.divergence = divergence(self.flat_writer, self.flat_reader)

    @property
    def compatible(self) -> bool:
        """Return whether our checker finds the pair compatible."""
        return check(self.writer, self.reader, suggest=False).compatible

    @property
    def apache_limits(self) -> frozenset[str]:
        """Return what may keep Apache's decoder from reading records of the pair; see `apache.py`."""
        if self.compatible:
            return limits(resolve_plan(self.writer, self.reader), self.writer, self.reader)
        return frozenset({"field-alias"} if aliased(self.flat_writer, self.flat_reader) else ())

    def checkers_agree(self) -> None:
        """Apache's checker agrees with ours, unless a divergence is known."""
        if self.divergence is None:
            assert apache_compatible(self.flat_writer, self.flat_reader) == self.compatible, self._shown()

    def decoders_agree(self, readable: int = 20, tries: int = 400) -> None:
        """Records of a compatible pair decode, `readable` of them; one among `tries` of any other does not.

        Both libraries are checked; known divergences are excused for the library concerned.
        """
        fast = FastReader(self.flat_writer, self.flat_reader)
        decoders: dict[str, FastReader | ApacheReader] = {"fastavro": fast} if self.divergence is None else {}
        if not self.apache_limits:
            decoders["avro"] = ApacheReader(self.flat_writer, self.flat_reader)
        compatible = self.compatible
        for _ in range(readable if compatible else tries):
            if not decoders:
                return
            record = self.generator.value(self.flat_writer.root, self.flat_writer)
            data = fast.encoded(record)
            for name in [name for name, decoder in decoders.items() if not decoder.decodes(data)]:
                assert not compatible, (name, record, self._shown())
                del decoders[name]
        assert compatible or not decoders, (f"{sorted(decoders)} read all", self._shown())

    def paths_exist(self) -> None:
        """Return every reason's path and places exist."""
        for reason in check(self.writer, self.reader, suggest=False).reasons:
            if reason.path:
                assert _follow(reason.path, self.reader), (reason.path, self._shown())
            if reason.writer_place is not None:
                at(self.writer, reason.writer_place)
            if reason.reader_place is not None:
                at(self.reader, reason.reader_place)

    def changes_work(self) -> tuple[int, int]:
        """Return the number of errors and of those with a change; each change works, and so do all together."""
        errors = check(self.writer, self.reader).errors
        for reason in errors:
            for change in reason.changes:
                changed = apply_edit(change.edit, self.writer if change.side == "writer" else self.reader)
                pair = (changed, self.reader) if change.side == "writer" else (self.writer, changed)
                after = check(*pair, suggest=False)
                assert reason.key not in {error.key for error in after.errors}, (change, self._shown())
                assert len(after.errors) < len(errors), (change, self._shown())
                assert after.compatible or len(errors) > 1, (change, self._shown())
        self._mend()
        return len(errors), sum(bool(reason.changes) for reason in errors)

    def _mend(self) -> None:
        writer, reader = self.writer, self.reader
        while offered := [reason.changes[0] for reason in check(writer, reader).errors if reason.changes]:
            if offered[0].side == "writer":
                writer = apply_edit(offered[0].edit, writer)
            else:
                reader = apply_edit(offered[0].edit, reader)

    def plan_reads(self) -> None:
        """Return the plan gives what fastavro resolves."""
        if self.divergence or not self.compatible:
            return
        plan = resolve_plan(self.writer, self.reader)
        old, new = both_parsed(self.flat_writer, self.flat_reader)
        for _ in range(5):
            record = self.generator.value(self.flat_writer.root, self.flat_writer)
            coded = io.BytesIO()
            fastavro.schemaless_writer(coded, old, record)
            coded.seek(0)
            ours, theirs = execute(plan, record), fastavro.schemaless_reader(coded, old, new)
            assert _as_bytes(ours) == _as_bytes(theirs), (ours, theirs, self._shown())

    def json_is_whole(self) -> None:
        """Return the stored JSON parses to an equal contract; the canonical form is that of fastavro."""
        again = parse_contract(self.reader.json)
        assert again == self.reader
        assert again.json == self.reader.json
        theirs = to_parsing_canonical_form(self.flat_reader.nested())
        assert canonical_form(self.reader.record) == theirs

    def _shown(self) -> tuple[str, str]:
        return json.dumps(self.flat_writer.nested()), json.dumps(self.flat_reader.nested())


def _as_bytes(value: object) -> object:
    """Return strings as bytes: for a reader's [string, bytes], fastavro reads bytes as the first branch."""
    match value:
        case str():
            return value.encode()
        case list():
            return [_as_bytes(item) for item in value]
        case dict():
            return {key: _as_bytes(item) for key, item in value.items()}
    return value


def at(contract: Contract, place: Place) -> Schema:
    """Return the type at a place; fail if there is none."""
    record = contract.names[place.record]
    assert isinstance(record, Record)
    schema = next(field.schema for field in record.fields if field.name == place.field)
    for step in place.steps:
        match contract.resolve(schema), step:
            case Array() as array, "items":
                schema = array.items
            case Map() as values, "values":
                schema = values.values
            case Union() as union, int(number):
                schema = union.branches[number]
            case other:
                raise AssertionError(other)
    return schema


def _follow(path: str, reader: Contract) -> bool:
    """Return whether all steps of a path exist, through any branch of a reader's union."""
    heads: list[Schema] = [reader.record]
    for step in re.findall(r"\[\]|\{\}|[^.<>\[\]{}]+", re.sub(r"<[^>]*>", "", path)):
        heads = [inner for head in _opened(heads, reader) for inner in _step(step, head)]
    return bool(heads)


def _opened(heads: list[Schema], reader: Contract) -> list[Schema]:
    schemas: list[Schema] = []
    for head in heads:
        held = reader.resolve(head)
        schemas += [reader.resolve(branch) for branch in held.branches] if isinstance(held, Union) else [held]
    return schemas


def _step(step: str, head: Schema) -> list[Schema]:
    match head, step:
        case Array(), "[]":
            return [head.items]
        case Map(), "{}":
            return [head.values]
        case Record(), name:
            return [field.schema for field in head.fields if field.name == name]
    return []
