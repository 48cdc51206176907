"""Avro records as Spark columns, decoded in Java by spark-avro."""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from blueprint.avro.model import Array, Contract, Map, Primitive, Record, Schema, Union
from blueprint.avro.resolution.planner import IncompatibleError, resolve_plan
from blueprint.avro.spark_types import leaf_name, member, optional
from streamlets.channels.unreadable import UnreadableRecordsError

if TYPE_CHECKING:
    from pyspark.sql import Column

_LOGICAL = (
    "decimal",
    "date",
    "timestamp-millis",
    "timestamp-micros",
    "local-timestamp-millis",
    "local-timestamp-micros",
)
"""The logical types that spark-avro converts to the same columns as Streamlets."""

_END = bytes.fromhex("e1d05c7f92b84a3d8f6627c4150baf9e")
"""What follows a message when it is decoded. No part of it is both its beginning and its end, so that further bytes
after a record never make it an end."""

_TIMES = {
    "date": ("0001-01-01", "9999-12-31"),
    "timestamp-millis": ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"),
    "timestamp-micros": ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"),
    "local-timestamp-millis": ("0001-01-01T00:00:00", "9999-12-31T23:59:59.999999"),
    "local-timestamp-micros": ("0001-01-01T00:00:00", "9999-12-31T23:59:59.999999"),
}


def require_readable(topic: str, writer: Contract, reader: Contract) -> None:
    """Raise an error if a reader's schema cannot read a writer's records.

    Raises:
        UnreadableRecordsError: it cannot; with the reason.
    """
    try:
        resolve_plan(writer, reader)
    except IncompatibleError as error:
        raise UnreadableRecordsError(
            writer.fingerprint,
            str(error),
            f"the topic `{topic}` has records written with the schema {writer.fingerprint}, which the schema "
            f"`{reader.record.name}` cannot read: {error}",
        ) from error


def avro_record(data: Column, writer: Contract, reader: Contract) -> Column:
    """Return a struct whose field `ok` is the record, null if the bytes are not exactly one record.

    Spark returns a record with nulls for broken bytes, and ignores bytes after a record. So the bytes get an end, and
    are decoded as a record and that end.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    whole = from_avro(
        F.concat(data, F.lit(_END)), _wrapped(writer), {"avroSchema": _wrapped(reader), "mode": "PERMISSIVE"}
    )

    def checked(message: Column) -> Column:
        record = message["ok"]
        sound = message["end"].eqNullSafe(F.lit(_END))
        if (valid := _valid(record, reader.record, reader, texts=not _has_promoted_bytes(writer, reader))) is not None:
            sound = sound & valid
        return F.struct(F.when(sound, record).alias("ok"))

    # The message is the variable of a function, or Spark would decode it for each part of the condition.
    return F.get(F.transform(F.array(whole), checked), F.lit(0))


def _has_promoted_bytes(writer: Contract, reader: Contract) -> bool:
    """Return whether strings of the reader may be bytes of the writer, which need not be UTF-8."""
    return writer.fingerprint != reader.fingerprint and '"bytes"' in writer.json


def _valid(value: Column, schema: Schema, contract: Contract, *, texts: bool) -> Column | None:
    """Return whether the strings, dates and times of a value are valid; None if it has none.

    Strings must be UTF-8, and dates and times in the years 1 to 9999; Spark does not check this.

    Arguments:
        value: the value.
        schema: its schema.
        contract: the contract that the schema is a part of.
        texts: whether to check strings.
    """
    from pyspark.sql import functions as F

    held, _ = optional(schema, contract)
    parts: list[Column | None] = []
    match held:
        case Record(fields=fields):
            parts = [_valid(value[field.name], field.schema, contract, texts=texts) for field in fields]
        case Union(branches=branches):
            parts = [
                _valid(value[member(number)], branch, contract, texts=texts) for number, branch in enumerate(branches)
            ]
        case Array(items=items):
            parts = [_each(value, items, contract, texts=texts)]
        case Map(values=values):
            parts = [
                F.forall(F.map_keys(value), F.is_valid_utf8) if texts else None, _each(F.map_values(value), values, contract, texts=texts)  # noqa: E501
            ]  # fmt: skip
        case Primitive(type="string") if texts:
            parts = [F.is_valid_utf8(value)]
        case Primitive(logical=logical) if logical is not None and logical.name in _TIMES:
            kind = leaf_name(held)
            parts = [value.between(*(F.lit(time).cast(kind) for time in _TIMES[logical.name]))]
    checks = [F.coalesce(part, F.lit(True)) for part in parts if part is not None]
    return functools.reduce(operator.and_, checks) if checks else None


def _each(values: Column, schema: Schema, contract: Contract, *, texts: bool) -> Column | None:
    from pyspark.sql import functions as F

    if _valid(F.lit(None), schema, contract, texts=texts) is None:
        return None

    def valid(item: Column) -> Column:
        check = _valid(item, schema, contract, texts=texts)
        assert check is not None
        return check

    return F.forall(values, valid)


def _wrapped(contract: Contract) -> str:
    record = _for_spark(json.loads(contract.json))
    end = {"type": "fixed", "name": "streamlets.wire.End", "size": len(_END)}
    fields = [{"name": "ok", "type": record}, {"name": "end", "type": end}]
    return json.dumps({"type": "record", "name": "streamlets.wire.Message", "fields": fields})


def _for_spark(schema: Any) -> Any:
    """Return a schema, as JSON data, without the logical types that spark-avro converts to other columns."""
    match schema:
        case list():
            return [_for_spark(branch) for branch in schema]
        case Mapping():
            kept = {key: value for key, value in schema.items() if key != "logicalType" or value in _LOGICAL}
            parts = {key: _for_spark(kept[key]) for key in ("type", "items", "values") if key in kept}
            fields = {"fields": [_for_spark(field) for field in kept["fields"]]} if "fields" in kept else {}
            return kept | parts | fields
    return schema
