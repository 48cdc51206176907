"""Changes of outlets: added, removed, renamed, connected to another topic."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.comparison.changes import Change, ChangeClass
from blueprint.comparison.descriptor import DescribedOutlet, DescribedStreamlet
from blueprint.comparison.pairing import Pairing
from blueprint.comparison.queries import keeping_state, missing, names, state_words, stateful, writing


def outlets(pairing: Pairing) -> Iterator[Change]:
    """Yield the changes of the outlets of streamlets that are in both descriptors under the same name."""
    for ref, old, new in pairing.kept:
        yield from _outlets(pairing, ref, old, new)


def _outlets(pairing: Pairing, ref: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Iterator[Change]:
    pairs = pairing.outlets[ref]
    for name in sorted(set(new.outlets) - set(pairs.values())):
        yield _outlet_added(ref, name, old, new)
    for name in sorted(set(old.outlets) - set(pairs)):
        yield _outlet_removed(ref, name, old, new)
    for before, now in sorted(pairs.items()):
        if before != now:
            yield _outlet_renamed(ref, (before, now), old, new)
        if not pairing.same_topic(old.outlets[before].topic, new.outlets[now].topic):
            yield _outlet_rewired(ref, before, now, old.outlets[before], new.outlets[now])


def _outlet_added(ref: str, name: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    outlet = new.outlets[name]
    joint = missing(ref, (
        f"{ref}.{query}"
        for query in sorted(old.queries or {})
        if "." in query and set(query.split(".")) <= set(old.outlets)
    ), new)  # fmt: skip
    path = ("streamlets", ref, "outlets", name)
    headline = f"`{ref}` has a new outlet `{name}`, which writes `{outlet.topic}`"
    causes = ("a new query for it starts with a new checkpoint, and reads the inlets from their `starting`",)
    if not joint:
        return Change("change-port-added", ChangeClass.SAFE, headline, path, ("streamlets", ref), (), causes)
    causes = (
        f"{names(joint)} is named after all outlets that it writes, so its checkpoint is not found with one more",
    )
    help = (f'keep the name of the query: `self.write_streams(..., name="{joint[0].partition(".")[2]}")`',)
    return Change("change-port-added", ChangeClass.STATE_LOSS, headline, path, ("streamlets", ref), joint, causes, help)


def _outlet_removed(ref: str, name: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    queries = missing(ref, writing(ref, old, name), new)
    lost = tuple(query for query in queries if query in keeping_state(ref, old)) if stateful(old) else ()
    joint = tuple(query for query in queries if query.count(".") > 1)
    causes = [f"it no longer writes `{old.outlets[name].topic}`"]
    if joint:
        causes.append(
            f"{names(joint)} is named after all outlets that it writes, so its checkpoint is not found with one less"
        )
    elif lost:
        causes.append(f"pending rows of {state_words(old)} in {names(lost)} are lost")
    needs = ChangeClass.STATE_LOSS if joint or lost else ChangeClass.DRAIN if old.inlets else ChangeClass.SAFE
    return Change(
        "change-port-removed", needs, f"the outlet `{ref}.{name}` was removed", ("streamlets", ref),
        ("streamlets", ref, "outlets", name), tuple(dict.fromkeys((*joint, *lost))), tuple(causes),
    )  # fmt: skip


def _outlet_renamed(ref: str, names: tuple[str, str], old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    before, now = names
    lost = missing(ref, writing(ref, old, before), new)
    headline = f"the outlet `{ref}.{before}` seems to have been renamed to `{now}`"
    path, was = ("streamlets", ref, "outlets", now), ("streamlets", ref, "outlets", before)
    if not lost:
        cause = "no query is named after it, so no checkpoint is lost"
        return Change("change-port-renamed", ChangeClass.SAFE, headline, path, was, (), (cause,))
    causes = (
        "a query has the name of its outlet unless the logic names it",
        f"`{now}` does not continue from the checkpoint of `{before}`, and writes its earlier output again",
    )
    help = (
        f"keep the name `{before}`",
        f'or name the query after the old outlet: `self.write_stream(..., name="{before}")`',
    )
    return Change("change-port-renamed", ChangeClass.STATE_LOSS, headline, path, was, lost, causes, help)


def _outlet_rewired(ref: str, before: str, now: str, old: DescribedOutlet, new: DescribedOutlet) -> Change:
    return Change(
        "change-outlet-rewired",
        ChangeClass.SAFE,
        f"`{ref}.{now}` writes `{new.topic}` instead of `{old.topic}`",
        ("streamlets", ref, "outlets", now, "topic"),
        ("streamlets", ref, "outlets", before, "topic"),
        (),
        (
            "a checkpoint has the positions of inlets, not of outlets, so its query continues",
            f"earlier records stay in `{old.topic}`; a batch planned before the change is still written there",
        ),
    )
