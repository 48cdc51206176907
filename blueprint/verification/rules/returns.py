"""Rules about `records` of `allow-cycles`: the condition under which records return into a cycle can be enforced."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.catalog import PortDescriptor, StreamletDescriptor
from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.hocon.values import Scalar, key_span_of, span_of
from blueprint.model.blueprint import DEAD_LETTERS, CycleStop
from blueprint.model.draft import Draft
from blueprint.spelling import did_you_mean, listing
from blueprint.sql.conditions import condition_faults
from blueprint.sql.embedded import EmbeddedSource


def conditions(draft: Draft) -> Iterator[Diagnostic]:
    """The condition is a boolean expression over the records of each outlet that leads back into the cycle."""
    for stop, descriptor, outlets in _limited(draft):
        assert stop.records is not None
        text, seen = EmbeddedSource(stop.records), set()
        for outlet in outlets:
            if outlet.contract is None or outlet.contract.fingerprint in seen:
                continue
            seen.add(outlet.contract.fingerprint)
            for fault in condition_faults(text.text, outlet.contract):
                yield finding(
                    "cycle-records",
                    f"`records` of `allow-cycles.{stop.streamlet}` {fault.headline}",
                    text.span(fault.start, fault.end),
                    also=draft.declared(stop.streamlet, outlet.declared, f"the records of the outlet `{outlet.name}`"),
                    help=fault.help,
                    streamlets=(stop.streamlet,),
                )
        if not descriptor.kind.on_spark:
            yield finding(
                "cycle-records",
                f"`records` of `allow-cycles.{stop.streamlet}` cannot be evaluated: it is not on Spark",
                key_span_of(stop.records),
                help=("let the streamlet itself stop the cycle, and remove `records`",),
                streamlets=(stop.streamlet,),
            )


def ways_out(draft: Draft) -> Iterator[Diagnostic]:
    """The records that do not return have a place: an outlet with the same records, or the dead letters."""
    for stop, descriptor, outlets in _limited(draft):
        assert stop.records is not None
        if stop.otherwise is not None:
            yield from _outlet_for_others(draft, stop, stop.otherwise, descriptor, outlets)
            continue
        for outlet in outlets:
            if outlet.on_invalid != "dead-letters":
                setting = f"flow.streamlets.{stop.streamlet}.outlets.{outlet.name}.on-invalid = dead-letters"
                yield finding(
                    "cycle-records",
                    f"records of `{stop.streamlet}.{outlet.name}` that do not satisfy `records` have no place to go",
                    key_span_of(stop.records),
                    also=draft.declared(stop.streamlet, outlet.declared, "this outlet leads back into the cycle"),
                    help=(
                        f"set `{setting}`",
                        f"or name an outlet for them: `allow-cycles.{stop.streamlet}.else = ...`",
                    ),
                    streamlets=(stop.streamlet,),
                )


def _outlet_for_others(
    draft: Draft, stop: CycleStop, name: Scalar, descriptor: StreamletDescriptor, returning: list[PortDescriptor]
) -> Iterator[Diagnostic]:
    """Check the outlet of `else`."""
    others = {outlet.name: outlet for outlet in descriptor.outlets if outlet.name != DEAD_LETTERS}
    candidates = [other for other in others if other not in {outlet.name for outlet in returning}]
    outlet = others.get(name.text)
    also: tuple[Label, ...] = ()
    if outlet is None:
        fault = f"names the outlet `{name.text}`, which `{stop.streamlet}` does not have"
        help = did_you_mean(name.text, candidates) or _known(candidates)
    elif outlet in returning:
        fault, help = f"names the outlet `{outlet.name}`, which leads back into the cycle", _known(candidates)
    else:
        different = [
            port for port in returning
            if port.contract and outlet.contract and port.contract.fingerprint != outlet.contract.fingerprint
        ]  # fmt: skip
        if not different:
            return
        fault = f"names the outlet `{outlet.name}`, which has another schema than `{different[0].name}`"
        help = (f"give `{outlet.name}` the schema of `{different[0].name}`",)
        also = draft.declared(stop.streamlet, outlet.declared, f"the outlet `{outlet.name}`")
    yield finding(
        "cycle-records",
        f"`else` of `allow-cycles.{stop.streamlet}` {fault}",
        span_of(name),
        also=also,
        help=help,
        streamlets=(stop.streamlet,),
    )


def _known(outlets: list[str]) -> tuple[str, ...]:
    return (f"the other outlets are {listing(outlets)}" if outlets else "remove `else`, and use the dead letters",)


def _limited(draft: Draft) -> Iterator[tuple[CycleStop, StreamletDescriptor, list[PortDescriptor]]]:
    """Yield the streamlets that limit what returns into a cycle, with their outlets that lead back."""
    stops = {ref: stop for ref, stop in (draft.blueprint.cycle_stops or {}).items() if stop.records is not None}
    back = draft.graph.ways_back(stops) if stops and not draft.blueprint.topics_broken else ()
    for ref, stop in stops.items():
        descriptor = draft.descriptor(ref)
        names = {edge.port for edge in back if edge.source.name == ref}
        if descriptor is not None and names:
            yield stop, descriptor, [outlet for outlet in descriptor.outlets if outlet.name in names]
