"""Rules about topics: they have producers and consumers, and their settings are consistent."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from blueprint.avro.model import Contract
from blueprint.catalog import InletSettings, OutletSettings, TopicProblem, TopicSettings
from blueprint.diagnostics import Diagnostic, FixKind, Label, Span, finding
from blueprint.hocon.values import ObjectValue, Value, is_null, key_span_of, span_of
from blueprint.model.blueprint import DEAD_LETTERS, TopicEntry
from blueprint.model.draft import Draft
from blueprint.model.findings import rename_key
from blueprint.model.wiring import Binding, PortKey
from blueprint.setting import Scope
from blueprint.settings.values import port_options, spark_artifacts, streamlet_settings
from blueprint.spelling import alternatives, listing, near, sole_meanings
from blueprint.trigger import RealTime
from blueprint.verification.rules.links import is_half, missing_links

_MOST_NAMED = 3
"""The number of topics up to which a label names them."""


def topics_without_producers(draft: Draft) -> Iterator[Diagnostic]:
    """Every topic that the application manages has a producer; other topics have producers outside."""
    for entry in _half_topics(draft):
        if entry.consumers:
            yield finding(
                "topic-without-producers",
                f"the topic `{entry.id}` has consumers but no producer",
                entry.key,
                also=(Label(entry.consumers[0].span, "read here"),),
                help=(
                    f"add the outlet that writes it: `producers = [...]` in `{entry.id}`",
                    "or set `managed = false` if others write it",
                ),
                topics=(entry.id,),
            )


def topics_without_consumers(draft: Draft) -> Iterator[Diagnostic]:
    """Every topic that the application manages has a consumer; otherwise, its records have no use."""
    for entry in _half_topics(draft):
        if any(path.port != DEAD_LETTERS for path in entry.producers):
            yield finding(
                "topic-without-consumers",
                f"no streamlet reads the topic `{entry.id}`",
                entry.key,
                help=("ignore this if others read it; `flow tail` shows its records",),
                topics=(entry.id,),
            )


def _half_topics(draft: Draft) -> list[TopicEntry]:
    """Return topics without producers or without consumers that no other finding explains.

    Findings about unconnected ports, about ports of several topics and about wrong directions explain them.
    """
    if draft.blueprint.topics_broken:
        return []
    explained = {link.topic for link in missing_links(draft)}
    explained.update(stray.topic for stray in draft.wiring.strays if stray.kind == "wrong-direction")
    topic_counts = Counter(binding.key for binding in draft.wiring.bindings)
    for binding in draft.wiring.bindings:
        if topic_counts[binding.key] > 1:
            explained.add(binding.topic)
    entries = draft.blueprint.topics.values()
    return [entry for entry in entries if entry.id not in explained and is_half(entry, draft.topics.get(entry.id))]


def unused_topics(draft: Draft) -> Iterator[Diagnostic]:
    """A topic has producers or consumers."""
    for id, entry in draft.blueprint.topics.items():
        if not entry.paths and not draft.blueprint.topics_broken:
            yield finding(
                "topic-unused",
                f"the topic `{id}` has neither producers nor consumers",
                entry.key,
                help=("add `producers` and `consumers`, or remove the topic",),
                topics=(id,),
            )


def unknown_channels(draft: Draft) -> Iterator[Diagnostic]:
    """The channel of a topic exists; reported once for a place that topics share, such as `flow.channel`."""
    users: dict[tuple[str, Span], list[str]] = defaultdict(list)
    for id, facts in draft.topics.items():
        if facts.channel not in draft.channels:
            users[facts.channel, _channel_span(draft, id)].append(id)
    for (channel, place), ids in users.items():
        close = near(channel, draft.channels)
        yield finding(
            "unknown-channel",
            f"there is no channel `{channel}`",
            place,
            label=f"the channel of {listing(ids)}" if len(ids) <= _MOST_NAMED else f"the channel of {len(ids)} topics",
            help=(
                f"did you mean {alternatives(close)}?"
                if close
                else f"known channels are {listing(sorted(draft.channels))}",
            ),
            topics=ids,
        )


def _channel_span(draft: Draft, id: str) -> Span:
    """Return the place of the setting that gives a topic its channel; the place of the topic if none does."""
    value = draft.topic_setting(id, "channel") or draft.settings.get("channel")
    return span_of(value) if value is not None and not is_null(value) else draft.blueprint.topics[id].key


def settings_of_unmanaged_topics(draft: Draft) -> Iterator[Diagnostic]:
    """Settings that apply when a topic is created are only set for managed topics; reported once for each topic."""
    for id, facts in draft.topics.items():
        block = draft.topic_setting(id, "topic")
        if facts.managed or not isinstance(block, ObjectValue):
            continue
        only = {key: value for key, value in block.fields.items() if key != "name" and not is_null(value)}
        if only:
            places = [key_span_of(value) for value in only.values()]
            settings = [_dotted(key, value) for key, value in only.items()]
            yield finding(
                "topic-settings-contradict",
                f"the topic `{id}` is not managed, so its {listing(settings)} cannot be set",
                places[0],
                also=(
                    *(Label(place, "cannot be set either") for place in places[1:]),
                    Label(draft.topic_key(id, "managed"), "created by others"),
                ),
                help=(f"remove {listing(settings)}, or let the application create the topic: `managed = true`",),
                topics=(id,),
            )


def misspelt_topic_settings(draft: Draft) -> Iterator[Diagnostic]:
    """Keys of a topic's `topic { ... }` are free-form settings, unless they are misspellings of defined ones."""
    for id, facts in draft.topics.items():
        block, group = draft.topic_setting(id, "topic"), draft.known.inner("topics", id, "topic")
        if not isinstance(block, ObjectValue) or group is None or not facts.managed:
            continue
        known = tuple(group.children)
        only = sole_meanings([key for key in block.fields if key not in known], known, taken=block.fields)
        for key, value in block.fields.items():
            close = near(key, known) if key not in known else ()
            if close and not isinstance(value, ObjectValue) and not is_null(value):
                yield finding(
                    "unknown-setting",
                    f"`topics.{id}.topic` has no setting `{key}`",
                    key_span_of(value),
                    help=(f"did you mean {alternatives(close)}?",),
                    fix=rename_key(FixKind.RENAME_TOPIC_SETTING, value, key, only[key]) if key in only else None,
                    topics=(id,),
                )


