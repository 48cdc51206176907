"""Write a descriptor as JSON in a stable order. `docs/upgrades.md` documents the format."""

from __future__ import annotations

import json
from typing import Any

from blueprint.avro.model import Contract
from blueprint.comparison.descriptor import (
    ApplicationDescriptor,
    DescribedOperator,
    DescribedQuery,
    DescribedStreamlet,
    DescribedTopic,
    Port,
)

VERSION = 1
"""The version of the format. Adding keys does not change it; removing a key or changing its meaning does."""


def to_json(descriptor: ApplicationDescriptor) -> str:
    """Return the descriptor as JSON, with a line end at the end. Equal descriptors give equal strings."""
    return json.dumps(descriptor_json(descriptor), ensure_ascii=False, indent=2) + "\n"


def descriptor_json(descriptor: ApplicationDescriptor) -> dict[str, Any]:
    """Return the descriptor as JSON data, as in `to_json`."""
    return {
        "version": VERSION,
        "application": descriptor.application,
        "streamlets": {ref: _streamlet(descriptor.streamlets[ref]) for ref in sorted(descriptor.streamlets)},
        "topics": {id: _topic(id, descriptor) for id in sorted(descriptor.topics)},
        "spark": dict(sorted(descriptor.spark.items())),
    }


def _streamlet(streamlet: DescribedStreamlet) -> dict[str, Any]:
    data: dict[str, Any] = {
        "class": streamlet.class_name,
        "inlets": {
            name: {**_port(inlet), "starting": inlet.starting, "max-records": inlet.max_records}
            for name, inlet in sorted(streamlet.inlets.items())
        },
        "outlets": {
            name: {
                **_port(outlet),
                "partition-by": list(outlet.partition_by),
                "on-invalid": outlet.on_invalid,
                "extra": outlet.extra,
            }
            for name, outlet in sorted(streamlet.outlets.items())
        },
        "parameters": dict(sorted(streamlet.parameters.items())),
        "trigger": streamlet.trigger,
        "triggers": dict(sorted(streamlet.triggers.items())),
        "retry": dict(streamlet.retry),
        "spark": dict(sorted(streamlet.spark.items())),
        "volume-mounts": dict(sorted(streamlet.volume_mounts.items())),
        "source-evolution": streamlet.source_evolution,
    }
    if streamlet.queries is not None:
        data["queries"] = {name: _query(query) for name, query in sorted(streamlet.queries.items())}
    return data


def _port(port: Port) -> dict[str, Any]:
    return {"topic": port.topic, **_schema(port.contract)}


def _schema(contract: Contract) -> dict[str, Any]:
    return {"fingerprint": contract.fingerprint, "schema": json.loads(contract.json)}


def _query(query: DescribedQuery) -> dict[str, Any]:
    data: dict[str, Any] = {
        "sources": list(query.sources) if query.sources is not None else None,
        "operators": list(query.operators),
    }
    if query.state is not None:
        data["state"] = [_operator(operator) for operator in query.state]
    if query.windows is not None:
        data["windows"] = list(query.windows)
    if query.aliases:
        data["aliases"] = {name: list(others) for name, others in sorted(query.aliases.items())}
    return data


def _operator(operator: DescribedOperator) -> dict[str, Any]:
    data: dict[str, Any] = {"operator": operator.name}
    if operator.stores is not None:
        data["stores"] = {
            name: {"key": [list(column) for column in store.key], "value": [list(column) for column in store.value]}
            for name, store in sorted(operator.stores.items())
        }
    return data


def _topic(id: str, descriptor: ApplicationDescriptor) -> dict[str, Any]:
    topic: DescribedTopic = descriptor.topics[id]
    data: dict[str, Any] = {
        "name": topic.name,
        "channel": topic.channel,
        "cluster": topic.cluster,
        "managed": topic.managed,
        "producers": [f"{ref}.{name}" for ref, name in sorted(descriptor.outlets_of(id))],
        "consumers": [f"{ref}.{name}" for ref, name in sorted(descriptor.inlets_of(id))],
        "settings": dict(sorted(topic.settings.items())),
    }
    if topic.written:
        data["written"] = [
            _schema(contract) for contract in sorted(topic.written, key=lambda contract: contract.fingerprint)
        ]
    return data
