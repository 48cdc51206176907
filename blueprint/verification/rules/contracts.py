"""Rules about contracts: each reader can read every record that a writer of its topic may write."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from blueprint.avro.model import Array, Contract, Map, Primitive, Record, Schema, Union, type_text
from blueprint.avro.resolution.checking import check
from blueprint.avro.resolution.reasons import Reason
from blueprint.catalog import PortDescriptor
from blueprint.diagnostics import Diagnostic, Label, Span, finding
from blueprint.model.draft import Draft
from blueprint.model.wiring import Binding
from blueprint.spelling import did_you_mean, listing
from blueprint.wording import counted

_COLUMN = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Pair:
    """A writer and a reader of a topic whose contracts are known."""

    writer: Binding
    reader: Binding
    written: PortDescriptor
    read: PortDescriptor
    writer_contract: Contract
    reader_contract: Contract


@dataclass(frozen=True, slots=True)
class AlikePairs:
    """Pairs on one topic with the same declaration of the writer and the same declaration of the reader.

    Arguments:
        first: of the pairs.
        writers: the connections of the outlets.
        readers: the connections of the inlets.
    """

    first: Pair
    writers: Sequence[Binding]
    readers: Sequence[Binding]

    @property
    def count(self) -> int:
        """The number of the pairs."""
        return len(self.writers) * len(self.readers)


def alike_pairs(draft: Draft) -> Iterator[AlikePairs]:
    """Yield all pairs of writers and readers of each topic, in time proportional to the ports, not to the pairs.

    Ports on several topics are skipped, because it is not known which topic is meant.
    """
    sides: dict[str, tuple[_Side, _Side]] = defaultdict(lambda: ({}, {}))
    topic_counts = Counter(binding.key for binding in draft.wiring.bindings)
    for binding in draft.wiring.bindings:
        port = binding.port
        if port is not None and port.contract is not None and topic_counts[binding.key] == 1:
            side = sides[binding.topic][binding.key.role == "consumer"]
            _, bindings = side.setdefault((port.declared, port.contract.fingerprint), (port, []))
            bindings.append(binding)
    for writers, readers in sides.values():
        for written, writing in writers.values():
            for read, reading in readers.values():
                assert written.contract is not None and read.contract is not None
                pair = Pair(writing[0], reading[0], written, read, written.contract, read.contract)
                yield AlikePairs(pair, writing, reading)


_Side = dict[tuple[Span, str], tuple[PortDescriptor, list[Binding]]]


def contracts(draft: Draft) -> Iterator[Diagnostic]:
    """Each reader can read each writer's records, by Avro schema resolution.

    Pairs with the same two schemas that share the declaration of the writer, or of the reader, are reported once.
    """
    groups: list[list[AlikePairs]] = []
    group_at: dict[object, list[AlikePairs]] = {}
    for alike in alike_pairs(draft):
        pair = alike.first
        if pair.writer_contract == pair.reader_contract:
            continue
        schemas = pair.writer_contract.json, pair.reader_contract.json
        places = ("writer", pair.written.declared, schemas), ("reader", pair.read.declared, schemas)
        group = next((group_at[place] for place in places if place in group_at), None)
        if group is None:
            group = []
            groups.append(group)
        group.append(alike)
        group_at |= dict.fromkeys(places, group)
    for group in groups:
        resolution = check(group[0].first.writer_contract, group[0].first.reader_contract)
        if resolution.errors:
            yield _finding(draft, "contract-incompatible", group, resolution.errors)
        else:
            for reason in resolution.reasons:
                yield _finding(draft, "contract-risk", group, (reason,))


def _finding(draft: Draft, code: str, group: Sequence[AlikePairs], reasons: tuple[Reason, ...]) -> Diagnostic:
    pair, count = group[0].first, sum(alike.count for alike in group)
    connections = [binding for alike in group for binding in (*alike.readers, *alike.writers)]
    reader, writer = pair.reader.key.path, pair.writer.key.path
    verb = "cannot read" if code == "contract-incompatible" else "may misinterpret"
    topic = pair.reader.topic
    causes = [f"`{reason.path}`: {reason.message}" if reason.path else reason.message for reason in reasons]
    if count > 1:
        causes.append(f"the same is true for {counted(count - 1, 'further pair')} of a writer and a reader")
    return finding(
        code,
        f"`{reader}` {verb} what `{writer}` writes to `{topic}`{_where(reasons)}",
        pair.reader.path.span,
        label="read here",
        also=_places(draft, pair, reasons),
        causes=causes,
        help=_help(pair, reasons),
        streamlets=(binding.key.streamlet for binding in connections),
        topics=(binding.topic for binding in connections),
    )


_UNRELATED = 3
"""From this number of reasons on, records with different names are unrelated, not versions of the same record."""


def _help(pair: Pair, reasons: tuple[Reason, ...]) -> tuple[str, ...]:
    root = next((reason for reason in reasons if not reason.path), None)
    if root is not None and len(reasons) >= _UNRELATED and root.writer_name and root.reader_name:
        reads, writes = f"`{pair.reader.key.path}` reads", f"`{pair.writer.key.path}` writes"
        names = f"{reads} `{root.reader_name}`, but {writes} `{root.writer_name}`"
        return (f"{names}: check which topic and which schema are meant",)
    return tuple(dict.fromkeys(change.text for reason in reasons for change in reason.changes))


def _where(reasons: tuple[Reason, ...]) -> str:
    paths = [reason.path for reason in reasons]
    if not paths[0]:
        return ""
    if len(paths) == 1:
        return f": field `{paths[0]}`"
    return f": field `{paths[0]}` and {counted(len(paths) - 1, 'other')}"


def _places(draft: Draft, pair: Pair, reasons: tuple[Reason, ...]) -> Iterator[Label]:
    """Yield labels for the wiring, the two declarations, then the fields in the schemas; each place once."""
    yield Label(pair.writer.path.span, "written here")
    writer, reader = pair.writer.key, pair.reader.key
    yield from draft.declared(writer.streamlet, pair.written.declared, f"the outlet `{writer.port}` is declared here")
    yield from draft.declared(reader.streamlet, pair.read.declared, f"the inlet `{reader.port}` is declared here")
    labelled = {pair.written.declared, pair.read.declared}
    for reason in reasons:
        sides = (("the writer has", reason.writer_type, reason.writer_span),
                 ("the reader expects", reason.reader_type, reason.reader_span))  # fmt: skip
        for subject, type, span in sides:
            if span is not None and span not in labelled:
                labelled.add(span)
                yield Label(span, f"{subject} `{type}`" if type else f"{subject} no field `{reason.path}`")


def partition_columns(draft: Draft) -> Iterator[Diagnostic]:
    """The partition columns of an outlet are fields of its records with single values, each named once.

    Expressions are checked by Spark. A Delta table cannot be partitioned by arrays, maps or records.
    """
    instances: dict[object, tuple[PortDescriptor, list[str]]] = {}
    for ref, descriptor in draft.descriptors():
        for outlet in descriptor.outlets:
            instances.setdefault((outlet.declared, outlet.partition_by), (outlet, []))[1].append(ref)
    for outlet, refs in instances.values():
        if outlet.contract is not None:
            # Spark does not distinguish upper and lower case.
            fields = {field.name.lower(): field.schema for field in outlet.contract.record.fields}
            names = [field.name for field in outlet.contract.record.fields]
            seen: set[str] = set()
            help: tuple[str, ...]
            for column in filter(_COLUMN.fullmatch, outlet.partition_by):
                schema = fields.get(column.lower())
                if column.lower() in seen:
                    fault, help = f"by `{column}` twice", ("name it once",)
                elif schema is None:
                    fault = f"by `{column}`, which its records do not have"
                    help = did_you_mean(column, names) or (f"its fields are {listing(names)}",)
                elif _is_nested(outlet.contract, schema):
                    fault = f"by `{column}`, which is not a single value but `{type_text(schema)}`"
                    help = ("partition by fields with single values",)
                else:
                    seen.add(column.lower())
                    continue
                seen.add(column.lower())
                headline = f"the outlet `{outlet.name}` is partitioned {fault}"
                yield finding("partition-column", headline, outlet.declared, help=help, streamlets=refs)


def _is_nested(contract: Contract, schema: Schema) -> bool:
    resolved = contract.resolve(schema)
    branches = resolved.branches if isinstance(resolved, Union) else (resolved,)
    values = [branch for branch in map(contract.resolve, branches) if branch != Primitive("null")]
    return len(values) > 1 or any(isinstance(branch, Array | Map | Record) for branch in values)
