"""Rules about streamlets: that their classes can be had, and what the catalog found wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from blueprint.catalog import LoadFailure, LoadFailureKind, StreamletDescriptor
from blueprint.diagnostics import Diagnostic, Label, Span, finding
from blueprint.hocon.values import Scalar
from blueprint.model.blueprint import StreamletEntry
from blueprint.model.draft import Draft
from blueprint.spelling import alternatives, listing

_CODES: Mapping[LoadFailureKind, tuple[str, str]] = {
    LoadFailureKind.MODULE_NOT_FOUND: ("module-not-found", "the module of `{name}` cannot be found"),
    LoadFailureKind.MODULE_SHADOWED: ("module-shadowed", "the module of `{name}` cannot be had under its name"),
    LoadFailureKind.MODULE_RAISES: ("module-raises", "importing the module of `{name}` raises"),
    LoadFailureKind.CLASS_NOT_FOUND: ("class-not-found", "there is no class `{name}`"),
    LoadFailureKind.NOT_A_STREAMLET: ("not-a-streamlet", "`{name}` is no streamlet"),
    LoadFailureKind.ABSTRACT: ("abstract-streamlet", "`{name}` is abstract"),
    LoadFailureKind.CONSTRUCTOR_RAISES: ("constructor-raises", "the constructor of `{name}` raises"),
    LoadFailureKind.SHAPE_RAISES: ("shape-raises", "the shape of `{name}` cannot be had"),
    LoadFailureKind.CHECK_RAISES: ("parameter-check-raises", "the check of config parameters of `{name}` raises"),
    LoadFailureKind.SHAPE_DIFFERS: ("shape-differs", "the shape of `{name}` is not made of its ports"),
}

_HELP: Mapping[LoadFailureKind, str] = {
    LoadFailureKind.MODULE_NOT_FOUND: "modules are looked for in the blueprint's folder, then in its `src`",
    LoadFailureKind.NOT_A_STREAMLET: "a streamlet is a class that extends `SparkStreamlet`",
    LoadFailureKind.ABSTRACT: "name a class that has everything, or give this one what it lacks",
    LoadFailureKind.CONSTRUCTOR_RAISES: "a streamlet is made without arguments and without side effects; "
    "state lives in its logic",
    LoadFailureKind.CHECK_RAISES: "what is wrong with values is yielded by `check_parameters`, as `ParameterProblem`s",
    LoadFailureKind.SHAPE_DIFFERS: "leave the shape out: it is then made of the ports declared",
}


_OF_MODULE = (LoadFailureKind.MODULE_SHADOWED, LoadFailureKind.MODULE_RAISES, LoadFailureKind.CLASS_NOT_FOUND)


def load_failures(draft: Draft) -> Iterator[Diagnostic]:
    """Every streamlet's class can be imported, made and described; streamlets that fail alike are told together."""
    groups: dict[object, tuple[LoadFailure, list[StreamletEntry]]] = {}
    for ref, described in draft.described.items():
        if isinstance(described, LoadFailure):
            alike = (described.kind, described.message, described.frames[-1:])
            groups.setdefault(alike, (described, []))[1].append(draft.blueprint.streamlets[ref])
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
        )


def _users(refs: list[str]) -> tuple[str, ...]:
    """For which streamlets a class is named, when a place names it for several."""
    return (f"for {listing(refs)}",) if len(refs) > 1 else ()


def catalog_findings(draft: Draft) -> Iterator[Diagnostic]:
    """What the catalog found wrong with a streamlet or the schemas of its ports; once for a class used twice."""
    told = set()
    for ref in draft.blueprint.streamlets:
        descriptor = draft.descriptor(ref)
        if descriptor is None:
            continue
        ports = (*descriptor.inlets, *descriptor.outlets)
        for problem in (*descriptor.problems, *(problem for port in ports for problem in port.problems)):
            if problem.code == "schema-missing":
                yield _of_streamlet(draft, ref, problem)
            elif (mistake := (problem.code, problem.headline, problem.primary)) not in told:
                told.add(mistake)
                yield problem


def _of_streamlet(draft: Draft, ref: str, problem: Diagnostic) -> Diagnostic:
    """A finding about what the class leaves to the configuration: its place is the streamlet, not the class."""
    left_open = problem.primary
    return replace(
        problem,
        headline=f"`{ref}`: {problem.headline}",
        primary=Label(draft.blueprint.streamlets[ref].key),
        secondary=draft.declared(ref, left_open.span, "left open here") if left_open is not None else (),
    )


def unused_classes(draft: Draft) -> Iterator[Diagnostic]:
    """Every streamlet class of the project is used.

    Asked only where `flow.verify.rules.streamlet-unused` is set: a project may well have classes for others to use, and
    looking for them reads all its modules. Not asked where the blueprint is wrong anyway.
    """
    asked = draft.settings.get("verify", "rules", "streamlet-unused")
    if not isinstance(asked, Scalar) or asked.text in ("off", "null"):
        return
    blueprint, wiring = draft.blueprint, draft.wiring
    described = all(isinstance(each, StreamletDescriptor) for each in draft.described.values())
    whole = len(draft.described) == len(blueprint.streamlets) and not (blueprint.broken or blueprint.topics_broken)
    if not described or not whole or wiring.strays or wiring.unconnected:
        return
    for path, place in draft.unused({entry.class_name for entry in blueprint.streamlets.values()}):
        yield finding(
            "streamlet-unused",
            f"no blueprint here uses the streamlet `{path}`",
            place,
            help=(f"wire it: `my-name = {path}` in `streamlets`", "or leave it be, for others to use"),
        )
