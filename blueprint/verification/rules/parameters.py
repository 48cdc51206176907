"""Rules about config parameters: how they are declared, and the values they are given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from blueprint.catalog import ParameterDescriptor, ParameterProblem, ParameterType, StreamletDescriptor
from blueprint.diagnostics import Diagnostic, Fix, FixKind, Label, Span, finding
from blueprint.hocon.values import ObjectValue, Value, is_null, key_span_of, span_of
from blueprint.model.draft import Draft
from blueprint.model.findings import rename_key
from blueprint.settings.parameters import ParameterError, parameter_default, parameter_value
from blueprint.spelling import alternatives, listing, near, sole_meanings

_KEY = re.compile(r"[a-zA-Z][a-zA-Z0-9]*(-[a-zA-Z0-9]+)*")


def parameter_declarations(draft: Draft) -> Iterator[Diagnostic]:
    """Keys are allowed and told apart, patterns are regular expressions, defaults fit; once for each class."""
    told: set[str] = set()
    for descriptor in map(draft.descriptor, draft.blueprint.streamlets):
        if descriptor is not None and descriptor.class_name not in told:
            told.add(descriptor.class_name)
            yield from _declarations(descriptor)


def _declarations(descriptor: StreamletDescriptor) -> Iterator[Diagnostic]:
    seen: dict[str, ParameterDescriptor] = {}
    for parameter in sorted(descriptor.parameters, key=lambda parameter: parameter.declared):
        if parameter.key in seen:
            yield finding(
                "parameter-declared-twice",
                f"`{descriptor.class_name}` has two config parameters with the key `{parameter.key}`",
                parameter.declared,
                also=(Label(seen[parameter.key].declared, "the other"),),
                help=("give one of them another key",),
            )
            continue
        seen[parameter.key] = parameter
        if not _KEY.fullmatch(parameter.key):
            yield finding(
                "parameter-key",
                f"`{parameter.key}` cannot be the key of a config parameter",
                parameter.declared,
                causes=("a key begins with a letter and has letters and digits, with single `-` between",),
            )
        if fault := pattern_fault(parameter):
            yield finding(
                "parameter-pattern",
                f"the pattern of the config parameter `{parameter.key}` is no regular expression",
                parameter.declared,
                causes=(fault,),
            )
        else:
            try:
                parameter_default(parameter)
            except ParameterError as error:
                yield finding(
                    "parameter-default",
                    f"the default of the config parameter `{parameter.key}` does not fit it",
                    parameter.declared,
                    causes=(str(error),),
                    help=error.help,
                )


def pattern_fault(parameter: ParameterDescriptor) -> str | None:
    """Why the pattern of a parameter is no regular expression; None when it is one, or there is none."""
    if parameter.type is not ParameterType.REGEXP:
        return None
    try:
        re.compile(parameter.pattern or "")
    except (re.error, RecursionError, OverflowError) as error:
        return f"`{parameter.pattern}`: {error}"
    return None


def parameter_values(draft: Draft) -> Iterator[Diagnostic]:
    """Values fit their parameters; once for a place that many share."""
    alike: dict[tuple[Span, ParameterDescriptor], tuple[ParameterError, list[str]]] = {}
    for ref in draft.blueprint.streamlets:
        descriptor = draft.descriptor(ref)
        if descriptor is None:
            continue
        known = {parameter.key: parameter for parameter in descriptor.parameters}
        for key, value in draft.given(ref, "parameters").items():
            if key in known and not is_null(value) and pattern_fault(known[key]) is None:
                try:
                    parameter_value(known[key], value, Path(draft.blueprint.folder))
                except ParameterError as error:
                    alike.setdefault((span_of(value), known[key]), (error, []))[1].append(ref)
    for (place, parameter), (fault, refs) in alike.items():
        yield finding(
            "parameter-value",
            f"the config parameter `{parameter.key}` of {listing(refs)} cannot have this value",
            place,
            also=draft.declared(refs[0], parameter.declared, f"declared here as {parameter.type.value}"),
            causes=(str(fault),),
            help=fault.help,
        )


def parameter_problems(draft: Draft) -> Iterator[Diagnostic]:
    """What streamlets themselves find wrong with the values of their parameters; once for a place that many share."""
    alike: dict[tuple[Span, ParameterProblem], list[str]] = {}
    for ref in draft.blueprint.streamlets:
        descriptor = draft.descriptor(ref)
        for problem in descriptor.parameter_problems if descriptor is not None else ():
            place = parameter_place(draft, ref, problem.path, key=problem.about == "key")
            alike.setdefault((place, problem), []).append(ref)
    for (place, problem), refs in alike.items():
        yield finding("parameter-value", f"{listing(refs)}: {problem.message}", place, help=problem.help)


def parameter_place(draft: Draft, ref: str, path: tuple[str, ...], *, key: bool = False) -> Span:
    """Where a parameter's value, or what keys inside it lead to, stands, or its key; else the part of the path that is
    there, at least the streamlet's name."""
    found: list[Value] = []
    value = draft.settings.get("streamlets", ref, "parameters")
    for name in path:
        value = value.fields.get(name) if isinstance(value, ObjectValue) else None
        if value is None:
            break
        found.append(value)
    if len(found) == len(path):
        return key_span_of(found[-1]) if key else span_of(found[-1])
    elsewhere = not found or found[-1].origins[-1].via is not None  # what is missing may be missing only here
    return draft.blueprint.streamlets[ref].key if elsewhere else key_span_of(found[-1])


