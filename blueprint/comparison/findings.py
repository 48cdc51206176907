"""Report changes as findings, each with its places in the blueprint and in the older descriptor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from blueprint.comparison.changes import Change, ChangeClass
from blueprint.comparison.compare import compare
from blueprint.comparison.describing import describe_plan
from blueprint.comparison.descriptor import Queries
from blueprint.comparison.format import Described
from blueprint.diagnostics import Diagnostic, Label, Severity, Span, finding
from blueprint.hocon import ObjectValue, Value, key_span_of, span_of
from blueprint.model.draft import Draft
from blueprint.plan import ApplicationPlan
from blueprint.quantities import with_singulars
from blueprint.settings.values import spark_places
from blueprint.spelling import listing


@dataclass(frozen=True, slots=True)
class Against:
    """The descriptor to compare an application with.

    Arguments:
        described: the older descriptor, or the finding why its file has none.
        file: the name of its file, as in `Span.file`.
        allowed: the strongest class of change that is allowed; changes beyond it are errors.
        compares_later: whether unknown changes are allowed, because each query is compared when it starts.
    """

    described: Described | Diagnostic
    file: str
    allowed: ChangeClass = ChangeClass.SAFE
    compares_later: bool = False

    def changes(self, plan: ApplicationPlan, queries: Queries) -> tuple[Change, ...]:
        """Return every change of an application, the strongest first.

        Arguments:
            plan: the application.
            queries: the queries of logic that was built; other queries are not compared.
        """
        if not isinstance(self.described, Described):
            return ()
        return compare(self.described.descriptor, describe_plan(plan, queries))

    def findings(self, changes: Iterable[Change], draft: Draft, queries: Queries) -> Iterator[Diagnostic]:
        """Yield a finding for each change: an error if it is not allowed, a note if it is safe, otherwise a warning."""
        if isinstance(self.described, Described):
            for change in changes:
                yield _finding(change, self.described, self, draft, queries)


AgainstOf = Callable[[ApplicationPlan], Against | None]
"""Chooses the descriptor to compare with when the name and settings of the application are known; None for none."""


def _finding(change: Change, described: Described, against: Against, draft: Draft, queries: Queries) -> Diagnostic:
    place = _place(draft, change.path)
    before = _before(described.root, change.before)
    requirement = change.needs.words
    if change.queries:
        requirement += f": {listing(change.queries)}"
    primary = Label(place or before or Span(against.file, 1, 1, 1, 1), requirement)
    also = [Label(before, "before")] if place is not None and before is not None else []
    diagnostic = finding(
        change.code,
        f"{with_singulars(change.headline)} ({change.needs.value})",
        primary,
        also=[*also, *_declared(draft, change, queries)],
        causes=tuple(map(with_singulars, change.causes)),
        help=change.help,
        severity=_severity(change.needs, against),
    )
    return replace(diagnostic.about(change.path or change.before), change_class=change.needs.value)


def _severity(needs: ChangeClass, against: Against) -> Severity:
    if needs.rank > against.allowed.rank and not (against.compares_later and needs is ChangeClass.UNKNOWN):
        return Severity.ERROR
    return Severity.NOTE if needs is ChangeClass.SAFE else Severity.WARNING


def _declared(draft: Draft, change: Change, queries: Queries) -> tuple[Label, ...]:
    """Return the place where the class declares the port with a different schema, or its logic creates the query."""
    match change:
        case Change(path=("streamlets", ref, "queries", name)):
            place = queries[ref][name].place if name in queries.get(ref, ()) else None
            return draft.declared(ref, place, "the query") if place is not None else ()
        case Change(code="change-schema", path=("streamlets", ref, side, name)):
            descriptor = draft.descriptor(ref)
            ports = (descriptor.inlets if side == "inlets" else descriptor.outlets) if descriptor is not None else ()
            return next(
                (draft.declared(ref, port.declared, "declared here") for port in ports if port.name == name), ()
            )
    return ()


def _before(root: ObjectValue, path: tuple[str, ...]) -> Span | None:
    """Return the place of a path of keys, or of its longest existing beginning, in the older descriptor."""
    span, node = None, root
    for key in path:
        value = node.fields.get(key)
        if value is None:
            break
        span = key_span_of(value)
        if not isinstance(value, ObjectValue):
            break
        node = value
    return span


def _place(draft: Draft, path: tuple[str, ...]) -> Span | None:
    """Return the place, in the blueprint or the settings, of a path of the newer descriptor."""
    match path:
        case ("streamlets", ref, *rest) if ref in draft.blueprint.streamlets:
            return _streamlet_place(draft, ref, rest)
        case ("topics", id, *rest) if id in draft.blueprint.topics:
            keys = rest[1].split(".") if len(rest) > 1 else rest
            return draft.topic_key(
                id, *(["topic", "name"] if not keys and draft.topic_setting(id, "topic", "name") else keys)
            )
        case ("application",):
            return _key(draft.settings.get("application"))
        case ("spark", key):
            return _spark(draft.settings.get("runtimes", "spark"), key)
    return None


def _streamlet_place(draft: Draft, ref: str, rest: list[str]) -> Span:
    entry = draft.blueprint.streamlets[ref]
    match rest:
        case ["class"]:
            return entry.class_span
        case ["inlets" | "outlets" as side, name, *keys]:
            span = _key(draft.settings.get("streamlets", ref, side, name, *keys)) if keys else None
            return span or _wired(draft, ref, side, name) or entry.key
        case ["spark", key]:
            return spark_places(draft.settings, ref).get(key, entry.key)
        case ["triggers", query]:
            return _key(draft.settings.get("streamlets", ref, "queries", query, "trigger")) or entry.key
        case ["retry" | "trigger", *_]:
            span = _key(draft.settings.get("streamlets", ref, *rest))
            return span or _key(draft.settings.get(*rest)) or entry.key
        case ["supervision", key]:
            return _key(draft.settings.get("streamlets", ref, key)) or _key(draft.settings.get(key)) or entry.key
        case [*keys] if keys:
            return _key(draft.settings.get("streamlets", ref, *keys)) or entry.key
    return entry.key


def _wired(draft: Draft, ref: str, side: str, name: str) -> Span | None:
    role = "consumer" if side == "inlets" else "producer"
    places = (binding.path.span for binding in draft.wiring.bindings if binding.key == (ref, role, name))
    return next(places, None)


def _spark(value: Value | None, key: str) -> Span | None:
    if not isinstance(value, ObjectValue):
        return None
    return _key(value.get(*key.split("."))) or _key(value.get(*key.split(".")[1:])) or span_of(value)


def _key(value: Value | None) -> Span | None:
    return key_span_of(value) if value is not None and value.origins else None
