"""Changes of outlets: added, removed, renamed, on another topic."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.comparison.changes import Change, ChangeClass
from blueprint.comparison.descriptor import DescribedOutlet, DescribedStreamlet
from blueprint.comparison.pairing import Pairing
from blueprint.comparison.queries import gone, keeping_state, names, state_words, stateful, writing


def outlets(pairing: Pairing) -> Iterator[Change]:
    """Outlets of streamlets that stayed under their names."""
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
    joint = gone(ref, (
        f"{ref}.{query}"
        for query in sorted(old.queries or {})
        if "." in query and set(query.split(".")) <= set(old.outlets)
    ), new)  # fmt: skip
    path = ("streamlets", ref, "outlets", name)
    headline = f"`{ref}` has a new outlet `{name}`, which writes `{outlet.topic}`"
    causes = ("a query of its own begins anew, and reads the inlets from their `starting`",)
    if not joint:
        return Change("change-port-added", ChangeClass.SAFE, headline, path, ("streamlets", ref), (), causes)
    causes = (f"{names(joint)} is named after all outlets it writes: with one more its checkpoint is not found",)
    help = (f'keep the name of the query: `self.write_streams(..., name="{joint[0].partition(".")[2]}")`',)
    return Change("change-port-added", ChangeClass.STATE_LOSS, headline, path, ("streamlets", ref), joint, causes, help)


def _outlet_removed(ref: str, name: str, old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    queries = gone(ref, writing(ref, old, name), new)
    lost = tuple(query for query in queries if query in keeping_state(ref, old)) if stateful(old) else ()
    joint = tuple(query for query in queries if query.count(".") > 1)
    causes = [f"nothing more comes to `{old.outlets[name].topic}` from here"]
    if joint:
        causes.append(f"{names(joint)} is named after all outlets it writes: with one less its checkpoint is not found")
    elif lost:
        causes.append(f"what {state_words(old)} still holds back goes with {names(lost)}")
    needs = ChangeClass.STATE_LOSS if joint or lost else ChangeClass.DRAIN if old.inlets else ChangeClass.SAFE
    return Change(
        "change-port-removed", needs, f"the outlet `{ref}.{name}` is gone", ("streamlets", ref),
        ("streamlets", ref, "outlets", name), tuple(dict.fromkeys((*joint, *lost))), tuple(causes),
    )  # fmt: skip


def _outlet_renamed(ref: str, names: tuple[str, str], old: DescribedStreamlet, new: DescribedStreamlet) -> Change:
    before, now = names
    lost = gone(ref, writing(ref, old, before), new)
    headline = f"the outlet `{ref}.{before}` seems to be called `{now}` now"
    path, was = ("streamlets", ref, "outlets", now), ("streamlets", ref, "outlets", before)
    if not lost:
        cause = "no query is named after it, so all checkpoints are found again"
        return Change("change-port-renamed", ChangeClass.SAFE, headline, path, was, (), (cause,))
    causes = (
        "a query is called after its outlet unless the logic says otherwise",
        f"the checkpoint of `{before}` is not found by `{now}`, and what it wrote it writes again",
    )
    help = (f"keep the name `{before}`", f'or name the query after it: `self.write_stream(..., name="{before}")`')
    return Change("change-port-renamed", ChangeClass.STATE_LOSS, headline, path, was, lost, causes, help)


def _outlet_rewired(ref: str, before: str, now: str, old: DescribedOutlet, new: DescribedOutlet) -> Change:
    return Change(
        "change-outlet-rewired",
        ChangeClass.SAFE,
        f"`{ref}.{now}` writes `{new.topic}` now, no longer `{old.topic}`",
        ("streamlets", ref, "outlets", now, "topic"),
        ("streamlets", ref, "outlets", before, "topic"),
        (),
        (
            "its checkpoint holds positions of what it reads, not of what it writes: it goes on",
            f"what it wrote stays in `{old.topic}`; a batch that was decided before still comes there",
        ),
    )
