"""Verification: blueprint, settings and streamlets in; findings out, and a plan when there is no error."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.catalog import Catalog, LoadFailure, StreamletDescriptor
from blueprint.comparison.descriptor import Queries
from blueprint.diagnostics import Checked, Diagnostic, Severity, Sources
from blueprint.diagnostics.fixes import with_fitting_fix
from blueprint.hocon import Layer, ObjectValue, resolve, shown_name
from blueprint.logic import BuiltLogic, LogicCheck
from blueprint.model.blueprint import Blueprint
from blueprint.model.draft import Draft
from blueprint.model.graph import ApplicationGraph
from blueprint.model.loading import load
from blueprint.model.wiring import wire
from blueprint.plan import ApplicationPlan
from blueprint.settings.checks import stray_findings
from blueprint.settings.layers import ARGUMENTS, count_settings, read_layers
from blueprint.settings.secrets import Secrets, secrets_in
from blueprint.settings.tree import configured
from blueprint.settings.unread_settings import unread_findings
from blueprint.settings.values import topic_facts
from blueprint.verification.buildable import buildable
from blueprint.verification.descriptors import describe, with_dead_letters
from blueprint.verification.garbage_collection import without_garbage_collection
from blueprint.verification.levels import Levels
from blueprint.verification.planning import make_plan
from blueprint.verification.rules.all_rules import RULES
from blueprint.verification.rules.contracts import alike_pairs
from blueprint.verification.rules.settings import settings_of_no_query

if TYPE_CHECKING:
    from blueprint.comparison import Change
    from blueprint.comparison.findings import Against, AgainstOf


@dataclass(frozen=True, slots=True)
class Verification:
    """What came out.

    Arguments:
        blueprint: the blueprint's file as the user would name it.
        diagnostics: all findings, sorted by place.
        plan: the application with every setting resolved; None when there is an error.
        sources: the texts that the findings point into.
        checked: how much was looked at.
        graph: streamlets and topics as far as they could be read, also when there are errors.
        queries: what the streamlets' logic gave, where it was built.
        changes: what changed against an older descriptor, where it was compared with one.
    """

    blueprint: str
    diagnostics: tuple[Diagnostic, ...]
    plan: ApplicationPlan | None
    sources: Sources
    checked: Checked
    graph: ApplicationGraph
    queries: Queries = field(default_factory=dict)
    changes: tuple[Change, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing refuses a run."""
        return not _refused(self.diagnostics)


