"""Changes of queries that only the logic tells: added, gone, renamed, fed otherwise, keeping another state.

They are seen where both descriptions know their queries. What a change of a port or class explains is told there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from blueprint.comparison.changes import Change, ChangeClass
from blueprint.comparison.descriptor import DescribedQuery, DescribedStreamlet
from blueprint.comparison.inlets import starting_words
from blueprint.comparison.pairing import Pairing
from blueprint.comparison.queries import source_of, stateful
from blueprint.comparison.state import differences
from blueprint.comparison.stateful_operators import operator_phrases
from blueprint.spelling import listing


def queries(pairing: Pairing) -> Iterator[Change]:
    """Queries of streamlets that stayed under their names."""
    for ref, old, new in pairing.kept:
        if old.queries is None or new.queries is None or (old.class_name != new.class_name and stateful(old)):
            continue
        yield from _Logic(ref, old, new, pairing.inlets[ref], pairing.outlets[ref]).changes(old.queries, new.queries)


@dataclass(frozen=True, slots=True)
class _Logic:
    """A streamlet in both descriptions, with the newer names of its inlets and outlets by the older ones."""

    ref: str
    old: DescribedStreamlet
    new: DescribedStreamlet
    inlets: Mapping[str, str]
    outlets: Mapping[str, str]

    def changes(self, old: Mapping[str, DescribedQuery], new: Mapping[str, DescribedQuery]) -> Iterator[Change]:
        gone, come = self._named_otherwise(old, new)
        for before, now in _renamed(gone, come):
            yield self._renamed(before, now, come[now])
            del gone[before], come[now]
        for name, query in gone.items():
            yield self._removed(name, query)
        for name, query in come.items():
            yield self._added(name, query)
        for name in sorted(set(old) & set(new)):
            why = tuple(differences(old[name], new[name]))
            if old[name].operators != new[name].operators:
                yield self._state(name, old[name], new[name])
            elif why:
                yield self._columns(name, why)
            else:
                yield from self._sources(name, old[name], new[name])

    def _named_otherwise(
        self, old: Mapping[str, DescribedQuery], new: Mapping[str, DescribedQuery]
    ) -> tuple[dict[str, DescribedQuery], dict[str, DescribedQuery]]:
        """Return the removed and the added queries, except those named after a removed or added outlet."""
        lost = {name for name in self.old.outlets if self.outlets.get(name) != name}
        won = {name for name in self.new.outlets if name not in self.outlets or self.outlets[name] != name}
        gone = {name: old[name] for name in sorted(set(old) - set(new)) if lost.isdisjoint(name.split("."))}
        come = {name: new[name] for name in sorted(set(new) - set(old)) if won.isdisjoint(name.split("."))}
        if won:  # a query of several outlets, which has one more now
            gone = {name: query for name, query in gone.items() if "." not in name}
        return gone, come

    def _renamed(self, before: str, now: str, query: DescribedQuery) -> Change:
        causes = [f"checkpoints are named after their query: that of `{before}` is not found by `{now}`"]
        causes.append("it begins anew, and writes again what it wrote already")
        if query.operators:
            causes.append(f"what {operator_phrases(query.operators)} still holds back goes with the old one")
        return self._change(
            "change-query-renamed", ChangeClass.STATE_LOSS,
            f"the query `{self.ref}.{before}` seems to be called `{now}` now", now, before, causes,
            (f'keep the name: `name="{before}"`',
             f"or rename the folder `checkpoints/{self.ref}/{before}` to `{now}` once the application is stopped"),
        )  # fmt: skip

    def _removed(self, name: str, query: DescribedQuery) -> Change:
        unread = [inlet for inlet in self.old.inlets if source_of(inlet) in (query.sources or ())]
        needs = ChangeClass.DRAIN if unread else ChangeClass.SAFE
        causes = [f"what it has not read yet of {listing(unread)} it does not read"] if unread else []
        if query.operators:
            needs = ChangeClass.STATE_LOSS
            causes.append(f"what {operator_phrases(query.operators)} still holds back goes with it")
        causes.append("its checkpoint stays in the state folder; a query of its name would go on from it")
        help = ("work off what there is first, on the old blueprint: `flow run --available-now`",) if unread else ()
        return self._change(
            "change-query-removed", needs, f"the query `{self.ref}.{name}` is gone", "", name, causes, help
        )

    def _added(self, name: str, query: DescribedQuery) -> Change:
        inlets = {
            inlet: one for inlet, one in sorted(self.new.inlets.items()) if source_of(inlet) in (query.sources or ())
        }
        causes = ["it begins with a checkpoint of its own"]
        causes += [starting_words(f"{self.ref}.{inlet}", one) for inlet, one in inlets.items()]
        headline = f"the query `{self.ref}.{name}` is new"
        return self._change("change-query-added", ChangeClass.SAFE, headline, name, "", causes)

    def _state(self, name: str, before: DescribedQuery, now: DescribedQuery) -> Change:
        kept, keeps = (operator_phrases(each.operators, none="nothing") for each in (before, now))
        return self._change(
            "change-query-state", ChangeClass.STATE_LOSS, f"the query `{self.ref}.{name}` keeps another state",
            name, name,
            (f"it kept {kept}, and keeps {keeps} now",
             "Spark goes on from a checkpoint only with the operators that made its state"),
            ("give the query another name, beside the old one until that has closed its windows",
             f"or begin it anew: `flow checkpoints reset {self.ref}.{name}`"),
        )  # fmt: skip

    def _columns(self, name: str, why: Iterable[str]) -> Change:
        return self._change(
            "change-query-state", ChangeClass.STATE_LOSS, f"the query `{self.ref}.{name}` keeps different state",
            name, name,
            (*why, "Spark refuses such state, or takes what it holds for something else"),
            ("give the query another name, beside the old one until that has closed its windows",
             f"or start it with a new checkpoint: `flow checkpoints reset {self.ref}.{name}`"),
        )  # fmt: skip

    def _sources(self, name: str, before: DescribedQuery, now: DescribedQuery) -> Iterator[Change]:
        if before.sources is None or now.sources is None:
            return
        moved = {source_of(each) for each in self.old.inlets if self.inlets.get(each) != each}
        moved |= {source_of(each) for each in self.new.inlets if each not in self.inlets.values()}
        moved |= {source_of(now) for was, now in self.inlets.items() if was != now}
        gone = [each for each in before.sources if each not in now.sources and each not in moved]
        come = [each for each in now.sources if each not in before.sources and each not in moved]
        if not gone and not come:
            return
        causes = []
        needs = ChangeClass.SAFE
        if gone:
            causes.append(f"it no longer reads {listing(gone)}, whose position goes with that")
            needs = ChangeClass.DRAIN
        if come:
            causes.append(f"it reads {listing(come)}, too, from the beginning")
        if gone and come:
            causes.append("a source that has only another name is read anew: its position is not found")
            needs = ChangeClass.STATE_LOSS
        if before.operators:
            said = operator_phrases(before.operators)
            causes.append(f"Spark refuses a checkpoint when {said} is fed otherwise")
            needs = ChangeClass.STATE_LOSS
        yield self._change(
            "change-query-sources", needs, f"the query `{self.ref}.{name}` reads other sources", name, name, causes,
            (f"keep the names of its sources: {listing(before.sources)}",) if gone else (),
        )  # fmt: skip

    def _change(
        self, code: str, needs: ChangeClass, headline: str, now: str, before: str, causes: Iterable[str],
        help: Iterable[str] = (),
    ) -> Change:  # fmt: skip
        lost = (f"{self.ref}.{before}",) if needs is ChangeClass.STATE_LOSS else ()
        return Change(code, needs, headline, self._path(now), self._path(before), lost, tuple(causes), tuple(help))

    def _path(self, query: str) -> tuple[str, ...]:
        return ("streamlets", self.ref, "queries", query) if query else ("streamlets", self.ref)


def _renamed(gone: Mapping[str, DescribedQuery], come: Mapping[str, DescribedQuery]) -> list[tuple[str, str]]:
    """Queries that are alike in all but their names, and like no other."""
    pairs = [(before, now) for before, one in gone.items() for now, other in come.items() if one == other]
    befores, nows = [before for before, _ in pairs], [now for _, now in pairs]
    return [(before, now) for before, now in pairs if befores.count(before) == 1 == nows.count(now)]
