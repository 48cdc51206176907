"""Changes of queries in the logic: added, removed, renamed, with different sources or state.

They are detected when both descriptors have the queries. A change that follows from a change of a port or class is
reported with that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from blueprint.comparison.changes import Change, ChangeClass
from blueprint.comparison.descriptor import DescribedQuery, DescribedStreamlet
from blueprint.comparison.inlets import starting_words
from blueprint.comparison.pairing import Pairing
from blueprint.comparison.queries import PROCESS_FIRST, moved, source_of, stateful
from blueprint.comparison.state import differences
from blueprint.comparison.state_logic import logic_differences
from blueprint.comparison.stateful_operators import operator_phrases
from blueprint.spelling import listing


def queries(pairing: Pairing) -> Iterator[Change]:
    """Yield the changes of the queries of streamlets that are in both descriptors under the same name."""
    for ref, old, new in pairing.kept:
        replaced = old.class_name != new.class_name and not moved(old, new)
        if old.queries is None or new.queries is None or (replaced and stateful(old)):
            continue
        yield from _Logic(ref, old, new, pairing.inlets[ref], pairing.outlets[ref]).changes(old.queries, new.queries)


@dataclass(frozen=True, slots=True)
class _Logic:
    """A streamlet in both descriptors, with the newer names of its inlets and outlets by the older ones."""

    ref: str
    old: DescribedStreamlet
    new: DescribedStreamlet
    inlets: Mapping[str, str]
    outlets: Mapping[str, str]

    def changes(self, old: Mapping[str, DescribedQuery], new: Mapping[str, DescribedQuery]) -> Iterator[Change]:
        removed, added = self._removed_and_added(old, new)
        for before, now in _renamed(removed, added):
            yield self._renamed(before, now, added[now])
            del removed[before], added[now]
        for name, query in removed.items():
            yield self._removed(name, query)
        for name, query in added.items():
            yield self._added(name, query)
        for name in sorted(set(old) & set(new)):
            if old[name].operators != new[name].operators:
                yield self._state(name, old[name], new[name])
                continue
            logic = logic_differences(old[name], new[name])
            if reasons := (*differences(old[name], new[name]), *logic.lost):
                yield self._columns(name, reasons)
                continue
            yield from self._sources(name, old[name], new[name])
            if logic.later:
                yield self._later(name, logic.later)
            if logic.unknown:
                yield self._unknown(name, logic.unknown)

    def _removed_and_added(
        self, old: Mapping[str, DescribedQuery], new: Mapping[str, DescribedQuery]
    ) -> tuple[dict[str, DescribedQuery], dict[str, DescribedQuery]]:
        """Return the removed and the added queries, except those named after a removed or added outlet."""
        old_outlets = {name for name in self.old.outlets if self.outlets.get(name) != name}
        new_outlets = {name for name in self.new.outlets if name not in self.outlets or self.outlets[name] != name}
        removed = {name: old[name] for name in sorted(set(old) - set(new)) if old_outlets.isdisjoint(name.split("."))}
        added = {name: new[name] for name in sorted(set(new) - set(old)) if new_outlets.isdisjoint(name.split("."))}
        if new_outlets:  # the name of a query of several outlets changes with a new outlet
            removed = {name: query for name, query in removed.items() if "." not in name}
        return removed, added

    def _renamed(self, before: str, now: str, query: DescribedQuery) -> Change:
        causes = [f"checkpoints are named after queries, so `{now}` does not continue where `{before}` stopped"]
        causes.append("it starts with a new checkpoint, and writes its earlier output again")
        if query.operators:
            causes.append(f"pending rows of {operator_phrases(query.operators)} are lost")
        return self._change(
            "change-query-renamed", ChangeClass.STATE_LOSS,
            f"the query `{self.ref}.{before}` seems to have been renamed to `{now}`", now, before, causes,
            (f'keep the name: `name="{before}"`',
             f"or stop the application, and rename the directory `checkpoints/{self.ref}/{before}` to `{now}`"),
        )  # fmt: skip

    def _removed(self, name: str, query: DescribedQuery) -> Change:
        unread = [inlet for inlet in self.old.inlets if source_of(inlet) in (query.sources or ())]
        needs = ChangeClass.DRAIN if unread else ChangeClass.SAFE
        causes = [f"its unread records of {listing(unread)} will not be read"] if unread else []
        if query.operators:
            needs = ChangeClass.STATE_LOSS
            causes.append(f"pending rows of {operator_phrases(query.operators)} are lost")
        causes.append("its checkpoint stays in the state directory; a query with the same name would continue from it")
        help = (PROCESS_FIRST,) if unread else ()
        return self._change(
            "change-query-removed", needs, f"the query `{self.ref}.{name}` was removed", "", name, causes, help
        )

    def _added(self, name: str, query: DescribedQuery) -> Change:
        causes = ["it starts with a new checkpoint"]
        causes += [
            starting_words(f"{self.ref}.{name}", inlet)
            for name, inlet in sorted(self.new.inlets.items())
            if source_of(name) in (query.sources or ())
        ]
        headline = f"the query `{self.ref}.{name}` is new"
        return self._change("change-query-added", ChangeClass.SAFE, headline, name, "", causes)

    def _state(self, name: str, before: DescribedQuery, now: DescribedQuery) -> Change:
        old, new = (operator_phrases(query.operators, none="no stateful operator") for query in (before, now))
        return self._change(
            "change-query-state", ChangeClass.STATE_LOSS,
            f"the query `{self.ref}.{name}` has different stateful operators", name, name,
            (f"it had {old}, and now has {new}",
             "Spark continues from a checkpoint only with the operators that created its state"),
            (_ADD_QUERY, f"or start it with a new checkpoint: `flow checkpoints reset {self.ref}.{name}`"),
        )  # fmt: skip

    def _columns(self, name: str, reasons: Iterable[str]) -> Change:
        return self._change(
            "change-query-state", ChangeClass.STATE_LOSS, f"the query `{self.ref}.{name}` has different state",
            name, name,
            (*reasons, "Spark rejects such state, or misinterprets it"),
            (_ADD_QUERY, f"or start it with a new checkpoint: `flow checkpoints reset {self.ref}.{name}`",
             "or restore the code, and finish with the old version"),
        )  # fmt: skip

    def _later(self, name: str, reasons: Iterable[str]) -> Change:
        query = f"{self.ref}.{name}"
        return self._change(
            "change-query-logic", ChangeClass.NEW_RECORDS,
            f"the query `{query}` treats new records differently from those in its state", name, name,
            (*reasons, "earlier records are in its state by the old rule, and results combine both"),
            ("to continue, allow the change with `--allow new-records`",
             f"for results by the new rule only, start with a new checkpoint: `flow checkpoints reset {query}`",
             "or add it under another name"),
        )  # fmt: skip

    def _unknown(self, name: str, reasons: Iterable[str]) -> Change:
        query = f"{self.ref}.{name}"
        return self._change(
            "change-query-logic", ChangeClass.UNKNOWN,
            f"the query `{query}` keeps state, and its logic cannot be compared", name, name, reasons,
            ("if its keys, aggregates, filters and functions are the same, continue with `--allow unknown`",
             f"or start it with a new checkpoint: `flow checkpoints reset {query}`"),
        )  # fmt: skip

    def _sources(self, name: str, before: DescribedQuery, now: DescribedQuery) -> Iterator[Change]:
        if before.sources is None or now.sources is None:
            return
        moved = {source_of(inlet) for inlet in self.old.inlets if self.inlets.get(inlet) != inlet}
        moved |= {source_of(inlet) for inlet in self.new.inlets if inlet not in self.inlets.values()}
        moved |= {source_of(new) for old, new in self.inlets.items() if old != new}
        removed = [source for source in before.sources if source not in now.sources and source not in moved]
        added = [source for source in now.sources if source not in before.sources and source not in moved]
        if not removed and not added:
            return
        causes = []
        needs = ChangeClass.SAFE
        if removed:
            causes.append(f"it no longer reads {listing(removed)}, whose position is lost")
            needs = ChangeClass.DRAIN
        if added:
            causes.append(f"it also reads {listing(added)}, from the beginning")
        if removed and added:
            causes.append("a renamed source is read from the beginning, because its position is not found")
            needs = ChangeClass.STATE_LOSS
        if before.operators:
            causes.append(f"Spark rejects a checkpoint when {operator_phrases(before.operators)} has other inputs")
            needs = ChangeClass.STATE_LOSS
        yield self._change(
            "change-query-sources", needs, f"the query `{self.ref}.{name}` reads different sources", name, name, causes,
            (f"keep the names of its sources: {listing(before.sources)}",) if removed else (),
        )  # fmt: skip

    def _change(
        self, code: str, needs: ChangeClass, headline: str, now: str, before: str, causes: Iterable[str],
        help: Iterable[str] = (),
    ) -> Change:  # fmt: skip
        lost = (f"{self.ref}.{before}",) if needs is ChangeClass.STATE_LOSS else ()
        return Change(code, needs, headline, self._path(now), self._path(before), lost, tuple(causes), tuple(help))

    def _path(self, query: str) -> tuple[str, ...]:
        return ("streamlets", self.ref, "queries", query) if query else ("streamlets", self.ref)


_ADD_QUERY = "add it under another name, and remove the old query when its windows are closed"


def _renamed(removed: Mapping[str, DescribedQuery], added: Mapping[str, DescribedQuery]) -> list[tuple[str, str]]:
    """Return the old and new names of queries that are equal to one another and to no other query."""
    pairs = [(before, now) for before, old in removed.items() for now, new in added.items() if old == new]
    befores, nows = [before for before, _ in pairs], [now for _, now in pairs]
    return [(before, now) for before, now in pairs if befores.count(before) == 1 == nows.count(now)]
