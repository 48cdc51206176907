"""Rules about what inlets wait for before their streamlets start: `sequential`, `sync-open` and `open-timeout`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from blueprint.core_settings import InletSettings
from blueprint.diagnostics import Diagnostic, Span, finding
from blueprint.hocon.values import key_span_of
from blueprint.model.draft import Draft
from blueprint.model.graph import Node
from blueprint.model.wiring import Binding
from blueprint.settings.values import inlet_settings
from blueprint.spelling import listing
from blueprint.verification.rules.ends import Ends
from blueprint.verification.rules.links import missing_links


@dataclass(frozen=True, slots=True)
class _WaitingInlet:
    """An inlet that waits for the producers of its topic.

    Arguments:
        path: the inlet as a port path.
        producers: the streamlets that write its topic, in the order of the blueprint.
        key: the key of the setting that lets it wait, and its place.
    """

    path: str
    streamlet: str
    topic: str
    settings: InletSettings
    producers: tuple[str, ...]
    key: str
    place: Span


def inlets_that_cannot_open(draft: Draft) -> Iterator[Diagnostic]:
    """No inlet waits for a producer that can only start, or end, after the streamlet of the inlet has started."""
    inlets = _waiting_inlets(draft)
    openable = _openable(draft, inlets)
    for inlet in inlets:
        cyclic = _cyclic(draft, inlet)
        if not cyclic or not (inlet.settings.sequential or inlet.streamlet not in openable):
            continue
        end = "end" if inlet.settings.sequential else "opening"
        yield finding(
            "inlet-cannot-open",
            f"`{inlet.path}` waits for the {end} of {listing(cyclic)}, which cannot come before `{inlet.streamlet}` "
            "has started",
            inlet.place,
            label="the inlet is part of a cycle",
            help=(f"remove `{inlet.key}`, or the cycle",),
            streamlets=(inlet.streamlet, *cyclic),
            topics=(inlet.topic,),
        )


def waits_for_ever(draft: Draft) -> Iterator[Diagnostic]:
    """The producers of a sequential inlet end by themselves."""
    ends = Ends(draft)
    for inlet in _waiting_inlets(draft):
        endless = [ref for ref in inlet.producers if not ends.may_end(ref)] if inlet.settings.sequential else []
        if not endless or _cyclic(draft, inlet):
            continue  # a cycle is reported by another rule
        origins: dict[str, str] = {}
        for ref in endless:
            origins |= {origin: ref for origin in ends.origins(ref) if origin not in origins}
        in_order = f"remove `{inlet.key}` and process all available data in order with `flow run --available-now`"
        yield finding(
            "inlet-waits-for-ever",
            f"`{inlet.path}` waits for the end of {listing(endless)}, which only a request ends",
            inlet.place,
            causes=tuple(_cause(ref, origin, ends.reason(origin)) for origin, ref in origins.items()),
            help=("; or ".join([*ends.remedy(origins), in_order]),),
            streamlets=(inlet.streamlet, *dict.fromkeys([*endless, *origins])),
            topics=(inlet.topic,),
        )


def _cause(producer: str, origin: str, reason: str) -> str:
    """Return why a producer does not end, because of itself or of a streamlet before it."""
    return (
        f"`{producer}` {reason}" if producer == origin else f"`{producer}` ends only after `{origin}`, which {reason}"
    )


def waits_for_nothing(draft: Draft) -> Iterator[Diagnostic]:
    """An inlet that is to wait has a producer in the application to wait for."""
    if missing_links(draft):
        return
    for inlet in _waiting_inlets(draft):
        if set(inlet.producers) - {inlet.streamlet}:
            continue
        facts = draft.topics.get(inlet.topic)
        external = facts is not None and not facts.managed
        yield finding(
            "inlet-waits-for-nothing",
            f"`{inlet.key}` of `{inlet.path}` has no effect: no other streamlet of the application writes "
            f"`{inlet.topic}`",
            inlet.place,
            causes=("when other applications open or end is not known",) if external else (),
            help=(f"remove `{inlet.key}`",),
            streamlets=(inlet.streamlet,),
            topics=(inlet.topic,),
        )


def _waiting_inlets(draft: Draft) -> list[_WaitingInlet]:
    """Return the inlets that wait, once for each; none if settings or connections are broken, which is reported."""
    if draft.misfits or draft.blueprint.topics_broken:
        return []
    writers: dict[str, list[str]] = {}
    for binding in draft.wiring.bindings:
        if binding.key.role == "producer":
            writers.setdefault(binding.topic, []).append(binding.key.streamlet)
    inlets = (_waiting_inlet(draft, binding, writers) for binding in draft.wiring.bindings)
    return [inlet for inlet in inlets if inlet is not None]


def _waiting_inlet(draft: Draft, binding: Binding, writers: dict[str, list[str]]) -> _WaitingInlet | None:
    ref, port = binding.key.streamlet, binding.key.port
    if binding.key.role != "consumer":
        return None
    own = inlet_settings(draft.settings, ref, port)
    set_to_wait = {
        "sequential": own.sequential,
        "sync-open": own.sync_open,
        "open-timeout": own.open_timeout.nanoseconds > 0,
    }
    key = next((key for key, waits in set_to_wait.items() if waits), None)
    value = draft.settings.get("streamlets", ref, "inlets", port, key) if key is not None else None
    if key is None or value is None:
        return None
    producers = tuple(dict.fromkeys(writers.get(binding.topic, ())))
    return _WaitingInlet(binding.key.path, ref, binding.topic, own, producers, key, key_span_of(value))


def _cyclic(draft: Draft, inlet: _WaitingInlet) -> list[str]:
    """Return the producers of an inlet that its streamlet leads to."""
    following = draft.graph.reachable({Node("streamlet", inlet.streamlet)})
    return [ref for ref in inlet.producers if Node("streamlet", ref) in following]


def _openable(draft: Draft, inlets: list[_WaitingInlet]) -> set[str]:
    """Return the streamlets that can open, one after the other."""
    openable: set[str] = set()
    while True:
        blocked = {inlet.streamlet for inlet in inlets if _is_blocked(inlet, openable)}
        grown = set(draft.blueprint.streamlets) - blocked
        if grown == openable:
            return openable
        openable = grown


def _is_blocked(inlet: _WaitingInlet, openable: set[str]) -> bool:
    others = set(inlet.producers) - {inlet.streamlet}
    open_others = others & openable
    everyone = inlet.settings.sequential or inlet.settings.sync_open
    return open_others != others if everyone else bool(others) and not open_others
