"""Rules about the ends of streamlets: `end`."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.diagnostics import Diagnostic, finding
from blueprint.hocon.values import key_span_of
from blueprint.model.draft import Draft
from blueprint.settings.values import streamlet_settings
from blueprint.trigger import AvailableNow
from blueprint.verification.rules.links import missing_links


def ends_that_never_come(draft: Draft) -> Iterator[Diagnostic]:
    """The producers of a streamlet that is to end with them do so; reported where the first one does not."""
    if draft.misfits or draft.blueprint.topics_broken or missing_links(draft):
        return
    ends = Ends(draft)
    for ref in draft.blueprint.streamlets:
        if not ends.is_set(ref):
            yield from _end_without_producers(draft, ends, ref)
            continue
        place = draft.settings.get("streamlets", ref, "end") or draft.settings.get("end")
        if place is None or (blame := ends.blame(ref)) is None:
            continue
        yield finding(
            "end-never-comes",
            f"`{ref}` is to end with its producers, but does not end by itself",
            key_span_of(place),
            causes=(blame,),
            help=(f"set `flow.streamlets.{ref}.end = on-request`, or let its producers end",),
            streamlets=(ref,),
        )


def _end_without_producers(draft: Draft, ends: Ends, ref: str) -> Iterator[Diagnostic]:
    """Report an `end` of a streamlet itself that has no producers, and goes on."""
    place = draft.settings.get("streamlets", ref, "end")
    if place is None or not streamlet_settings(draft.settings, ref).ends_with_producers or ends.may_end(ref):
        return
    yield finding(
        "end-never-comes",
        f"`{ref}` is to end with its producers, but has none",
        key_span_of(place),
        causes=(f"it {ends.reason(ref)}",),
        help=("remove `end`, or set `trigger = available-now`",),
        streamlets=(ref,),
    )


class Ends:
    """Which streamlets of an application may end without a request, by their kinds and settings."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._known: dict[str, bool] = {}
        self._reads: dict[str, list[str]] = {}
        self._writers: dict[str, list[str]] = {}
        for binding in draft.wiring.bindings:
            side, owner, other = (
                (self._writers, binding.topic, binding.key.streamlet)
                if binding.key.role == "producer"
                else (self._reads, binding.key.streamlet, binding.topic)
            )
            side.setdefault(owner, []).append(other)

    def is_set(self, ref: str) -> bool:
        """Return whether a streamlet is to end with its producers: it has inlets, or its own discovery."""
        set_to_end = streamlet_settings(self._draft.settings, ref).ends_with_producers
        return set_to_end and (ref in self._reads or self._is_batch_source(ref))

    def may_end(self, ref: str) -> bool:
        """Return whether a streamlet may end."""
        if ref not in self._known:
            self._known[ref] = False  # of a cycle
            self._known[ref] = self._may_end(ref)
        return self._known[ref]

    def blame(self, ref: str) -> str | None:
        """Return why a streamlet that is to end does not; None if it may, or if a producer that is to end is to
        blame."""
        draft = self._draft
        if draft.descriptor(ref) is None or self.may_end(ref):
            return None
        if self._is_batch_source(ref):
            return f"`{ref}` {self.reason(ref)}"
        for topic in self._reads[ref]:
            if not self._writers_are_known(topic, ref):
                return f"when the writers of `{topic}` in other applications end is not known"
        endless = [other for topic in self._reads[ref] for other in self._writers[topic] if not self.may_end(other)]
        if all(self.is_set(other) for other in endless):
            return None  # that one is reported
        first = next(other for other in endless if not self.is_set(other))
        return f"its producer `{first}` {self.reason(first)}"

    def reason(self, ref: str) -> str:
        """Return why a streamlet does not end, as the rest of a sentence."""
        if self._is_batch_source(ref):
            return (
                "goes on discovering tasks" if self._is_endless_source(ref) else "goes on, as `end` is not set for it"
            )
        if self._listens(ref):
            return "goes on serving its port"
        return "goes on: only a query with the trigger `available-now` ends by itself" + (
            ", or one with `end`" if ref in self._reads else ""
        )

    def remedy(self, ref: str) -> str:
        """Return the setting that lets a streamlet end."""
        inherits = ref in self._reads or (self._is_batch_source(ref) and not self._is_endless_source(ref))
        return "end = when-producers-end" if inherits else "trigger = available-now"

    def _may_end(self, ref: str) -> bool:
        descriptor = self._draft.descriptor(ref)
        settings = streamlet_settings(self._draft.settings, ref)
        if descriptor is None:
            return True  # another rule reports that its class cannot be described
        if any(isinstance(trigger, AvailableNow) for trigger in (settings.trigger, *settings.queries.values())):
            return True
        if ref not in self._reads:
            if descriptor.kind.tasks:
                return descriptor.external.finite and self.is_set(ref)
            return descriptor.kind.completes and not descriptor.external.listening
        return self.is_set(ref) and all(
            self._writers_are_known(topic, ref)
            and all(self.may_end(other) for other in self._writers[topic] if other != ref)
            for topic in self._reads[ref]
        )

    def _writers_are_known(self, topic: str, reader: str) -> bool:
        facts = self._draft.topics.get(topic)
        others = [ref for ref in self._writers.get(topic, ()) if ref != reader]
        return bool(others) and (facts is None or facts.managed)

    def _is_endless_source(self, ref: str) -> bool:
        descriptor = self._draft.descriptor(ref)
        return descriptor is not None and not descriptor.external.finite

    def _is_batch_source(self, ref: str) -> bool:
        descriptor = self._draft.descriptor(ref)
        return descriptor is not None and descriptor.kind.tasks

    def _listens(self, ref: str) -> bool:
        descriptor = self._draft.descriptor(ref)
        return descriptor is not None and descriptor.kind.completes and bool(descriptor.external.listening)
