"""`verify`: from a blueprint, its settings and its streamlets to findings, and to a plan if there is no error."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.catalog import Catalog, ChannelTraits, LoadFailure, StreamletDescriptor, TopicSettings
from blueprint.diagnostics import Checked, Diagnostic, Severity, Sources, finding, united
from blueprint.diagnostics.fixes import with_fitting_fix
from blueprint.diagnostics.full import render_full
from blueprint.drawing import Picture
from blueprint.fusion import Fusion, fusion_of
from blueprint.hocon import Layer, ObjectValue, resolve
from blueprint.logic import BuiltLogic, LogicCheck, SampleCheck
from blueprint.model.blueprint import DEAD_LETTERS, Blueprint, Role, dead_letter_topic
from blueprint.model.draft import Draft
from blueprint.model.graph import ApplicationGraph
from blueprint.model.loading import load
from blueprint.model.source import Source
from blueprint.model.wiring import PortKey, Wiring, wire
from blueprint.plan import ApplicationPlan
from blueprint.setting import SettingNode
from blueprint.settings.checks import setting_findings, stray_findings
from blueprint.settings.known_settings import known_settings
from blueprint.settings.layers import ARGUMENTS, count_settings, read_layers
from blueprint.settings.secret_sources import ReadVariables, secrets_in
from blueprint.settings.secrets import Secrets
from blueprint.settings.tree import configured
from blueprint.settings.unread_settings import unread_findings
from blueprint.settings.values import topic_settings
from blueprint.sql.source import source_at
from blueprint.verification.buildable import buildable
from blueprint.verification.descriptors import describe, with_dead_letters, with_topic_schemas
from blueprint.verification.garbage_collection import without_garbage_collection
from blueprint.verification.levels import Levels
from blueprint.verification.planning import make_plan
from blueprint.verification.rules.all_rules import RULES
from blueprint.verification.rules.contracts import alike_pairs
from blueprint.verification.rules.fusion import not_fused
from blueprint.verification.rules.parameters import parameter_place
from blueprint.verification.rules.settings import queries_of_settings

if TYPE_CHECKING:
    from blueprint.comparison import Change
    from blueprint.comparison.descriptor import Queries
    from blueprint.comparison.findings import Against, AgainstOf


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The result of a verification.

    Arguments:
        blueprint: the blueprint as the user would name it: its file, or another source.
        diagnostics: all findings, sorted by place.
        plan: the application with every setting resolved; None when there is an error, or it was not requested.
        sources: the texts that the findings point into.
        checked: the number of streamlets, topics and other things that were checked.
        graph: the streamlets and topics that could be read, even if there are errors.
        settings: the `flow` section over the blocks of the blueprint; None when a text cannot be read.
        known: the settings that the application may have, as a tree.
        queries: the queries of the streamlets' logic, where it was built.
        changes: the changes against an older descriptor, if the application was compared with one.
        draft: the application as the rules have checked it; None when a text cannot be read.
        fusion: the topics that can be fused, and why others that need not be durable cannot.
    """

    blueprint: str
    diagnostics: tuple[Diagnostic, ...]
    plan: ApplicationPlan | None
    sources: Sources
    checked: Checked
    graph: ApplicationGraph
    settings: ObjectValue | None = None
    known: SettingNode = field(default_factory=SettingNode)
    queries: Queries = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    draft: Draft | None = None
    fusion: Fusion = field(default_factory=Fusion)

    @property
    def ok(self) -> bool:
        """Whether there is no error, so that the application can be started."""
        return not _has_errors(self.diagnostics)

    @property
    def picture(self) -> Picture:
        """The drawing of the readable parts of the application; streamlets with errors are marked."""
        classes = {streamlet.ref: streamlet.class_name for streamlet in self.plan.streamlets} if self.plan else {}
        name = self.plan.name if self.plan else self.blueprint
        errors = [finding for finding in self.diagnostics if finding.severity is Severity.ERROR]
        faulty = {ref for finding in errors for ref in finding.streamlets}
        stops = (self.draft.blueprint.cycle_stops or {}) if self.draft is not None else {}
        return self.graph.picture(name, classes=classes, faulty=faulty, stops=stops, fused=self.fusion.topics)

    def _repr_html_(self) -> str:
        """Return the findings and the drawing for a notebook."""
        from blueprint.drawing.svg import svg

        return f"<pre>{escape(render_full(self, width=100), quote=False)}</pre>" + svg(self.picture)


