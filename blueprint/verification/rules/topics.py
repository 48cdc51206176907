"""Rules about topics: that somebody writes and reads them, and that their settings fit together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from blueprint.diagnostics import Diagnostic, FixKind, Label, finding
from blueprint.hocon.values import ObjectValue, Value, is_null, key_span_of, span_of
from blueprint.model.blueprint import DEAD_LETTERS, TopicEntry
from blueprint.model.draft import Draft
from blueprint.model.findings import rename_key
from blueprint.spelling import alternatives, listing, near, sole_meanings
from blueprint.verification.rules.links import is_half, missing_links


def topics_without_producers(draft: Draft) -> Iterator[Diagnostic]:
    """Somebody writes every topic that the application manages; topics it does not manage are written outside."""
    for entry in _halves(draft):
        if entry.consumers:
            yield finding(
                "topic-without-producers",
                f"the topic `{entry.id}` has consumers and no producer",
                entry.key,
                also=(Label(entry.consumers[0].span, "reads it"),),
                help=(
                    f"add the outlet that writes it: `producers = [...]` in `{entry.id}`",
                    "or say that others write it: `managed = false`",
                ),
            )


def topics_without_consumers(draft: Draft) -> Iterator[Diagnostic]:
    """Somebody reads every topic that the application manages; its records are kept for nothing otherwise."""
    for entry in _halves(draft):
        if any(path.port != DEAD_LETTERS for path in entry.producers):
            yield finding(
                "topic-without-consumers",
                f"no streamlet reads the topic `{entry.id}`",
                entry.key,
                help=("leave it so when others read it; `flow tail` shows its records",),
            )


def _halves(draft: Draft) -> list[TopicEntry]:
    """Topics with one side only that no other finding tells of: an unbound port, or a port bound to several topics."""
    if draft.blueprint.topics_broken:
        return []
    told = {link.topic for link in missing_links(draft)}
    told.update(stray.topic for stray in draft.wiring.strays if stray.kind == "wrong-direction")
    times = Counter(binding.key for binding in draft.wiring.bindings)
    for binding in draft.wiring.bindings:
        if times[binding.key] > 1:
            told.add(binding.topic)
    entries = draft.blueprint.topics.values()
    return [entry for entry in entries if entry.id not in told and is_half(entry, draft.topics.get(entry.id))]


def unused_topics(draft: Draft) -> Iterator[Diagnostic]:
    """A topic has producers or consumers."""
    for id, entry in draft.blueprint.topics.items():
        if not entry.paths and not draft.blueprint.topics_broken:
            yield finding(
                "topic-unused",
                f"the topic `{id}` has neither producers nor consumers",
                entry.key,
                help=("add `producers` and `consumers`, or take it out",),
            )


def unknown_channels(draft: Draft) -> Iterator[Diagnostic]:
    """The channel of a topic exists."""
    for id, facts in draft.topics.items():
        if facts.channel not in draft.channels:
            close = near(facts.channel, draft.channels)
            yield finding(
                "unknown-channel",
                f"there is no channel `{facts.channel}`",
                draft.topic_span(id, "channel"),
                label=f"the channel of `{id}`",
                help=(
                    f"did you mean {alternatives(close)}?"
                    if close
                    else f"write {alternatives(sorted(draft.channels))}",
                ),
            )


def settings_of_others_topics(draft: Draft) -> Iterator[Diagnostic]:
    """What only the creator of a topic can say is not said of topics that others create; told once for a topic."""
    for id, facts in draft.topics.items():
        block = draft.topic_setting(id, "topic")
        if facts.managed or not isinstance(block, ObjectValue):
            continue
        only = {key: value for key, value in block.fields.items() if key != "name" and not is_null(value)}
        if only:
            places = [key_span_of(value) for value in only.values()]
            given = [_dotted(key, value) for key, value in only.items()]
            yield finding(
                "topic-settings-contradict",
                f"the topic `{id}` is not managed, so its {listing(given)} cannot be set",
                places[0],
                also=(
                    *(Label(place, "nor this") for place in places[1:]),
                    Label(draft.topic_key(id, "managed"), "created by others"),
                ),
                help=(f"take {listing(given)} out, or let the application create the topic: `managed = true`",),
            )


_KEYS = ("name", "partitions", "replicas")


def misspelt_topic_settings(draft: Draft) -> Iterator[Diagnostic]:
    """What stands in a topic's `topic { ... }` is handed on to its channel, unless it is a slip of what all know.

    Settings that only another channel reads may stay: an application is moved by one setting.
    """
    for id, facts in draft.topics.items():
        block, channel = draft.topic_setting(id, "topic"), draft.channels.get(facts.channel)
        if not isinstance(block, ObjectValue) or channel is None or not facts.managed:
            continue
        only = sole_meanings([key for key in block.fields if key not in _KEYS], _KEYS, taken=block.fields)
        for key, value in block.fields.items():
            close = near(key, _KEYS) if key not in (*_KEYS, *channel.topic_keys) else ()
            if close and not isinstance(value, ObjectValue) and not is_null(value):
                yield finding(
                    "unknown-setting",
                    f"`topics.{id}.topic` has no setting `{key}`",
                    key_span_of(value),
                    help=(f"did you mean {alternatives(close)}?",),
                    fix=rename_key(FixKind.RENAME_TOPIC_SETTING, value, key, only[key]) if key in only else None,
                )


def _dotted(key: str, value: Value) -> str:
    """The key of a setting that dots, which HOCON reads as nesting, may go on in."""
    while isinstance(value, ObjectValue) and len(value.fields) == 1:
        ((inner, value),) = value.fields.items()
        key = f"{key}.{inner}"
    return key


def two_clusters(draft: Draft) -> Iterator[Diagnostic]:
    """One file does not say both which cluster holds a topic and where its servers are.

    A later layer may: servers given there are meant to take the place of the cluster.
    """
    for id in draft.topics:
        cluster, servers = draft.topic_setting(id, "cluster"), draft.topic_setting(id, "bootstrap", "servers")
        if cluster is None or servers is None or is_null(cluster) or is_null(servers):
            continue
        if span_of(cluster).file == span_of(servers).file:
            yield finding(
                "topic-settings-contradict",
                f"the topic `{id}` has both a cluster and servers of its own",
                draft.topic_key(id, "bootstrap", "servers"),
                also=(Label(draft.topic_key(id, "cluster"), "the cluster"),),
                help=("keep one: the servers would win",),
            )