@without_garbage_collection
def verify(
    blueprint_path: Path | str,
    *,
    catalog: Catalog,
    conf_files: Sequence[Path | str] = (),
    arguments: Sequence[str] = (),
    environment: Mapping[str, str],
    working_directory: Path | str,
    logic: LogicCheck | None = None,
    state: bool = False,
    against: Against | AgainstOf | None = None,
    texts: Mapping[Path, str] | None = None,
) -> Verification:
    """Verify an application without running anything of it but the streamlets' constructors, and their logic if asked.

    Arguments:
        blueprint_path: the blueprint (`.conf`, `.yaml`, `.yml` or `.json`).
        catalog: what knows streamlets and channels.
        conf_files: files of settings, later ones win.
        arguments: `key=value` settings, which win over files.
        environment: what `${NAME}` falls back to.
        working_directory: what relative paths start from; it is the process's own, which places are named after.
        logic: what builds the streamlets' logic to check it; None leaves that out.
        state: whether to find what the queries keep in state, where logic is built; a comparison always does.
        against: what the application was before, or what chooses it for a plan, to report every change; None leaves
            that out.
        texts: what files of configuration would hold, by their resolved paths; None takes all as they are.

    Never raises for what a user did: that becomes a finding.
    """
    path = Path(working_directory) / blueprint_path
    shown = shown_name(path)
    sources = Sources(working_directory, texts or {})
    settings_files = [Path(working_directory) / file for file in conf_files]
    layers = read_layers(path, settings_files, arguments, sources, texts or {})
    found = [diagnostic for layer in layers for diagnostic in layer.diagnostics]
    if not _refused(found):
        tree, unresolved = resolve(layers, environment)
        found += unresolved
    if _refused(found):  # what cannot be read as it was meant would be misjudged by every rule
        sources.hide(Secrets().line)
        return Verification(shown, _sorted(found), None, sources, Checked(), ApplicationGraph((), (), ()))
    secrets = secrets_in(tree)
    sources.hide(secrets.line)
    blueprint, unread = load(tree, shown, str(path.parent))
    settings = configured(blueprint, blueprint.settings)
    described = describe(blueprint, settings, catalog)
    draft = _draft(blueprint, settings, described, catalog)
    found += unread
    found += stray_findings(tree, ARGUMENTS)
    for rule in RULES:
        found += rule(draft)
    found += unread_findings(tree, layers, draft, found)
    checked = _checked(draft)
    built = BuiltLogic()
    if logic is not None:
        application = buildable(draft, state=state or against is not None)
        built = logic(application)
        found += built.findings
        found += settings_of_no_query(draft, built.queries)
        checked = replace(checked, logic=len(application.streamlets))
    levels = Levels(draft, _texts(layers, blueprint), sources)
    found = levels.apply(found)
    plan = None if _refused(found) else make_plan(draft)
    older = against(plan) if callable(against) and plan is not None else None if callable(against) else against
    changes: tuple[Change, ...] = ()
    if older is not None:
        changes = older.changes(plan, built.queries) if plan is not None else ()
        checked, told = _compared(older, changes, plan, draft, built.queries, checked)
        found += levels.apply(told)
    own = levels.own_findings(errors=_refused(found), logic=logic is not None, changes=checked.changes is not None)
    found += own
    plan = None if _refused(own) else plan
    checked = replace(checked, silenced=levels.silenced)
    found = [secrets.finding(with_fitting_fix(each, sources)) for each in found]
    return Verification(shown, _sorted(found), plan, sources, checked, draft.graph, built.queries, changes)


def _texts(layers: Iterable[Layer], blueprint: Blueprint) -> set[str]:
    """The files in which the application stands: those given, and those included by them that hold parts of it."""
    places = [entry.key for entry in blueprint.streamlets.values()] + [entry.key for entry in blueprint.topics.values()]
    return {layer.file for layer in layers} | {place.file for place in places}


def _compared(
    against: Against,
    changes: tuple[Change, ...],
    plan: ApplicationPlan | None,
    draft: Draft,
    queries: Queries,
    checked: Checked,
) -> tuple[Checked, tuple[Diagnostic, ...]]:
    """The findings of changes against an older descriptor; none are known while there are errors, or without one."""
    if isinstance(against.described, Diagnostic) or plan is None:
        broken = (against.described,) if isinstance(against.described, Diagnostic) else ()
        return replace(checked, against=against.file), broken
    found = tuple(against.findings(changes, draft, queries))
    return replace(checked, against=against.file, changes=len(found)), found


def _draft(
    blueprint: Blueprint,
    settings: ObjectValue,
    described: Mapping[str, StreamletDescriptor | LoadFailure],
    catalog: Catalog,
) -> Draft:
    ported = {
        ref: with_dead_letters(each) if isinstance(each, StreamletDescriptor) else None
        for ref, each in described.items()
    }
    wiring = wire(blueprint, ported)
    facts = {id: topic_facts(id, settings) for id in blueprint.topics}
    unused = functools.partial(catalog.unused, blueprint.folder)
    return Draft(blueprint, described, wiring, wiring.graph(blueprint), settings, facts, catalog.channels(), unused)


def _checked(draft: Draft) -> Checked:
    contracts = {port.contract.fingerprint for port in draft.wiring.ports.values() if port.contract is not None}
    return Checked(
        streamlets=len(draft.blueprint.streamlets),
        topics=len(draft.blueprint.topics),
        contracts=len(contracts),
        pairs=sum(alike.count for alike in alike_pairs(draft)),
        settings=count_settings(draft.settings),
    )


def _refused(diagnostics: Iterable[Diagnostic]) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)


def _sorted(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """By place; what is said twice of one place that streamlets share, in the same words, is said once."""
    return tuple(sorted(dict.fromkeys(diagnostics), key=lambda diagnostic: diagnostic.sort_key))
