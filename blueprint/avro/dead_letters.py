"""The fixed contract of every dead-letter topic: a record that broke a contract, where it came from, and why."""

from __future__ import annotations

import functools
import json

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract

SCHEMA: dict[str, object] = {
    "type": "record",
    "name": "DeadLetter",
    "namespace": "streamlets",
    "doc": "A record that broke a contract.",
    "fields": [
        {"name": "record", "type": "string", "doc": "The record as it came, as JSON text."},
        {"name": "port", "type": "string", "doc": "The port whose contract it broke, as ref.port."},
        {
            "name": "coordinates",
            "type": "string",
            "doc": "Where it came from: query/batch, at an inlet its place in the topic.",
        },
        {"name": "reason", "type": "string", "doc": "The first reason, as field path: why."},
        {"name": "time", "type": {"type": "long", "logicalType": "timestamp-micros"}, "doc": "When it was found."},
        {"name": "version", "type": "string", "doc": "The version of the application that refused it."},
    ],
}


@functools.cache
def dead_letter_contract() -> Contract:
    """Return the contract of dead letters."""
    return parse_contract(json.dumps(SCHEMA))
