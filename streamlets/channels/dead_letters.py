"""The contract of dead letters: records that broke a contract, as they came, with where they came from and why."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING

from blueprint.avro.loading import parse_contract
from blueprint.avro.model import Contract

if TYPE_CHECKING:
    from pyspark.sql import Column

SCHEMA: dict[str, object] = {
    "type": "record",
    "name": "DeadLetter",
    "namespace": "streamlets",
    "doc": "A record that broke a contract.",
    "fields": [
        {"name": "record", "type": "string", "doc": "The record as it came, as JSON text."},
        {"name": "port", "type": "string", "doc": "The port whose contract it broke, as ref.port."},
        {"name": "coordinates", "type": "string", "doc": "The query and the batch it came in, as query/batch."},
        {"name": "reason", "type": "string", "doc": "The first reason, as field path: why."},
        {"name": "time", "type": {"type": "long", "logicalType": "timestamp-micros"}, "doc": "When it was found."},
        {"name": "version", "type": "string", "doc": "The version of the streamlet that wrote it."},
    ],
}


@functools.cache
def dead_letter_contract() -> Contract:
    """The fixed contract of every dead-letter topic."""
    return parse_contract(json.dumps(SCHEMA))


def dead_letter_columns(original: Column, reason: Column, *, port: str, coordinates: str, version: str) -> list[Column]:
    """Spark columns that make a dead letter of a broken row, in the contract's order."""
    from pyspark.sql import functions as F

    return [
        original.alias("record"),
        F.lit(port).alias("port"),
        F.lit(coordinates).alias("coordinates"),
        reason.alias("reason"),
        F.current_timestamp().alias("time"),
        F.lit(version).alias("version"),
    ]
