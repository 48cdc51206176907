"""Rules about topics: that somebody writes and reads them, and that their settings fit together."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.rules.draft import Draft
from blueprint.spelling import alternatives, near


def topics_without_producers(draft: Draft) -> Iterator[Diagnostic]:
    """Somebody writes every topic that the application manages; topics it does not manage are written outside."""
    if draft.blueprint.topics_broken:
        return
    for id, entry in draft.blueprint.topics.items():
        facts = draft.topics.get(id)
        if entry.consumers and not entry.producers and (facts is None or facts.managed):
            yield finding(
                "topic-without-producers",
                f"the topic `{id}` has consumers and no producer",
                entry.key,
                also=(Label(entry.consumers[0].span, "reads it"),),
                help=(
                    f"add the outlet that writes it: `producers = [...]` in `{id}`",
                    "or say that others write it: `managed = false`",
                ),
            )


def topics_without_consumers(draft: Draft) -> Iterator[Diagnostic]:
    """Somebody reads every topic that the application manages; its records are kept for nothing otherwise."""
    if draft.blueprint.topics_broken:
        return
    for id, entry in draft.blueprint.topics.items():
        facts = draft.topics.get(id)
        if entry.producers and not entry.consumers and (facts is None or facts.managed):
            yield finding(
                "topic-without-consumers",
                f"no streamlet reads the topic `{id}`",
                entry.key,
                help=("leave it so when others read it; `flow tail` shows its records",),
            )


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


def contradicting_settings(draft: Draft) -> Iterator[Diagnostic]:
    """What only the creator of a topic can say is not said of topics that others create."""
    for id, facts in draft.topics.items():
        if facts.managed:
            continue
        for key in ("partitions", "replicas"):
            if draft.topic_setting(id, "topic", key) is not None:
                yield finding(
                    "topic-settings-contradict",
                    f"the topic `{id}` is not managed, so its {key} cannot be set",
                    draft.topic_key(id, "topic", key),
                    also=(Label(draft.topic_key(id, "managed"), "created by others"),),
                    help=(f"take `{key}` out, or let the application create the topic: `managed = true`",),
                )
