"""Descriptors on paper: a small application, and ways to change it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract
from blueprint.comparison import (
    ApplicationDescriptor,
    DescribedInlet,
    DescribedOutlet,
    DescribedQuery,
    DescribedStreamlet,
    DescribedTopic,
)


def contract(**fields: object) -> Contract:
    """Return a record of fields; a field given as a pair has a default."""
    data = [
        {"name": name, "type": type[0], "default": type[1]} if isinstance(type, tuple) else {"name": name, "type": type}
        for name, type in fields.items()
    ]
    return parse_contract(json.dumps({"type": "record", "name": "Reading", "fields": data}))


READING = contract(src="string", value="int")


def application(**streamlets: DescribedStreamlet) -> ApplicationDescriptor:
    """Gauges, their mean, and an archive of it, each with its queries; streamlets given take the place of these."""
    known = {
        "gauges": DescribedStreamlet(
            class_name="app.Gauges",
            inlets={},
            outlets={"out": DescribedOutlet("readings", READING)},
            queries={"out": DescribedQuery(("ticks",))},
        ),
        "mean": DescribedStreamlet(
            class_name="app.Mean",
            inlets={"in": DescribedInlet("readings", READING)},
            outlets={"out": DescribedOutlet("means", READING)},
            parameters={"window": "1 minutes"},
            queries={"out": DescribedQuery(("in",), ("stateStoreSave",))},
        ),
        "archive": DescribedStreamlet(
            class_name="app.Archive",
            inlets={"in": DescribedInlet("means", READING)},
            queries={"files": DescribedQuery(("in",))},
        ),
    }
    return ApplicationDescriptor(
        "weather", known | streamlets, {id: DescribedTopic(id) for id in ("means", "readings")}
    )


def with_streamlet(old: ApplicationDescriptor, ref: str, **changes: object) -> ApplicationDescriptor:
    """Return the application with something else in one streamlet."""
    return replace(old, streamlets={**old.streamlets, ref: replace(old.streamlets[ref], **changes)})  # type: ignore[arg-type]


def with_topics(old: ApplicationDescriptor, **topics: DescribedTopic) -> ApplicationDescriptor:
    """Return the application with other or further topics."""
    return replace(old, topics={**old.topics, **topics})


def without(old: ApplicationDescriptor, ref: str) -> ApplicationDescriptor:
    """Return the application without a streamlet."""
    return replace(old, streamlets={name: one for name, one in old.streamlets.items() if name != ref})


def renamed(old: ApplicationDescriptor, before: str, now: str) -> ApplicationDescriptor:
    """Return the application with a streamlet under another name."""
    return replace(old, streamlets={now if name == before else name: one for name, one in old.streamlets.items()})


def unknown_queries(old: ApplicationDescriptor) -> ApplicationDescriptor:
    """As described from sources, where nothing has run."""
    return replace(old, streamlets={name: replace(one, queries=None) for name, one in old.streamlets.items()})


def inlet(old: ApplicationDescriptor, ref: str, name: str, **changes: object) -> Mapping[str, DescribedInlet]:
    """Return a streamlet's inlets with something else in one of them."""
    inlets = old.streamlets[ref].inlets
    return {**inlets, name: replace(inlets[name], **changes)}  # type: ignore[arg-type]


def outlet(old: ApplicationDescriptor, ref: str, name: str, **changes: object) -> Mapping[str, DescribedOutlet]:
    """Return a streamlet's outlets with something else in one of them."""
    outlets = old.streamlets[ref].outlets
    return {**outlets, name: replace(outlets[name], **changes)}  # type: ignore[arg-type]


def _grown() -> tuple[ApplicationDescriptor, ...]:
    """Return an application through versions that take nothing to get from each to the next."""
    first = application()
    fields = contract(src="string", value="int", unit=(["null", "string"], None))
    reading = with_streamlet(first, "archive", inlets=inlet(first, "archive", "in", contract=fields))
    writing = with_streamlet(reading, "mean", outlets=outlet(reading, "mean", "out", contract=fields))
    tuned = with_streamlet(writing, "mean", parameters={"window": "2 minutes"}, trigger="available-now")
    copy = DescribedStreamlet(class_name="app.Copy", inlets={"in": DescribedInlet("means", READING)})
    copied = replace(tuned, streamlets={**tuned.streamlets, "copy": copy})
    widened = contract(src="string", value="long", unit=(["null", "string"], None))
    read = with_streamlet(copied, "archive", inlets=inlet(copied, "archive", "in", contract=widened))
    return first, reading, writing, tuned, copied, read


APPS = _grown()
"""The versions of an application that grew without harm, oldest first."""
