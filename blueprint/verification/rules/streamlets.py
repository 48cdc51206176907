"""Rules about streamlets: their classes can be imported and described, and the catalog reports no problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from blueprint.catalog import LoadFailure, LoadFailureKind, StreamletDescriptor
from blueprint.diagnostics import Diagnostic, Label, Span, finding
from blueprint.hocon.values import Scalar
from blueprint.model.blueprint import StreamletEntry
from blueprint.model.draft import Draft
from blueprint.spelling import alternatives, listing
from blueprint.verification.rules.reporting import reported_once

_CODES: Mapping[LoadFailureKind, tuple[str, str]] = {
    LoadFailureKind.MODULE_NOT_FOUND: ("module-not-found", "the module of `{name}` does not exist"),
    LoadFailureKind.MODULE_SHADOWED: ("module-shadowed", "the module of `{name}` cannot be imported under its name"),
    LoadFailureKind.MODULE_RAISES: ("module-raises", "importing the module of `{name}` raises"),
    LoadFailureKind.CLASS_NOT_FOUND: ("class-not-found", "there is no class `{name}`"),
    LoadFailureKind.NOT_A_STREAMLET: ("not-a-streamlet", "`{name}` is not a streamlet"),
    LoadFailureKind.ABSTRACT: ("abstract-streamlet", "`{name}` is abstract"),
    LoadFailureKind.RESERVED_NAME: ("reserved-attribute", "an attribute of `{name}` has a reserved name"),
    LoadFailureKind.METHOD_SIGNATURE: ("method-signature", "a method of `{name}` has the wrong parameters"),
    LoadFailureKind.CONSTRUCTOR_RAISES: ("constructor-raises", "the constructor of `{name}` raises"),
    LoadFailureKind.SHAPE_RAISES: ("shape-raises", "computing the shape of `{name}` raises"),
    LoadFailureKind.CHECK_RAISES: ("parameter-check-raises", "checking the config parameters of `{name}` raises"),
    LoadFailureKind.SHAPE_DIFFERS: ("shape-differs", "the shape of `{name}` does not match its ports"),
}

_HELP: Mapping[LoadFailureKind, str] = {
    LoadFailureKind.MODULE_NOT_FOUND: "modules are searched for in the blueprint's directory, then in its `src`",
    LoadFailureKind.NOT_A_STREAMLET: "a streamlet is a class that extends `SparkStreamlet`",
    LoadFailureKind.ABSTRACT: "name a concrete class, or implement what this class lacks",
    LoadFailureKind.RESERVED_NAME: "rename the attribute; pass the name that blueprints use, such as "
    '`StringParameter(..., key="kind")` or `AvroInlet("kind")`',
    LoadFailureKind.METHOD_SIGNATURE: "give the method the parameters of the method that it overrides",
    LoadFailureKind.CONSTRUCTOR_RAISES: "a streamlet is created without arguments and without side effects; "
    "keep state in its logic",
    LoadFailureKind.CHECK_RAISES: "yield a `ParameterProblem` for each invalid value in `check_parameters`",
    LoadFailureKind.SHAPE_DIFFERS: "remove the shape: by default, it consists of the declared ports",
}


_OF_MODULE = (LoadFailureKind.MODULE_SHADOWED, LoadFailureKind.MODULE_RAISES, LoadFailureKind.CLASS_NOT_FOUND)


def load_failures(draft: Draft) -> Iterator[Diagnostic]:
    """Every streamlet's class can be imported, instantiated and described; equal failures are reported together."""
    groups: dict[object, tuple[LoadFailure, list[StreamletEntry]]] = {}
    for ref, described in draft.described.items():
        if isinstance(described, LoadFailure):
            failure_key = (described.kind, described.message, described.frames[-1:])
            groups.setdefault(failure_key, (described, []))[1].append(draft.blueprint.streamlets[ref])
    for failure, entries in groups.values():
        places: dict[Span, list[str]] = {}
        for entry in entries:
            places.setdefault(entry.class_span, []).append(entry.ref)
        first, *others = places.items()
        code, headline = _CODES[failure.kind]
        also = [Label(place, " ".join(("and here", *_users(refs)))) for place, refs in others]
        if failure.declared is not None:
            also.append(Label(failure.declared, "the module" if failure.kind in _OF_MODULE else "declared here"))
        near = (f"did you mean {alternatives(failure.near)}?",) if failure.near else ()
        yield finding(
            code,
            headline.format(name=entries[0].class_name),
            first[0],
            label=" ".join(_users(first[1])),
            also=also,
            causes=(failure.message,) if failure.message else (),
            help=(*near, *((_HELP[failure.kind],) if failure.kind in _HELP else ())),
            frames=failure.frames,
            streamlets=(entry.ref for entry in entries),
        )


def _users(refs: list[str]) -> tuple[str, ...]:
    """Return the words for the streamlets of a place that names a class for several, else nothing."""
    return (f"for {listing(refs)}",) if len(refs) > 1 else ()


@reported_once("code", "headline", "primary")
def catalog_findings(draft: Draft) -> Iterator[Diagnostic]:
    """The catalog has no problems with streamlets and the schemas of their ports; reported once for each class."""
    for ref, descriptor in draft.descriptors():
        ports = (*descriptor.inlets, *descriptor.outlets)
        for problem in (*descriptor.external.findings, *(problem for port in ports for problem in port.problems)):
            shown = _of_streamlet(draft, ref, problem) if problem.code == "schema-missing" else problem
            yield replace(shown, streamlets=(ref,))


def _of_streamlet(draft: Draft, ref: str, problem: Diagnostic) -> Diagnostic:
    """Return a finding about something that the configuration must set, with the streamlet as its place."""
    declared = problem.primary
    return replace(
        problem,
        headline=f"`{ref}`: {problem.headline}",
        primary=Label(draft.blueprint.streamlets[ref].key),
        secondary=draft.declared(ref, declared.span, "declared without it here") if declared is not None else (),
    )


def unused_classes(draft: Draft) -> Iterator[Diagnostic]:
    """Every streamlet class of the project is used.

    Checked only if `flow.verify.rules.streamlet-unused` is set: a project may have classes for others to use, and the
    search reads all its modules. Not checked when the blueprint has other errors.
    """
    level = draft.settings.get("verify", "rules", "streamlet-unused")
    if not isinstance(level, Scalar) or level.text in ("off", "null"):
        return
    blueprint, wiring = draft.blueprint, draft.wiring
    described = all(isinstance(descriptor, StreamletDescriptor) for descriptor in draft.described.values())
    complete = len(draft.described) == len(blueprint.streamlets) and not (blueprint.broken or blueprint.topics_broken)
    if not described or not complete or wiring.strays or wiring.unconnected:
        return
    for path, place in draft.unused({entry.class_name for entry in blueprint.streamlets.values()}):
        yield finding(
            "streamlet-unused",
            f"no blueprint of the project uses the streamlet `{path}`",
            place,
            help=(f"add it to `streamlets`: `my-name = {path}`", "or keep it for other projects"),
        )