def _dotted(key: str, value: Value) -> str:
    """Return the key of a setting with the dots that HOCON reads as nesting."""
    while isinstance(value, ObjectValue) and len(value.fields) == 1:
        ((inner, value),) = value.fields.items()
        key = f"{key}.{inner}"
    return key


def two_clusters(draft: Draft) -> Iterator[Diagnostic]:
    """A file does not set both the cluster of a topic and its servers.

    A later layer may set servers, which then replace the cluster.
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
                help=("remove one of them: the servers would win",),
                topics=(id,),
            )


def dead_letters_on_another_channel(draft: Draft) -> Iterator[Diagnostic]:
    """The dead letters of an outlet are on the channel of its topic, because one query writes both."""
    topic_of = {binding.key: draft.topics[binding.topic] for binding in draft.wiring.bindings}
    connected = {key.streamlet: topic for key, topic in topic_of.items() if key.port == DEAD_LETTERS}
    letters_of = {**draft.dead_letters, **connected}
    for key, topic in topic_of.items():
        port, letters = draft.wiring.ports.get(key), letters_of.get(key.streamlet)
        if port is None or letters is None or port.on_invalid != "dead-letters" or letters.channel == topic.channel:
            continue
        if key.role == "consumer":  # dead letters of an inlet are not written by the query
            continue
        if letters.channel in draft.channels and topic.channel in draft.channels:
            yield finding(
                "query-channels",
                f"the topic `{topic.id}` is on the channel `{topic.channel}`, but the dead letters of `{key.path}` are "
                f"on `{letters.channel}`",
                draft.topic_key(topic.id, "channel"),
                also=(Label(port.declared, "this outlet has dead letters"),),
                causes=("a query writes records and their dead letters to one channel",),
                help=(f"set one channel for `{topic.id}` and `{letters.id}`, or move the outlet to another streamlet",),
                streamlets=(key.streamlet,),
                topics=(topic.id,),
            )


def problems_of_channels(draft: Draft) -> Iterator[Diagnostic]:
    """The settings of a topic are those that its channel can work with; equal problems of topics are one finding."""
    if draft.misfits:
        return
    places: dict[tuple[str, str], tuple[TopicProblem, dict[Span | None, None], list[str]]] = {}
    contracts: dict[str, list[Contract]] = defaultdict(list)
    for binding in draft.wiring.bindings:
        if binding.port is not None and binding.port.contract is not None:
            contracts[binding.topic].append(binding.port.contract)
    read = {binding.topic for binding in draft.wiring.bindings if binding.key.role == "consumer"}
    misspelt = {finding.primary.span for finding in misspelt_topic_settings(draft) if finding.primary is not None}
    for settings in (*draft.topics.values(), *draft.dead_letters.values()):
        topic = replace(settings, contracts=tuple(contracts[settings.id]), is_read=settings.id in read)
        traits = draft.channels.get(topic.channel)
        for problem in traits.problems(topic) if traits is not None else ():
            if (place := _place(draft, topic, problem)) not in misspelt:  # the other rule explains it
                _, spans, ids = places.setdefault((problem.code, problem.message), (problem, {}, []))
                spans[place] = None
                ids.append(topic.id)
    senders = {topic.id: ref for ref, topic in draft.dead_letters.items()}
    for problem, spans, ids in places.values():
        first, *others = spans
        yield finding(
            problem.code,
            problem.message,
            first,
            also=[Label(span, "also here") for span in others if span is not None],
            causes=problem.causes,
            help=problem.help,
            streamlets=(senders[id] for id in ids if id in senders),
            topics=ids,
        )


def problems_of_inlets(draft: Draft) -> Iterator[Diagnostic]:
    """The settings of an inlet for its topic's channel are consistent, also with the settings of its writers."""
    if draft.misfits:
        return
    writers: dict[str, list[PortKey]] = defaultdict(list)
    for binding in draft.wiring.bindings:
        if binding.key.role == "producer":
            writers[binding.topic].append(binding.key)
    written: dict[str, dict[str, dict[str, object]]] = {}
    for binding in draft.wiring.bindings:
        ref, port = binding.key.streamlet, binding.key.port
        traits = draft.channels.get(draft.topics[binding.topic].channel) if binding.topic in draft.topics else None
        if traits is None or binding.key.role != "consumer":
            continue
        if binding.topic not in written:
            written[binding.topic] = {
                key.path: port_options(draft.settings, key.streamlet, key.port, Scope.OUTLET, traits)
                for key in writers[binding.topic]
            }
        contract = binding.port.contract if binding.port is not None else None
        options = port_options(draft.settings, ref, port, Scope.INLET, traits)
        real_time = bool(options) and isinstance(streamlet_settings(draft.settings, ref).trigger, RealTime)
        settings = InletSettings(ref, port, options, contract, written[binding.topic], real_time)
        for problem in traits.inlet_problems(settings):
            yield _problem_of_port(draft, binding, "inlets", problem)


