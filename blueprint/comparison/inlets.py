"""Changes of inlets: added, removed, renamed, on another topic."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.avro.model import Contract
from blueprint.comparison.changes import Change, ChangeClass
from blueprint.comparison.descriptor import ApplicationDescriptor, DescribedInlet, DescribedStreamlet
from blueprint.comparison.pairing import Pairing
from blueprint.comparison.queries import (
    UNKNOWN_STATE,
    keeping_state,
    names,
    reading,
    source_of,
    state_words,
    stateful,
    unlike,
)
from blueprint.comparison.schemas import Unread, unread
from blueprint.spelling import listing


def history(pairing: Pairing, topic: str) -> tuple[Contract, ...]:
    """Return the schemas that records already in a topic (by its newer id) may have."""
    before = pairing.old_topics.get(topic)
    if before is None or pairing.old.topics[before].place != pairing.new.topics[topic].place:
        return ()
    writers = pairing.old.outlets_of(before).values()
    old = pairing.old.topics[before]
    return () if old.empty else (*(outlet.contract for outlet in writers), *old.written)


def outside(descriptor: ApplicationDescriptor, topic: str) -> bool:
    """Return whether a topic is made or written by somebody else."""
    return not descriptor.topics[topic].managed or not descriptor.outlets_of(topic)


def unread_from_start(pairing: Pairing, inlet: DescribedInlet) -> list[Unread]:
    """Return what an inlet that has no position yet will come upon and cannot read."""
    return unread(history(pairing, inlet.topic), inlet.contract) if inlet.starting == "earliest" else []


def starting_words(path: str, inlet: DescribedInlet) -> str:
    """Return where an inlet without a position begins."""
    if inlet.starting == "latest":
        return f"`{path}` begins with what comes next in `{inlet.topic}`"
    return f"`{path}` begins at the first record of `{inlet.topic}`"


def inlets(pairing: Pairing) -> Iterator[Change]:
    """Inlets of streamlets that stayed under their names."""
    for ref, old, new in pairing.kept:
        pairs = pairing.inlets[ref]
        for name in sorted(set(new.inlets) - set(pairs.values())):
            yield _added(pairing, ref, name, old, new)
        for name in sorted(set(old.inlets) - set(pairs)):
            yield _removed(ref, name, old, new)
        for before, now in sorted(pairs.items()):
            if before != now:
                yield _renamed(ref, (before, now), old, new)
            if not pairing.same_topic(old.inlets[before].topic, new.inlets[now].topic):
                yield _rewired(pairing, ref, before, now, old, new.inlets[now])


def _added(pairing: Pairing, ref: str, name: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    inlet = new.inlets[name]
    lost, causes = _fed_otherwise(ref, name, old, new)
    causes.insert(0, starting_words(f"{ref}.{name}", inlet))
    needs = ChangeClass.STATE_LOSS if lost else ChangeClass.SAFE
    found = unread_from_start(pairing, inlet)
    if found:
        needs = ChangeClass.BREAKING
        causes += _unreadable(found, inlet.topic)
    return Change(
        "change-port-added", needs, f"`{ref}` has a new inlet `{name}`, which reads `{inlet.topic}`",
        ("streamlets", ref, "inlets", name), ("streamlets", ref), lost, tuple(causes), _remedies(found),
    )  # fmt: skip


def _removed(ref: str, name: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    lost, causes = _fed_otherwise(ref, name, old, new)
    causes.insert(0, f"what it has not read yet of `{old.inlets[name].topic}` is not read")
    return Change(
        "change-port-removed", ChangeClass.STATE_LOSS if lost else ChangeClass.DRAIN,
        f"the inlet `{ref}.{name}` is gone", ("streamlets", ref), ("streamlets", ref, "inlets", name),
        lost, tuple(causes), ("work off what there is first, on the old blueprint: `flow run --available-now`",),
    )  # fmt: skip


def _fed_otherwise(
    ref: str, inlet: str, old: DescribedStreamlet, new: DescribedStreamlet
) -> tuple[tuple[str, ...], list[str]]:
    """Queries that may not go on when an inlet comes or goes, and why; not those that are known to be fed as before."""
    if not old.source_evolution:
        lost = reading(ref, old, inlet)
        return lost, [
            "without source evolution a checkpoint goes on only with the sources it began with"
        ] if lost else []
    readers = set(reading(ref, old, inlet))
    lost = unlike(ref, (query for query in keeping_state(ref, old) if query in readers), old, new)
    if not lost:
        return (), []
    refused = f"{names(lost)} may not go on: Spark refuses a checkpoint when {state_words(old)} is fed otherwise"
    return lost, [refused, *((UNKNOWN_STATE,) if stateful(old) is None else ())]


def _renamed(ref: str, names: tuple[str, str], old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    before, now = names
    headline = f"the inlet `{ref}.{before}` seems to be called `{now}` now"
    path, was = ("streamlets", ref, "inlets", now), ("streamlets", ref, "inlets", before)
    lost, source = reading(ref, old, before), source_of(before)
    if lost and not unlike(ref, lost, old, new):
        return Change("change-port-renamed", ChangeClass.SAFE, headline, path, was, (), (_SOURCE_STAYS,))
    if not lost:
        return Change("change-port-renamed", ChangeClass.SAFE, headline, path, was, (), (_UNREAD,))
    causes = (
        f"a checkpoint knows its sources by their inlets: the position of `{before}` is not found by `{now}`",
        starting_words(f"{ref}.{now}", new.inlets[now]),
    )
    help = (f"keep the name `{before}`", f'or name the source after it: `self.read_stream(..., name="{source}")`')
    return Change("change-port-renamed", ChangeClass.STATE_LOSS, headline, path, was, lost, causes, help)


_SOURCE_STAYS = "the logic gives its source the name it had, so its position is found"
_UNREAD = "no query has read it, so no position is lost"


def _rewired(
    pairing: Pairing, ref: str, before: str, now: str, old: DescribedStreamlet, inlet: DescribedInlet
) -> Change:
    was = old.inlets[before].topic
    lost = reading(ref, old, before)
    headline = f"`{ref}.{now}` reads `{inlet.topic}` now, no longer `{was}`"
    path, place = ("streamlets", ref, "inlets", now, "topic"), ("streamlets", ref, "inlets", before, "topic")
    if not lost:
        return Change("change-inlet-rewired", ChangeClass.SAFE, headline, path, place, (), (_UNREAD,))
    found = unread_from_start(pairing, inlet)
    causes = _unreadable(found, inlet.topic)
    causes.append(
        f"the position that {names(lost)} kept in `{was}` means nothing in `{inlet.topic}`: it refuses to start"
    )
    folders = listing(f"checkpoints/{query.replace('.', '/', 1)}" for query in lost)
    help = (
        *_remedies(found),
        f"work off `{was}` on the old blueprint (`flow run --available-now`), then delete {folders}",
        f"or leave the inlet, and add one of another name that reads `{inlet.topic}`",
    )
    needs = ChangeClass.BREAKING if found else ChangeClass.STATE_LOSS
    return Change("change-inlet-rewired", needs, headline, path, place, lost, tuple(causes), help)


def _unreadable(found: list[Unread], topic: str) -> list[str]:
    return [cause for one in found for cause in (f"it cannot read what already lies in `{topic}`", *one.causes)]


def _remedies(found: list[Unread]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for one in found for text in one.changes))
