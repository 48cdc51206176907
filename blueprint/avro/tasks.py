"""The fixed contract of every task topic: what a batch source has discovered and is to read."""

from __future__ import annotations

import functools
import json

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract

SCHEMA: dict[str, object] = {
    "type": "record",
    "name": "Task",
    "namespace": "streamlets",
    "doc": "A task of a batch source.",
    "fields": [
        {
            "name": "number",
            "type": "long",
            "doc": "The number of the task, 0 for the first of the source, without gaps.",
        },
        {
            "name": "key",
            "type": ["null", "string"],
            "doc": "What makes the task the same as another one; null for none.",
        },
        {"name": "payload", "type": "bytes", "doc": "The task itself."},
        {"name": "encoding", "type": "string", "doc": "json, or bytes for a payload that the source encoded itself."},
        {"name": "event", "type": "string", "doc": "What triggered the discovery."},
        {"name": "time", "type": {"type": "long", "logicalType": "timestamp-micros"}, "doc": "When it was discovered."},
        {"name": "retry_of", "type": ["null", "long"], "doc": "The number of the failed task that it repeats."},
    ],
}


@functools.cache
def task_contract() -> Contract:
    """Return the contract of tasks."""
    return parse_contract(json.dumps(SCHEMA))
