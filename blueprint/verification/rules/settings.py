"""Rules about settings: that they exist, have the right type, speak of what is there, and fit together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from blueprint.comparison.descriptor import Queries
from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.hocon.values import ObjectValue, Value, key_span_of, span_of
from blueprint.model.blueprint import DEAD_LETTERS
from blueprint.model.draft import Draft
from blueprint.plan import RealTime
from blueprint.settings.checks import setting_findings
from blueprint.settings.retry import RetryOptionError, option
from blueprint.settings.values import retry_options, streamlet_settings
from blueprint.spelling import alternatives, near


def settings(draft: Draft) -> Iterator[Diagnostic]:
    """Every setting exists and has the type it wants; once for a place that many streamlets share."""
    told = set()
    for each in setting_findings(draft.settings):
        mistake = (each.code, each.primary, each.causes, each.help)
        if mistake not in told:
            told.add(mistake)
            yield each


def settings_of_nothing(draft: Draft) -> Iterator[Diagnostic]:
    """Settings are given to streamlets, topics and ports that exist."""
    if not draft.blueprint.broken:
        yield from _strays(draft, ("streamlets",), draft.blueprint.streamlets, "streamlet")
    if not draft.blueprint.topics_broken:
        yield from _strays(draft, ("topics",), draft.blueprint.topics, "topic")
    for ref in draft.blueprint.streamlets:
        descriptor = draft.descriptor(ref)
        if descriptor is None:
            continue
        for section, ports in (("inlets", descriptor.inlets), ("outlets", descriptor.outlets)):
            names = [port.name for port in ports]
            yield from _strays(draft, ("streamlets", ref, section), names, section[:-1], f" of `{ref}`")


def settings_of_no_query(draft: Draft, queries: Queries) -> Iterator[Diagnostic]:
    """Settings are given to queries that exist; those of logic that could not be built are not known."""
    for ref, known in queries.items():
        yield from _strays(draft, ("streamlets", ref, "queries"), known, "query", f" of `{ref}`")


def retry_contradictions(draft: Draft) -> Iterator[Diagnostic]:
    """The shortest wait before a restart is not longer than the longest."""
    told = set()
    for ref in _readable(draft, "retry", "spark"):
        retry = streamlet_settings(draft.settings, ref).retry
        if retry.min_backoff <= retry.max_backoff:
            continue
        given = _waits(draft, ref)
        spans = list(dict.fromkeys(span_of(value) for value in given))
        if spans[0] not in told:
            told.add(spans[0])
            yield finding(
                "retry-settings",
                f"the shortest wait before a restart of `{ref}` is longer than the longest",
                spans[0],
                also=[Label(span, "set here") for span in spans[1:]],
                causes=[f"`min-backoff` is {retry.min_backoff}, `max-backoff` is {retry.max_backoff}"],
                help=["raise `max-backoff`, or lower `min-backoff`"],
            )


def _waits(draft: Draft, ref: str) -> list[Value]:
    """What sets the waits of a streamlet, under both their names, the nearest first."""
    ours = [
        draft.settings.get(*path, key)
        for path in (("streamlets", ref, "retry"), ("retry",))
        for key in ("min-backoff", "max-backoff")
    ]
    theirs = [
        value
        for path in (("streamlets", ref, "spark"), ("runtimes", "spark"))
        for name, value in retry_options(draft.settings.get(*path))
        if name.lower().endswith("backoff")
    ]
    return [value for value in (*ours, *theirs) if value is not None]


def retry_names(draft: Draft) -> Iterator[Diagnostic]:
    """PSTL's options about retry, which stand among Spark's settings, exist and have values of their types."""
    sections = [("runtimes", "spark"), *(("streamlets", ref, "spark") for ref in draft.blueprint.streamlets)]
    told = set()
    for path in sections:
        for name, value in retry_options(draft.settings.get(*path)):
            try:
                option(name, value.text)
            except RetryOptionError as error:
                if (place := span_of(value)) not in told:
                    told.add(place)
                    code = "unknown-setting" if error.unknown else "setting-type"
                    yield finding(code, str(error), key_span_of(value) if error.unknown else place, help=error.help)


def real_time_channels(draft: Draft) -> Iterator[Diagnostic]:
    """A real-time trigger is given only where every topic of the streamlet is on a channel that can do it."""
    for ref in _readable(draft, "trigger", "queries"):
        place = _real_time(draft, ref)
        if place is None:
            continue
        ids = {binding.topic for binding in draft.wiring.bindings if binding.key.streamlet == ref}
        channels = {id: draft.topics[id].channel for id in sorted(ids) if id in draft.topics}
        slow = [id for id, name in channels.items() if name in draft.channels and not draft.channels[name].real_time]
        if slow:
            yield finding(
                "real-time-channel",
                f"`{ref}` has a real-time trigger, and its topic `{slow[0]}` is on a channel without real time",
                key_span_of(place),
                also=[Label(draft.topic_key(id, "channel"), f"`{id}` is carried by `{channels[id]}`") for id in slow],
                help=["write `trigger { processing-time = 0 seconds }` for batches without a pause"],
            )


def _real_time(draft: Draft, ref: str) -> Value | None:
    """The setting by which a streamlet, or one of its queries, runs in real time."""
    own = streamlet_settings(draft.settings, ref)
    if isinstance(own.trigger, RealTime):
        mine = draft.settings.get("streamlets", ref, "trigger", "real-time")
        return mine or draft.settings.get("trigger", "real-time")
    for query, trigger in own.queries.items():
        if isinstance(trigger, RealTime):
            return draft.settings.get("streamlets", ref, "queries", query, "trigger", "real-time")
    return None


def _readable(draft: Draft, *sections: str) -> list[str]:
    """The streamlets that one of the sections speaks of, their own or all streamlets', when all settings can be read.

    Values of the wrong type are another rule's.
    """
    common = any(draft.settings.get(*path) for section in sections for path in ((section,), ("runtimes", section)))
    refs = [
        ref
        for ref in draft.blueprint.streamlets
        if common or any(draft.settings.get("streamlets", ref, section) is not None for section in sections)
    ]
    return refs if refs and not any(setting_findings(draft.settings)) else []


def _strays(
    draft: Draft, path: tuple[str, ...], known: Iterable[str], what: str, whose: str = ""
) -> Iterator[Diagnostic]:
    section = draft.settings.get(*path)
    names = dict.fromkeys(known)
    for key, value in section.fields.items() if isinstance(section, ObjectValue) else ():
        if key not in names and not (what == "topic" and key.startswith(f"{DEAD_LETTERS}.")):
            close = near(key, names)
            yield finding(
                "unknown-setting",
                f"there is no {what} `{key}`{whose} to set anything of",
                key_span_of(value),
                help=(f"did you mean {alternatives(close)}?",) if close else (),
            )
