"""Rules about settings: they exist, have the right type, belong to something that exists, and are consistent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.hocon.values import ObjectValue, Value, key_span_of, span_of
from blueprint.model.blueprint import DEAD_LETTERS
from blueprint.model.draft import Draft
from blueprint.plan import RealTime
from blueprint.settings.retry import RetryOptionError, option
from blueprint.settings.values import retry_options, streamlet_settings
from blueprint.spelling import alternatives, near

if TYPE_CHECKING:
    from blueprint.comparison.descriptor import Queries


def settings(draft: Draft) -> Iterator[Diagnostic]:
    """Every setting exists and has a valid value; reported once for a place that several streamlets share."""
    reported = set()
    for diagnostic in draft.misfits:
        mistake = (diagnostic.code, diagnostic.primary, diagnostic.causes, diagnostic.help)
        if mistake not in reported:
            reported.add(mistake)
            yield diagnostic


def owners_of_settings(draft: Draft) -> Iterator[Diagnostic]:
    """Settings are set for streamlets, topics and ports that exist."""
    if not draft.blueprint.broken:
        yield from _unknown_owners(draft, ("streamlets",), draft.blueprint.streamlets, "streamlet")
    if not draft.blueprint.topics_broken:
        yield from _unknown_owners(draft, ("topics",), draft.blueprint.topics, "topic")
    for ref in draft.blueprint.streamlets:
        descriptor = draft.descriptor(ref)
        if descriptor is None:
            continue
        for section, ports in (("inlets", descriptor.inlets), ("outlets", descriptor.outlets)):
            names = [port.name for port in ports]
            yield from _unknown_owners(draft, ("streamlets", ref, section), names, section[:-1], f" of `{ref}`")


def queries_of_settings(draft: Draft, queries: Queries) -> Iterator[Diagnostic]:
    """Settings are set for queries that exist; not checked for logic that could not be built."""
    for ref, known in queries.items():
        yield from _unknown_owners(draft, ("streamlets", ref, "queries"), known, "query", f" of `{ref}`")


def retry_contradictions(draft: Draft) -> Iterator[Diagnostic]:
    """`min-backoff` is not longer than `max-backoff`."""
    reported = set()
    for ref in _readable(draft, "retry", "spark"):
        retry = streamlet_settings(draft.settings, ref).retry
        if retry.min_backoff <= retry.max_backoff:
            continue
        spans = list(dict.fromkeys(span_of(value) for value in _backoffs(draft, ref)))
        if spans[0] not in reported:
            reported.add(spans[0])
            yield finding(
                "retry-settings",
                f"`min-backoff` of `{ref}` is longer than its `max-backoff`",
                spans[0],
                also=[Label(span, "set here") for span in spans[1:]],
                causes=[f"`min-backoff` is {retry.min_backoff}, `max-backoff` is {retry.max_backoff}"],
                help=["raise `max-backoff`, or lower `min-backoff`"],
            )


def _backoffs(draft: Draft, ref: str) -> list[Value]:
    """Return the settings of a streamlet's waits, under our names and PSTL's, those with precedence first."""
    ours = [
        draft.settings.get(*path, key)
        for path in (("streamlets", ref, "retry"), ("retry",))
        for key in ("min-backoff", "max-backoff")
    ]
    pstl = [
        value
        for path in (("streamlets", ref, "spark"), ("runtimes", "spark"))
        for name, value in retry_options(draft.settings.get(*path))
        if name.lower().endswith("backoff")
    ]
    return [value for value in (*ours, *pstl) if value is not None]


def retry_names(draft: Draft) -> Iterator[Diagnostic]:
    """PSTL's retry options among the Spark settings exist and have valid values."""
    sections = [("runtimes", "spark"), *(("streamlets", ref, "spark") for ref in draft.blueprint.streamlets)]
    reported = set()
    for path in sections:
        for name, value in retry_options(draft.settings.get(*path)):
            try:
                option(name, value.text)
            except RetryOptionError as error:
                if (place := span_of(value)) not in reported:
                    reported.add(place)
                    code = "unknown-setting" if error.unknown else "setting-type"
                    yield finding(code, str(error), key_span_of(value) if error.unknown else place, help=error.help)


def real_time_channels(draft: Draft) -> Iterator[Diagnostic]:
    """The channels of all topics of a streamlet with a real-time trigger support it."""
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
                f"`{ref}` has a real-time trigger, but the channel of its topic `{slow[0]}` does not support it",
                key_span_of(place),
                also=[Label(draft.topic_key(id, "channel"), f"`{channels[id]}` stores `{id}`") for id in slow],
                help=["write `trigger { processing-time = 0 seconds }` for batches without a pause"],
            )


def _real_time(draft: Draft, ref: str) -> Value | None:
    """Return the setting that gives a streamlet, or one of its queries, a real-time trigger; None without one."""
    own = streamlet_settings(draft.settings, ref)
    if isinstance(own.trigger, RealTime):
        mine = draft.settings.get("streamlets", ref, "trigger", "real-time")
        return mine or draft.settings.get("trigger", "real-time")
    for query, trigger in own.queries.items():
        if isinstance(trigger, RealTime):
            return draft.settings.get("streamlets", ref, "queries", query, "trigger", "real-time")
    return None


def _readable(draft: Draft, *sections: str) -> list[str]:
    """Return the streamlets to which one of the sections applies, their own or that of the application.

    Return no streamlet when a setting is invalid, which another rule reports.
    """
    common = any(draft.settings.get(*path) for section in sections for path in ((section,), ("runtimes", section)))
    refs = [
        ref
        for ref in draft.blueprint.streamlets
        if common or any(draft.settings.get("streamlets", ref, section) is not None for section in sections)
    ]
    return refs if refs and not draft.misfits else []


def _unknown_owners(
    draft: Draft, path: tuple[str, ...], known: Iterable[str], kind: str, suffix: str = ""
) -> Iterator[Diagnostic]:
    """Yield findings for the keys of a section that are not known: of streamlets, topics, ports or queries."""
    section = draft.settings.get(*path)
    names = dict.fromkeys(known)
    for key, value in section.fields.items() if isinstance(section, ObjectValue) else ():
        if key not in names and not (kind == "topic" and key.startswith(f"{DEAD_LETTERS}.")):
            close = near(key, names)
            yield finding(
                "unknown-setting",
                f"settings for the unknown {kind} `{key}`{suffix}",
                key_span_of(value),
                help=(f"did you mean {alternatives(close)}?",) if close else (),
            )
