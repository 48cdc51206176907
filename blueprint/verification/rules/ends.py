"""Rules about the ends of streamlets: `end`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from blueprint.diagnostics import Diagnostic, finding
from blueprint.hocon.values import key_span_of
from blueprint.model.draft import Draft
from blueprint.settings.values import streamlet_settings
from blueprint.spelling import listing
from blueprint.trigger import AvailableNow, Trigger
from blueprint.verification.rules.links import missing_links


def ends_that_never_come(draft: Draft) -> Iterator[Diagnostic]:
    """What is to end by itself does so; reported where the first streamlet does not, and once for each cycle."""
    if draft.misfits or draft.blueprint.topics_broken or missing_links(draft):
        return
    ends = Ends(draft)
    in_cycles: set[str] = set()
    for ref in draft.blueprint.streamlets:
        if not ends.is_set(ref):
            yield from _end_without_producers(draft, ends, ref)
            continue
        place = draft.settings.get("streamlets", ref, "end") or draft.settings.get("end")
        blamed = () if place is None or ref in in_cycles else ends.blamed(ref)
        if place is None or not blamed:
            continue
        in_cycles.update(ends.cycle(ref))
        remedy = ends.remedy([ref] if ref in blamed else blamed)
        if ends.is_batch_source(ref):
            message = f"`{ref}` is to end when its tasks are read, but its discovery does not end"
        else:
            message = f"`{ref}` is to end with its producers, but does not end by itself"
        yield finding(
            "end-never-comes",
            message,
            key_span_of(place),
            causes=tuple(
                f"{'' if other == ref else 'its producer '}`{other}` {ends.reason(other)}" for other in blamed
            ),
            help=(", or ".join([f"set `flow.streamlets.{ref}.end = on-request`", *remedy]),),
            streamlets=(ref, *(other for other in blamed if other != ref)),
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
        help=(", or ".join(["remove `end`", *ends.remedy([ref])]),),
        streamlets=(ref,),
    )


class Ends:
    """Which streamlets of an application may end without a request, by their kinds and settings.

    This is the rule of the runner, see `streamlets.runner.openings.ending_in`: a query ends if its trigger is
    `available-now`, a batch source with `end` if its triggerer calls for one discovery, a spout if it serves no port,
    and a streamlet with `end` after its producers.
    """

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
        return set_to_end and (ref in self._reads or self.is_batch_source(ref))

    def may_end(self, ref: str) -> bool:
        """Return whether a streamlet may end."""
        if ref not in self._known:
            self._known[ref] = False  # of a cycle
            self._known[ref] = self._may_end(ref)
        return self._known[ref]

    def is_batch_source(self, ref: str) -> bool:
        """Return whether a streamlet is a batch source."""
        descriptor = self._draft.descriptor(ref)
        return descriptor is not None and descriptor.kind.tasks

    def blamed(self, ref: str) -> tuple[str, ...]:
        """Return the streamlets because of which one that is to end does not: itself, or its producers.

        There are none if it may end, or if producers are to blame that are to end, for which it is reported.
        """
        if self.may_end(ref):
            return ()
        endless = self._endless_producers(ref)
        itself = (ref,) if not endless or self.cycle(ref) else ()
        return (*(other for other in endless if not self.is_set(other)), *itself)

    def origins(self, ref: str) -> tuple[str, ...]:
        """Return the streamlets because of which one does not end: itself, or the first ones before it that go on.

        The first streamlet of a cycle stands for the whole cycle.
        """
        origins, in_cycles = [], set[str]()
        for other in self._endless_until(ref):
            cycle = self.cycle(other)
            if not self._endless_producers(other) or (cycle and other not in in_cycles):
                origins.append(other)
            in_cycles.update(cycle)
        return tuple(origins)

    def cycle(self, ref: str) -> tuple[str, ...]:
        """Return the streamlets of a cycle that all end only after each other; none if a streamlet is not in one."""
        reached = [other for first in self._endless_producers(ref) for other in self._endless_until(first)]
        if ref not in reached:
            return ()
        return tuple(dict.fromkeys([ref, *(other for other in reached if ref in self._endless_until(other))]))

    def reason(self, ref: str) -> str:
        """Return why a streamlet does not end, as the rest of a sentence."""
        if self.is_batch_source(ref):
            return (
                "goes on discovering tasks: only the triggerer `immediate`, or one of your own with a true `once`, "
                "calls for a single discovery"
                if self._is_endless_source(ref)
                else "goes on, as `end` is not set for it"
            )
        if self._completes(ref):
            return "goes on serving its port"
        if self.is_set(ref):
            if unknown := next((topic for topic in self._reads[ref] if not self._writers_are_known(topic, ref)), None):
                return f"goes on: when the writers of `{unknown}` in other applications end is not known"
            others = [other for other in self.cycle(ref) if other != ref]
            return f"is in a cycle with {listing(others)}: each of them would end only after the others"
        return "goes on: only a query with the trigger `available-now` ends by itself" + (
            ", or one with `end`" if ref in self._reads else ""
        )

    def remedy(self, refs: Iterable[str]) -> list[str]:
        """Return the changes that let all of some streamlets end, as an imperative; none if one of them cannot."""
        changes = [self._changes(ref) for ref in refs]
        return [" and ".join(change for of_one in changes for change in of_one)] if all(changes) else []

    def _changes(self, ref: str) -> list[str]:
        """Return the changes that let a streamlet end if its producers are as they are; none if nothing does."""
        path = f"flow.streamlets.{ref}"
        settings = streamlet_settings(self._draft.settings, ref)
        if self.is_batch_source(ref):
            once = [f"use the triggerer `immediate` for `{ref}`"] if self._is_endless_source(ref) else []
            return once + ([] if self.is_set(ref) else [f"set `{path}.end = when-producers-end`"])
        if self._completes(ref):
            return []
        if not self.is_set(ref) and self._producers_may_end(ref):
            return [f"set `{path}.end = when-producers-end`"]
        own = [f"queries.{name}.trigger" for name, trigger in settings.queries.items() if not _ends(trigger)]
        return [f"set `{path}.{key} = available-now`" for key in ["trigger", *own]]

    def _may_end(self, ref: str) -> bool:
        descriptor = self._draft.descriptor(ref)
        if descriptor is None:
            return True  # another rule reports that its class cannot be described
        if descriptor.kind.tasks:
            return descriptor.external.finite and self.is_set(ref)
        if descriptor.kind.completes:
            return not descriptor.external.listening
        settings = streamlet_settings(self._draft.settings, ref)
        own = settings.queries.values()  # whether there are queries without a trigger of their own is not known
        if all(map(_ends, own)) and (own or _ends(settings.trigger)):
            return True
        return self.is_set(ref) and self._producers_may_end(ref)

    def _producers_may_end(self, ref: str) -> bool:
        """Return whether a streamlet has producers, all of which are known and may end."""
        topics = self._reads.get(ref, [])
        return bool(topics) and all(
            self._writers_are_known(topic, ref)
            and all(self.may_end(other) for other in self._writers[topic] if other != ref)
            for topic in topics
        )

    def _endless_producers(self, ref: str) -> list[str]:
        """Return the producers with which a streamlet is to end, but which do not end; none without such ones."""
        topics = self._reads.get(ref, [])
        waits = self.is_set(ref) and not self.may_end(ref) and not self.is_batch_source(ref)
        if not waits or not all(self._writers_are_known(topic, ref) for topic in topics):
            return []
        writers = dict.fromkeys(other for topic in topics for other in self._writers[topic] if other != ref)
        return [other for other in writers if not self.may_end(other)]

    def _endless_until(self, ref: str) -> list[str]:
        """Return a streamlet and all before it that it is to end with, but which do not end."""
        reached = [ref]
        for other in reached:  # it grows
            reached += [producer for producer in self._endless_producers(other) if producer not in reached]
        return reached

    def _writers_are_known(self, topic: str, reader: str) -> bool:
        facts = self._draft.topics.get(topic)
        others = [ref for ref in self._writers.get(topic, ()) if ref != reader]
        return bool(others) and (facts is None or facts.managed)

    def _is_endless_source(self, ref: str) -> bool:
        descriptor = self._draft.descriptor(ref)
        return descriptor is not None and not descriptor.external.finite

    def _completes(self, ref: str) -> bool:
        """Return whether a streamlet is of a kind that completes, as a spout."""
        descriptor = self._draft.descriptor(ref)
        return descriptor is not None and descriptor.kind.completes


def _ends(trigger: Trigger | None) -> bool:
    return isinstance(trigger, AvailableNow)