def problems_of_outlets(draft: Draft) -> Iterator[Diagnostic]:
    """The settings of an outlet for the channel of its topic fit the trigger of its streamlet."""
    if draft.misfits:
        return
    for binding in draft.wiring.bindings:
        ref, port = binding.key.streamlet, binding.key.port
        traits = draft.channels.get(draft.topics[binding.topic].channel) if binding.topic in draft.topics else None
        if traits is None or binding.key.role != "producer":
            continue
        own = streamlet_settings(draft.settings, ref)
        # Which outlets a query with a trigger of its own writes is known only when the logic is built.
        real_time = isinstance(own.trigger, RealTime) and not own.queries
        options = port_options(draft.settings, ref, port, Scope.OUTLET, traits)
        for problem in traits.outlet_problems(OutletSettings(ref, port, options, real_time)):
            yield _problem_of_port(draft, binding, "outlets", problem)


def _problem_of_port(draft: Draft, binding: Binding, section: str, problem: TopicProblem) -> Diagnostic:
    ref, port = binding.key.streamlet, binding.key.port
    value = draft.settings.get("streamlets", ref, section, port, *problem.path)
    span = span_of(value) if value is not None and value.origins else draft.blueprint.streamlets[ref].key
    return finding(
        problem.code,
        problem.message,
        span,
        causes=problem.causes,
        help=problem.help,
        streamlets=(ref,),
        topics=(binding.topic,),
    )


def requirements_of_channels(draft: Draft) -> Iterator[Diagnostic]:
    """This machine has what the channels of the topics need; reported once for each channel."""
    if draft.misfits:
        return
    artifacts = spark_artifacts(draft.settings, Path(draft.blueprint.directory))
    stored: dict[str, list[str]] = defaultdict(list)
    for id, facts in draft.topics.items():
        stored[facts.channel].append(id)
    for channel in sorted(name for name in stored if name in draft.channels):
        for lack in draft.channels[channel].unmet(artifacts):
            value = draft.settings.get(*lack.path) if lack.path else None
            place = span_of(value) if value is not None else draft.topic_span(stored[channel][0], "channel")
            yield finding("channel-requirement", lack.message, place, help=(lack.help,), topics=stored[channel])


def _place(draft: Draft, topic: TopicSettings, problem: TopicProblem) -> Span | None:
    """Return the place of a problem: of its setting, else of the topic, else of the streamlet with the dead letters."""
    path = problem.path if problem.path[:1] == (topic.channel,) else ("topics", topic.id, *problem.path)
    value = draft.settings.get(*path)
    if value is not None and value.origins:
        return key_span_of(value) if problem.about == "key" else span_of(value)
    if topic.id in draft.blueprint.topics:
        return _channel_span(draft, topic.id) if problem.path == ("channel",) else draft.blueprint.topics[topic.id].key
    return draft.blueprint.streamlets[topic.id.removeprefix(f"{DEAD_LETTERS}.")].key