@without_garbage_collection
def verify(
    source: Source | Path | str,
    *,
    catalog: Catalog,
    conf_files: Sequence[Path | str] = (),
    arguments: Sequence[str] = (),
    environment: Mapping[str, str],
    working_directory: Path | str,
    logic: LogicCheck | None = None,
    samples: SampleCheck | None = None,
    state: bool = False,
    against: Against | AgainstOf | None = None,
    texts: Mapping[Path, str] | None = None,
    planned: bool = True,
    state_root: Path | None = None,
) -> Verification:
    """Verify an application. Of its code, only the streamlets' constructors run, and their logic if requested.

    A user's mistake is a finding and never raises.

    Arguments:
        source: the blueprint: the path of its file (`.conf`, `.yaml`, `.yml`, `.json`, or `.sql` for a job), or another
            source, such as a text.
        catalog: describes streamlets and channels.
        conf_files: files of settings, later ones win.
        arguments: `key=value` settings, which win over files.
        environment: the fallback of `${NAME}`.
        working_directory: the directory in which relative paths start: the one of the process, because findings show
            places relative to it.
        logic: builds and checks the streamlets' logic; None omits this check.
        samples: compares the schemas of sources with samples of their data; None omits this check.
        state: whether to find out what the queries keep in state, if logic is built; a comparison always does.
        against: the older application to report changes against, or a function that returns it for a plan; None omits
            the comparison.
        texts: the content of configuration files, by resolved path, that is read instead of the files.
        planned: whether to make the plan; an editor needs the findings only. A comparison needs it.
        state_root: the directory of `--state-dir`; None for the one next to the blueprint.
    """
    if isinstance(source, Path | str):
        source = source_at(Path(working_directory) / source)
    sources = Sources(working_directory, texts or {})
    settings_files = [Path(working_directory) / file for file in conf_files]
    layers = read_layers(source, settings_files, arguments, sources, texts or {})
    findings = [diagnostic for layer in layers for diagnostic in layer.diagnostics]
    variables = ReadVariables(environment)
    if not _has_errors(findings):
        tree, unresolved = resolve(layers, variables)
        findings = _with_empty_includes(findings, unresolved)
    if _has_errors(findings):
        return _unreadable(source.name, findings, sources)
    blueprint, unread = load(tree, source.name, str(source.directory))
    settings = configured(blueprint, blueprint.settings)
    described = with_topic_schemas(blueprint, describe(blueprint, settings, catalog))
    draft = replace(_draft(blueprint, settings, described, catalog), state_root=state_root)
    secrets = secrets_in(tree, settings, draft.known, variables.secrets())
    draft = replace(draft, secrets=frozenset(secrets.values))
    sources.hide(secrets.line)
    findings = _with_rules([*findings, *unread], draft, tree, layers)
    checked = _checked(draft)
    built = BuiltLogic()
    if logic is not None:
        application = buildable(draft, state=state or against is not None)
        built = logic(application)
        findings += _logic_findings(draft, built, findings)
        checked = replace(checked, logic=len(application.streamlets) - built.without, no_logic=built.without)
    if samples is not None:
        findings += _sample_findings(draft, samples)
        checked = replace(checked, samples=sum(len(known.external.fills) for _, known in draft.descriptors()))
    levels = Levels(draft, _texts(layers, blueprint), sources)
    findings = levels.apply(findings)
    plan = make_plan(draft) if planned and not _has_errors(findings) else None
    fusion = fusion_of(plan) if plan is not None else Fusion()
    findings += levels.apply(not_fused(draft, fusion))
    checked = replace(checked, fused=len(fusion.topics))
    changes, checked, change_findings = _compared(against, plan, draft, built.queries, checked)
    findings += levels.apply(change_findings)
    own = levels.own_findings(
        errors=_has_errors(findings), logic=logic is not None, changes=checked.changes is not None
    )
    findings += own
    plan = None if _has_errors(own) else plan
    checked = replace(checked, silenced=levels.silenced)
    findings = [secrets.finding(with_fitting_fix(finding, sources)) for finding in findings]
    return Verification(
        blueprint=source.name,
        diagnostics=_sorted(findings),
        plan=plan,
        sources=sources,
        checked=checked,
        graph=draft.graph,
        settings=settings,
        known=draft.known,
        queries=built.queries,
        changes=changes,
        draft=draft,
        fusion=fusion,
    )


