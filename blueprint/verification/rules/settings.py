"""Rules about settings: they exist, have the right type, belong to something that exists, and are consistent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from blueprint.diagnostics import Diagnostic, Label, Span, finding
from blueprint.hocon import path_text
from blueprint.hocon.values import ObjectValue, Scalar, Value, key_span_of, span_of
from blueprint.model.blueprint import DEAD_LETTERS
from blueprint.model.draft import Draft
from blueprint.setting_types import DURATION
from blueprint.settings.retry import RetryOptionError, is_option, option
from blueprint.settings.spark_settings import is_unknown, meant
from blueprint.settings.values import application_settings, retry_options, spark_settings_by_path, streamlet_settings
from blueprint.spelling import alternatives, near
from blueprint.trigger import SHORTEST_REAL_TIME, SHORTEST_REAL_TIME_SETTING, RealTime
from blueprint.verification.rules.reporting import reported_once

if TYPE_CHECKING:
    from blueprint.comparison.descriptor import Queries


@reported_once("code", "primary", "causes", "help")
def settings(draft: Draft) -> Iterable[Diagnostic]:
    """Every setting exists and has a valid value; reported once for a place that several streamlets share."""
    return draft.misfits


@reported_once("primary")
def settings_set_twice(draft: Draft) -> Iterator[Diagnostic]:
    """A file sets a single value once; a substitution, or another file, may replace it."""
    for path, value in _single_values(draft.settings, ()):
        *others, last = value.origins
        same_file = [origin for origin in others if origin.span.file == last.span.file and origin.via is None]
        if same_file and last.via is None and value.value is not None:
            yield finding(
                "setting-twice",
                f"`{path_text(path)}` is set twice",
                key_span_of(value),
                also=[Label(origin.key or origin.span, "has no effect") for origin in same_file],
                help=["remove one of them: the last one wins"],
            ).about(path)


def _single_values(value: Value, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Scalar]]:
    if isinstance(value, ObjectValue):
        for key, inner in value.fields.items():
            yield from _single_values(inner, (*path, key))
    elif isinstance(value, Scalar):
        yield path, value


def owners_of_settings(draft: Draft) -> Iterator[Diagnostic]:
    """Settings are set for streamlets, topics and ports that exist."""
    if not draft.blueprint.broken:
        yield from _unknown_owners(draft, ("streamlets",), draft.blueprint.streamlets, "streamlet")
    if not draft.blueprint.topics_broken:
        yield from _unknown_owners(draft, ("topics",), draft.blueprint.topics, "topic")
    for ref, descriptor in draft.descriptors():
        for section, ports in (("inlets", descriptor.inlets), ("outlets", descriptor.outlets)):
            names = [port.name for port in ports]
            yield from _unknown_owners(draft, ("streamlets", ref, section), names, section[:-1], f" of `{ref}`")


def queries_of_settings(draft: Draft, queries: Queries) -> Iterator[Diagnostic]:
    """Settings are set for queries that exist; not checked for logic that could not be built."""
    for ref, known in queries.items():
        yield from _unknown_owners(draft, ("streamlets", ref, "queries"), known, "query", f" of `{ref}`")


@reported_once("primary")
def retry_contradictions(draft: Draft) -> Iterator[Diagnostic]:
    """`min-backoff` is not longer than `max-backoff`."""
    for ref in _readable(draft, "retry", "spark"):
        retry = streamlet_settings(draft.settings, ref).retry
        if retry.min_backoff > retry.max_backoff:
            spans = list(dict.fromkeys(span_of(value) for value in _backoffs(draft, ref)))
            yield finding(
                "retry-settings",
                f"`min-backoff` of `{ref}` is longer than its `max-backoff`",
                spans[0],
                also=[Label(span, "set here") for span in spans[1:]],
                causes=[f"`min-backoff` is {retry.min_backoff}, `max-backoff` is {retry.max_backoff}"],
                help=["raise `max-backoff`, or lower `min-backoff`"],
                streamlets=(ref,),
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


@reported_once()
def retry_names(draft: Draft) -> Iterator[Diagnostic]:
    """PSTL's retry options among the Spark settings exist and have valid values."""
    for path in _spark_sections(draft):
        for name, value in retry_options(draft.settings.get(*path)):
            try:
                option(name, value.text)
            except RetryOptionError as error:
                code = "unknown-setting" if error.unknown else "setting-type"
                place = key_span_of(value) if error.unknown else span_of(value)
                yield finding(code, str(error), place, help=error.help).about(path)


