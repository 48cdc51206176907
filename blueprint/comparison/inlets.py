"""Changes of inlets: added, removed, renamed, connected to another topic."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.avro.model import Contract
from blueprint.comparison.changes import Change, ChangeClass
from blueprint.comparison.descriptor import ApplicationDescriptor, DescribedInlet, DescribedStreamlet
from blueprint.comparison.pairing import Pairing
from blueprint.comparison.queries import (
    PROCESS_FIRST,
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
    """Return the schemas that the records already in a topic may have, by the newer id of the topic."""
    before = pairing.old_topics.get(topic)
    if before is None or pairing.old.topics[before].place != pairing.new.topics[topic].place:
        return ()
    writers = pairing.old.outlets_of(before).values()
    old = pairing.old.topics[before]
    return () if old.empty else (*(outlet.contract for outlet in writers), *old.written)


def outside(descriptor: ApplicationDescriptor, topic: str) -> bool:
    """Return whether another application creates or writes a topic."""
    return not descriptor.topics[topic].managed or not descriptor.outlets_of(topic)


def unread_from_start(pairing: Pairing, inlet: DescribedInlet) -> list[Unread]:
    """Return the schemas that an inlet without a position will meet and cannot read."""
    return unread(history(pairing, inlet.topic), inlet.contract) if inlet.starting == "earliest" else []


def starting_words(path: str, inlet: DescribedInlet) -> str:
    """Return a sentence about the record with which an inlet without a position begins."""
    if inlet.starting == "latest":
        return f"`{path}` begins with the next record written to `{inlet.topic}`"
    return f"`{path}` begins with the first record of `{inlet.topic}`"


def inlets(pairing: Pairing) -> Iterator[Change]:
    """Yield the changes of the inlets of streamlets that are in both descriptors under the same name."""
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
    lost, causes = _fed_differently(ref, name, old, new)
    causes.insert(0, starting_words(f"{ref}.{name}", inlet))
    needs = ChangeClass.STATE_LOSS if lost else ChangeClass.SAFE
    unreadable = unread_from_start(pairing, inlet)
    if unreadable:
        needs = ChangeClass.BREAKING
        causes += _unreadable(unreadable, inlet.topic)
    return Change(
        "change-port-added", needs, f"`{ref}` has a new inlet `{name}`, which reads `{inlet.topic}`",
        ("streamlets", ref, "inlets", name), ("streamlets", ref), lost, tuple(causes), _remedies(unreadable),
    )  # fmt: skip


def _removed(ref: str, name: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    lost, causes = _fed_differently(ref, name, old, new)
    causes.insert(0, f"its unread records in `{old.inlets[name].topic}` will not be read")
    return Change(
        "change-port-removed", ChangeClass.STATE_LOSS if lost else ChangeClass.DRAIN,
        f"the inlet `{ref}.{name}` was removed", ("streamlets", ref), ("streamlets", ref, "inlets", name),
        lost, tuple(causes), (PROCESS_FIRST,),
    )  # fmt: skip


def _fed_differently(
    ref: str, inlet: str, old: DescribedStreamlet, new: DescribedStreamlet
) -> tuple[tuple[str, ...], list[str]]:
    """Return the queries that may fail to continue when an inlet is added or removed, and the reasons.

    Queries that are known to read the same sources are not among them.
    """
    if not old.source_evolution:
        lost = reading(ref, old, inlet)
        return lost, [
            "without source evolution, a checkpoint can be continued only with the same sources"
        ] if lost else []
    readers = set(reading(ref, old, inlet))
    lost = unlike(ref, (query for query in keeping_state(ref, old) if query in readers), old, new)
    if not lost:
        return (), []
    rejected = (
        f"{names(lost)} may fail to continue: Spark rejects a checkpoint when {state_words(old)} has other inputs"
    )
    return lost, [rejected, *((UNKNOWN_STATE,) if stateful(old) is None else ())]


def _renamed(ref: str, names: tuple[str, str], old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    before, now = names
    headline = f"the inlet `{ref}.{before}` seems to have been renamed to `{now}`"
    path, was = ("streamlets", ref, "inlets", now), ("streamlets", ref, "inlets", before)
    lost, source = reading(ref, old, before), source_of(before)
    if lost and not unlike(ref, lost, old, new):
        return Change("change-port-renamed", ChangeClass.SAFE, headline, path, was, (), (_SOURCE_STAYS,))
    if not lost:
        return Change("change-port-renamed", ChangeClass.SAFE, headline, path, was, (), (_UNREAD,))
    causes = (
        f"a checkpoint stores positions by inlet, so `{now}` does not continue from the position of `{before}`",
        starting_words(f"{ref}.{now}", new.inlets[now]),
    )
    help = (
        f"keep the name `{before}`",
        f'or name the source after the old inlet: `self.read_stream(..., name="{source}")`',
    )
    return Change("change-port-renamed", ChangeClass.STATE_LOSS, headline, path, was, lost, causes, help)


_SOURCE_STAYS = "the logic names its source as before, so its position is found"
_UNREAD = "no query has read it, so no position is lost"


def _rewired(
    pairing: Pairing, ref: str, before: str, now: str, old: DescribedStreamlet, inlet: DescribedInlet
) -> Change:
    was = old.inlets[before].topic
    lost = reading(ref, old, before)
    headline = f"`{ref}.{now}` reads `{inlet.topic}` instead of `{was}`"
    path, place = ("streamlets", ref, "inlets", now, "topic"), ("streamlets", ref, "inlets", before, "topic")
    if not lost:
        return Change("change-inlet-rewired", ChangeClass.SAFE, headline, path, place, (), (_UNREAD,))
    schemas = unread_from_start(pairing, inlet)
    causes = _unreadable(schemas, inlet.topic)
    causes.append(f"the position of {names(lost)} in `{was}` is not valid in `{inlet.topic}`, so it fails to start")
    directories = listing(f"checkpoints/{query.replace('.', '/', 1)}" for query in lost)
    help = (
        *_remedies(schemas),
        f"process `{was}` with the old blueprint (`flow run --available-now`), then delete {directories}",
        f"or keep the inlet, and add another one that reads `{inlet.topic}`",
    )
    needs = ChangeClass.BREAKING if schemas else ChangeClass.STATE_LOSS
    return Change("change-inlet-rewired", needs, headline, path, place, lost, tuple(causes), help)


def _unreadable(schemas: list[Unread], topic: str) -> list[str]:
    return [text for schema in schemas for text in (f"it cannot read records already in `{topic}`", *schema.causes)]


def _remedies(schemas: list[Unread]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for schema in schemas for text in schema.changes))