def unknown_parameters(draft: Draft) -> Iterator[Diagnostic]:
    """Values are given to parameters that exist; once for a place that many streamlets of a class share."""
    alike: dict[tuple[Span, str, str], list[str]] = {}
    fixes: dict[Span, list[Fix | None]] = {}
    for ref in draft.blueprint.streamlets:
        descriptor = draft.descriptor(ref)
        if descriptor is None:
            continue
        keys = [parameter.key for parameter in descriptor.parameters]
        if len(set(keys)) < len(keys):
            continue  # one of the two that have one key may be meant
        given = draft.given(ref, "parameters")
        only = sole_meanings([key for key in given if key not in keys], keys, taken=given)
        for key, value in given.items():
            if key not in keys:
                place = key_span_of(value)
                alike.setdefault((place, key, descriptor.class_name), []).append(ref)
                fix = rename_key(FixKind.RENAME_PARAMETER, value, key, only[key]) if key in only else None
                fixes.setdefault(place, []).append(fix)
    for (place, key, _), refs in alike.items():
        descriptor = draft.descriptor(refs[0])
        assert descriptor is not None
        keys = [parameter.key for parameter in descriptor.parameters]
        close = near(key, keys)
        they, their = ("they have", "their") if len(refs) > 1 else ("it has", "its")
        has = f"{their} config parameters are {listing(keys)}" if keys else f"{they} no config parameters"
        yield finding(
            "unknown-parameter",
            f"{listing(refs)} {'have' if len(refs) > 1 else 'has'} no config parameter `{key}`",
            place,
            also=draft.declared(refs[0], descriptor.declared, "the class"),
            help=(f"did you mean {alternatives(close)}?" if close else has,),
            fix=fixes[place][0] if len(set(fixes[place])) == 1 else None,
        )


def missing_parameters(draft: Draft) -> Iterator[Diagnostic]:
    """Parameters without a default have a value; a misspelt one is told by `unknown_parameters` alone."""
    for ref, entry in draft.blueprint.streamlets.items():
        descriptor = draft.descriptor(ref)
        if descriptor is None:
            continue
        given = draft.given(ref, "parameters")
        known = {parameter.key for parameter in descriptor.parameters}
        strays = [key for key in given if key not in known]
        for parameter in _required(descriptor.parameters):
            if parameter.key in given and not is_null(given[parameter.key]):
                continue
            if near(parameter.key, strays):
                continue
            described = f": {parameter.description}" if parameter.description else ""
            yield finding(
                "parameter-missing",
                f"`{ref}` needs a value for its config parameter `{parameter.key}`",
                entry.key,
                also=draft.declared(ref, parameter.declared, f"{parameter.type.value}, without a default{described}"),
                help=(f"write `parameters {{ {parameter.key} = ... }}` in the block of `{ref}`",),
            )


def _required(parameters: Iterable[ParameterDescriptor]) -> Iterator[ParameterDescriptor]:
    return (parameter for parameter in parameters if parameter.default is None and not parameter.optional)