def _texts(layers: Iterable[Layer], blueprint: Blueprint) -> set[str]:
    """Return the files that define the application: its layers, and the files they include that have parts of it."""
    places = [entry.key for entry in blueprint.streamlets.values()] + [entry.key for entry in blueprint.topics.values()]
    return {layer.file for layer in layers} | {place.file for place in places}


def _unreadable(name: str, findings: Iterable[Diagnostic], sources: Sources) -> Verification:
    """Return the verification of texts that cannot be read: rules would report the consequences."""
    sources.hide(Secrets().line)
    diagnostics, nothing = _sorted(findings), ApplicationGraph((), (), ())
    return Verification(
        blueprint=name, diagnostics=diagnostics, plan=None, sources=sources, checked=Checked(), graph=nothing
    )


def _with_rules(
    findings: list[Diagnostic], draft: Draft, tree: ObjectValue, layers: Sequence[Layer]
) -> list[Diagnostic]:
    """Return the findings about the texts, and the findings of all rules."""
    findings += stray_findings(tree, ARGUMENTS)
    for rule in RULES:
        findings += rule(draft)
    return [*findings, *unread_findings(tree, layers, draft, findings)]


def _logic_findings(draft: Draft, built: BuiltLogic, findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the findings of the logic. A mistake in the settings that it meets, too, is reported where it is set."""
    known = {finding.headline for finding in findings}
    own = [finding for finding in built.findings if finding.headline not in known]
    return [*own, *queries_of_settings(draft, built.queries)]


def _sample_findings(draft: Draft, samples: SampleCheck) -> list[Diagnostic]:
    """Return the findings about samples, each at the place of the field, or of the option that selects the source."""
    return [
        finding(
            problem.code,
            problem.headline,
            problem.place or parameter_place(draft, problem.streamlet, ("from",)),
            causes=problem.causes,
            help=problem.help,
            severity=problem.severity,
            streamlets=(problem.streamlet,),
        )
        for problem in samples(buildable(draft))
    ]


def _compared(
    against: Against | AgainstOf | None, plan: ApplicationPlan | None, draft: Draft, queries: Queries, checked: Checked
) -> tuple[tuple[Change, ...], Checked, tuple[Diagnostic, ...]]:
    """Return the changes, `checked` with their number, and the findings about them.

    Without a plan, or without a readable older descriptor, there are no changes.
    """
    if callable(against):
        against = against(plan) if plan is not None else None
    if against is None:
        return (), checked, ()
    checked = replace(checked, against=against.file)
    if isinstance(against.described, Diagnostic) or plan is None:
        return (), checked, (against.described,) if isinstance(against.described, Diagnostic) else ()
    changes = against.changes(plan, queries)
    findings = tuple(against.findings(changes, draft, queries))
    return changes, replace(checked, changes=len(findings)), findings


def _draft(
    blueprint: Blueprint,
    settings: ObjectValue,
    described: Mapping[str, StreamletDescriptor | LoadFailure],
    catalog: Catalog,
) -> Draft:
    descriptors = {
        ref: with_dead_letters(descriptor) if isinstance(descriptor, StreamletDescriptor) else None
        for ref, descriptor in described.items()
    }
    wiring, channels = wire(blueprint, descriptors), catalog.channels()
    topics = {id: topic_settings(id, settings, channels) for id in blueprint.topics}
    with_tasks = {ref for ref, known in descriptors.items() if known is not None and known.kind.tasks}
    dead_letters = _dead_letters(wiring, topics, settings, channels, with_tasks)
    ports = [(binding.key, binding.topic) for binding in wiring.bindings]
    section = settings.get("topics")
    ids = section.fields if isinstance(section, ObjectValue) else ()
    with_settings = {id: topic_settings(id, settings, channels) for id in ids if id not in topics}
    all_topics = topics | with_settings | {topic.id: topic for topic in dead_letters.values()}
    known = known_settings(settings, all_topics, ports, channels)
    return Draft(
        blueprint=blueprint,
        described=described,
        wiring=wiring,
        graph=wiring.graph(blueprint),
        settings=settings,
        topics=topics,
        dead_letters=dead_letters,
        channels=channels,
        known=known,
        misfits=tuple(setting_findings(settings, known)),
        unused=functools.partial(catalog.unused, blueprint.directory),
    )


def _dead_letters(
    wiring: Wiring,
    topics: Mapping[str, TopicSettings],
    settings: ObjectValue,
    channels: Mapping[str, ChannelTraits],
    with_tasks: Collection[str],
) -> dict[str, TopicSettings]:
    """Return the settings of the dead-letter topics that the blueprint does not connect, by streamlet.

    Such a topic is on the channel of the outlets that have dead letters: a query writes to one channel. If only inlets
    have them, it is on the channel of those.

    Arguments:
        with_tasks: the streamlets with tasks, which are dead letters when they fail.
    """
    channels_of: dict[tuple[str, Role], set[str]] = defaultdict(set)
    for binding in wiring.bindings:
        port = wiring.ports.get(binding.key)
        sends = binding.key.role == "producer" and binding.key.streamlet in with_tasks
        if port is not None and (sends or port.on_invalid == "dead-letters") and binding.topic in topics:
            channels_of[binding.key.streamlet, binding.key.role].add(topics[binding.topic].channel)
    connected = {binding.key for binding in wiring.bindings}
    refs = [key.streamlet for key in wiring.ports if key.port == DEAD_LETTERS and key.role == "producer"]

    def channel(ref: str) -> str | None:
        written = channels_of[ref, "producer"] or channels_of[ref, "consumer"]
        return min(written) if len(written) == 1 else None

    return {
        ref: topic_settings(dead_letter_topic(ref), settings, channels, channel(ref))
        for ref in refs
        if PortKey(ref, "producer", DEAD_LETTERS) not in connected
    }


def _checked(draft: Draft) -> Checked:
    contracts = {port.contract.fingerprint for port in draft.wiring.ports.values() if port.contract is not None}
    return Checked(
        streamlets=len(draft.blueprint.streamlets),
        topics=len(draft.blueprint.topics),
        contracts=len(contracts),
        pairs=sum(pairs.count for pairs in alike_pairs(draft)),
        settings=count_settings(draft.settings),
    )


def _with_empty_includes(findings: Sequence[Diagnostic], unresolved: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return all findings. An include that finds nothing is one finding with the value that is unset because of it."""
    empty = [finding for finding in findings if finding.code == "include-empty"]
    if not unresolved or not empty:
        return [*findings, *unresolved]
    places = tuple(replace(note.primary, message="this include finds nothing") for note in empty if note.primary)
    explained = [replace(finding, secondary=(*finding.secondary, *places)) for finding in unresolved]
    return [*(finding for finding in findings if finding not in empty), *explained]


def _has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)


def _sorted(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return findings by place; equal findings about a place that streamlets share are reported once."""
    return tuple(sorted(united(diagnostics), key=lambda diagnostic: diagnostic.sort_key))
