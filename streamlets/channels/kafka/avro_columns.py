"""Avro records as Spark columns, decoded in Java by spark-avro."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from blueprint.avro.model import Contract
from blueprint.avro.resolution.planner import IncompatibleError, resolve_plan
from blueprint.avro.sources.reading import FromField, Promote
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


def readable(writer: Contract, reader: Contract) -> bool:
    """Return whether a reader's schema can read a writer's records."""
    try:
        resolve_plan(writer, reader)
    except IncompatibleError:
        return False
    return True


def avro_record(data: Column, writer: Contract, reader: Contract) -> Column:
    """Return a struct whose field `ok` is the record, null if the bytes are not a record.

    Spark returns a record with nulls for broken bytes. The struct around it, which has the same encoding, tells them
    from a record whose fields are null.
    """
    from pyspark.sql.avro.functions import from_avro

    return from_avro(data, _wrapped(writer), {"avroSchema": _wrapped(reader), "mode": "PERMISSIVE"})


def texts_from_bytes(writer: Contract, reader: Contract) -> list[str]:
    """Return the string fields of a reader that are bytes of the writer, and may not be UTF-8. Avro's Java library
    replaces invalid bytes; spark-avro does not.

    Arguments:
        writer: the contract of the writer, which the reader can read.
        reader: the contract of the reader.
    """
    plan = resolve_plan(writer, reader)
    return [
        field.name
        for field in plan.fields
        if isinstance(field, FromField) and isinstance(field.plan, Promote) and field.plan.writer.type == "bytes"
    ]


def _wrapped(contract: Contract) -> str:
    record = _for_spark(json.loads(contract.json))
    return json.dumps({"type": "record", "name": "streamlets.wire.Message", "fields": [{"name": "ok", "type": record}]})


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
