"""`Proposal`: the Avro schema that fits a sample, and the doubts about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from streamlets.ingress.sources.sample import Sample
from streamlets.sampling.inference import NAME, Doubt, Inference, field_of, type_name


@dataclass(frozen=True, slots=True)
class Proposal:
    """A schema for a sample.

    Arguments:
        schema: the schema, as Avro in JSON.
        doubts: the doubts about it.
        sample: the sample.
    """

    schema: dict[str, Any]
    doubts: tuple[Doubt, ...]
    sample: Sample

    @property
    def text(self) -> str:
        """The schema as the text of a file."""
        return f"{json.dumps(self.schema, indent=2, ensure_ascii=False)}\n"

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The columns, and the type of each in Spark's DDL."""
        from blueprint.avro.sources.loading import parse_contract
        from blueprint.avro.spark_types import optional, spark_columns

        contract = parse_contract(json.dumps(self.schema))
        types = spark_columns(contract)
        nullable = {field.name: optional(field.schema, contract)[1] for field in contract.record.fields}
        return [(name, type if nullable[name] else f"{type} NOT NULL") for name, type in types.items()]


def propose(sample: Sample, name: str, *, nested: bool = True) -> Proposal:
    """Return the schema of a sample.

    Arguments:
        sample: the sample, which has a column.
        name: the name of the source, from which the record is named.
        nested: whether the source can fill columns of records, arrays and maps, and binary ones.
    """
    inference = Inference([Doubt(column, reason) for column, reason in sample.doubts])
    fields = []
    for column in sample.columns:
        if not NAME.fullmatch(column):
            reason = "it is omitted: a name in Avro has letters, digits and `_`"
            inference.doubt(column, reason)
            continue
        if column in sample.types:
            type: Any = sample.types[column]
        else:
            values = [row.values[column] for row in sample.rows if column in row.values]
            missing = len(sample.rows) - len(values)
            type = inference.column(column, values, texts=column in sample.texts, missing=missing)
        if type is None or (not nested and _is_nested(type)):
            inference.doubt(column, "it is omitted: the source cannot fill a column of its type")
            continue
        fields.append(field_of(column, type))
    schema = {"type": "record", "name": type_name(name), "fields": fields}
    return Proposal(schema, tuple(inference.doubts), sample)


def _is_nested(type: Any) -> bool:
    branches = [branch for branch in (type if isinstance(type, list) else [type]) if branch != "null"]
    if len(branches) > 1:
        return True
    (held,) = branches
    name = held["type"] if isinstance(held, dict) else held
    logical = held.get("logicalType") if isinstance(held, dict) else None
    return name in ("record", "array", "map") or (name == "bytes" and logical is None)