def _spark_sections(draft: Draft) -> list[tuple[str, ...]]:
    return [("runtimes", "spark"), *(("streamlets", ref, "spark") for ref in draft.blueprint.streamlets)]


@reported_once()
def spark_setting_names(draft: Draft) -> Iterator[Diagnostic]:
    """Spark, or probably a plug-in, has every Spark setting; reported once for a place that streamlets share."""
    for path in _spark_sections(draft):
        section = draft.settings.get(*path)
        for keys, name, _ in spark_settings_by_path(section):
            if is_option(name.removeprefix("spark.")) or not is_unknown(name):
                continue
            close = meant(name)
            yield finding(
                "spark-setting-unknown",
                f"Spark has no setting `{name}`",
                _misspelt_key(section, keys, name, close),
                help=(
                    f"did you mean {alternatives(close)}?" if close else "Spark ignores settings that it does not know",
                ),
            ).about(path)


def _misspelt_key(section: Value | None, keys: tuple[str, ...], name: str, close: tuple[str, ...]) -> Span | None:
    """Return the place of the key that differs from the setting that was meant; of the last key if none was.

    Arguments:
        section: the Spark settings.
        keys: the keys that lead to the setting, which may have dots.
        name: its full name.
        close: the settings that may have been meant.
    """
    parts = list(zip(name.split("."), close[0].split("."), strict=True)) if close else []
    same = next((index for index, (part, other) in enumerate(parts) if part != other), name.count("."))
    same -= name.count(".") - ".".join(keys).count(".")  # the prefix `spark.` may be omitted
    for index, key in enumerate(keys):
        same -= key.count(".") + 1
        if same < 0 or index == len(keys) - 1:
            value = section.get(*keys[: index + 1]) if isinstance(section, ObjectValue) else None
            return key_span_of(value) if value is not None else None
    return None


def real_time_channels(draft: Draft) -> Iterator[Diagnostic]:
    """The channels of all topics of a streamlet with a real-time trigger support it; reported once for each trigger."""
    affected: dict[Span, dict[str, dict[str, str]]] = defaultdict(dict)
    for ref in _readable(draft, "trigger", "queries"):
        place = real_time_setting(draft, ref)
        if place is None:
            continue
        ids = {binding.topic for binding in draft.wiring.bindings if binding.key.streamlet == ref}
        channels = {id: draft.topics[id].channel for id in sorted(ids) if id in draft.topics}
        slow = [id for id, name in channels.items() if name in draft.channels and not draft.channels[name].real_time]
        if slow:
            affected[key_span_of(place)][ref] = {id: channels[id] for id in slow}
    for span, slow_of in affected.items():
        (ref, first), *others = slow_of.items()
        who = f"`{ref}` and {len(others)} other{'s' * (len(others) > 1)} have" if others else f"`{ref}` has"
        topics = {id: channel for slow in slow_of.values() for id, channel in slow.items()}
        yield finding(
            "real-time-channel",
            f"{who} a real-time trigger, but the channel of {'the' if others else 'its'} topic `{next(iter(first))}` "
            "does not support it",
            span,
            also=[
                Label(draft.topic_key(id, "channel"), f"`{channel}` stores `{id}`") for id, channel in topics.items()
            ],
            help=["write `trigger { processing-time = 0 seconds }` for batches without a pause"],
            streamlets=slow_of,
            topics=topics,
        )


@reported_once("primary")
def real_time_intervals(draft: Draft) -> Iterator[Diagnostic]:
    """Spark accepts the time between the checkpoints of a real-time trigger; reported once for a shared place."""
    common = application_settings(draft.settings).spark
    for ref in _readable(draft, "trigger", "queries"):
        own = streamlet_settings(draft.settings, ref)
        if SHORTEST_REAL_TIME_SETTING in {**common, **own.spark}:
            continue
        inner = [("streamlets", ref, "queries", query, "trigger") for query in own.queries]
        for path in (("trigger",), ("streamlets", ref, "trigger"), *inner):
            value = draft.settings.get(*path, "real-time")
            interval = DURATION.value(value)
            if value is None or interval is None or interval >= SHORTEST_REAL_TIME:
                continue
            yield finding(
                "setting-type",
                f"`real-time` of `{path_text(path)}` must be {SHORTEST_REAL_TIME} or longer",
                span_of(value),
                causes=("Spark does not accept shorter times between two checkpoints; records do not wait for them",),
                streamlets=(ref,),
            )


def real_time_setting(draft: Draft, ref: str) -> Value | None:
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
    """Return the streamlets to which one of the sections applies, their own or the application's.

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
            ).about(path if len(path) > 1 else ())
