"""Rules about config parameters: their declarations and their values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from blueprint.avro.spark_problems import spark_problems
from blueprint.avro.spark_types import spark_columns
from blueprint.catalog import ParameterDescriptor, ParameterProblem, ParameterType, StreamletDescriptor
from blueprint.diagnostics import Diagnostic, Fix, FixKind, Label, Span, finding
from blueprint.hocon.values import ObjectValue, Value, is_null, key_span_of, span_of
from blueprint.model.draft import Draft
from blueprint.model.findings import rename_key
from blueprint.settings.parameters import ParameterError, parameter_default, parameter_value
from blueprint.settings.sinks import column_problems
from blueprint.settings.sources import filled_column_problems
from blueprint.spelling import alternatives, listing, near, sole_meanings

_KEY = re.compile(r"[a-zA-Z][a-zA-Z0-9]*(-[a-zA-Z0-9]+)*")


def parameter_declarations(draft: Draft) -> Iterator[Diagnostic]:
    """Keys are valid and unique, patterns are regular expressions, defaults are valid; reported once for each class."""
    for descriptor, refs in draft.classes():
        yield from (replace(found, streamlets=refs) for found in _declarations(descriptor))


def _declarations(descriptor: StreamletDescriptor) -> Iterator[Diagnostic]:
    seen: dict[str, ParameterDescriptor] = {}
    for parameter in sorted(descriptor.parameters, key=lambda parameter: parameter.declared):
        if parameter.key in seen:
            yield finding(
                "parameter-declared-twice",
                f"`{descriptor.class_name}` has two config parameters with the key `{parameter.key}`",
                parameter.declared,
                also=(Label(seen[parameter.key].declared, "first declared here"),),
                help=("rename one of them",),
            )
            continue
        seen[parameter.key] = parameter
        if not _KEY.fullmatch(parameter.key):
            yield finding(
                "parameter-key",
                f"invalid config parameter key `{parameter.key}`",
                parameter.declared,
                causes=(
                    "a key must begin with a letter and have letters and digits only, and single `-` between them",
                ),
            )
        if fault := pattern_fault(parameter):
            yield finding(
                "parameter-pattern",
                f"the pattern of the config parameter `{parameter.key}` is not a valid regular expression",
                parameter.declared,
                causes=(fault,),
            )
        else:
            try:
                parameter_default(parameter)
            except ParameterError as error:
                yield finding(
                    "parameter-default",
                    f"invalid default of the config parameter `{parameter.key}`",
                    parameter.declared,
                    causes=(str(error),),
                    help=error.help,
                )


def pattern_fault(parameter: ParameterDescriptor) -> str | None:
    """Return why the pattern of a parameter is not a regular expression; None when it is, or there is no pattern."""
    if parameter.type is not ParameterType.REGEXP:
        return None
    try:
        re.compile(parameter.pattern or "")
    except (re.error, RecursionError, OverflowError) as error:
        return f"`{parameter.pattern}`: {error}"
    return None


def parameter_values(draft: Draft) -> Iterator[Diagnostic]:
    """Values are valid for their parameters; reported once for a place that several streamlets share."""
    refs_by_fault: dict[tuple[Span, ParameterDescriptor], tuple[ParameterError, list[str]]] = {}
    for ref, descriptor in draft.descriptors():
        known = {parameter.key: parameter for parameter in descriptor.parameters}
        for key, value in draft.section(ref, "parameters").items():
            if key in known and not is_null(value) and pattern_fault(known[key]) is None:
                try:
                    parameter_value(known[key], value, Path(draft.blueprint.directory))
                except ParameterError as error:
                    refs_by_fault.setdefault((span_of(value), known[key]), (error, []))[1].append(ref)
    for (place, parameter), (fault, refs) in refs_by_fault.items():
        yield finding(
            "parameter-value",
            f"invalid value of the config parameter `{parameter.key}` of {listing(refs)}",
            place,
            also=draft.declared(refs[0], parameter.declared, f"declared here as {parameter.type.value}"),
            causes=(str(fault),),
            help=fault.help,
            streamlets=refs,
        )


def parameter_problems(draft: Draft) -> Iterator[Diagnostic]:
    """Streamlets accept the values of their parameters; reported once for a place that several streamlets share."""
    refs_by_problem: dict[tuple[Span, ParameterProblem], list[str]] = {}
    for ref, descriptor in draft.descriptors():
        for problem in descriptor.parameter_problems:
            place = parameter_place(draft, ref, problem.path, key=problem.about == "key")
            refs_by_problem.setdefault((place, problem), []).append(ref)
    for (place, problem), refs in refs_by_problem.items():
        headline = f"{listing(refs)}: {problem.message}"
        yield finding("parameter-value", headline, place, help=problem.help, streamlets=refs)


def saved_columns(draft: Draft) -> Iterator[Diagnostic]:
    """Sinks can write the columns of the inlets, and the settings name columns that exist."""
    for ref, descriptor in draft.descriptors():
        contracts = {inlet.name: inlet.contract for inlet in descriptor.inlets}
        for saved in descriptor.external.saves:
            contract = contracts.get(saved.inlet)
            if contract is None or spark_problems(contract):
                continue
            columns = spark_columns(contract)
            for problem in column_problems(saved.sink, columns, saved.options, partition_by=saved.partition_by):
                place, headline = parameter_place(draft, ref, problem.path), f"`{ref}`: {problem.message}"
                yield finding("parameter-value", headline, place, help=problem.help, streamlets=(ref,))


def filled_columns(draft: Draft) -> Iterator[Diagnostic]:
    """Sources can fill the columns of the outlets, and the settings name columns that exist."""
    for ref, descriptor in draft.descriptors():
        contracts = {outlet.name: outlet.contract for outlet in descriptor.outlets}
        for filled in descriptor.external.fills:
            contract = contracts.get(filled.outlet)
            if contract is None or spark_problems(contract):
                continue
            for problem in filled_column_problems(filled.source, spark_columns(contract), filled.options):
                place, headline = parameter_place(draft, ref, problem.path), f"`{ref}`: {problem.message}"
                yield finding("parameter-value", headline, place, help=problem.help, streamlets=(ref,))


def parameter_place(draft: Draft, ref: str, path: tuple[str, ...], *, key: bool = False) -> Span:
    """Return the place of a parameter's value, or of a value inside it.

    Arguments:
        draft: the application.
        ref: the streamlet.
        path: the key of the parameter, and keys inside its value.
        key: whether to return the place of the key instead.

    Returns:
        The place. If the path is not set, the place of its longest part that is set, at least of the streamlet's name.
    """
    values: list[Value] = []
    value = draft.settings.get("streamlets", ref, "parameters")
    for name in path:
        value = value.fields.get(name) if isinstance(value, ObjectValue) else None
        if value is None:
            break
        values.append(value)
    if len(values) == len(path):
        return key_span_of(values[-1]) if key else span_of(values[-1])
    # A value that is substituted from elsewhere may be complete for other streamlets.
    elsewhere = not values or values[-1].origins[-1].via is not None
    return draft.blueprint.streamlets[ref].key if elsewhere else key_span_of(values[-1])


def unknown_parameters(draft: Draft) -> Iterator[Diagnostic]:
    """Values are set for parameters that exist; reported once for a place that several streamlets of a class share."""
    refs_by_key: dict[tuple[Span, str, str], list[str]] = {}
    fixes: dict[Span, list[Fix | None]] = {}
    for ref, descriptor in draft.descriptors():
        keys = [parameter.key for parameter in descriptor.parameters]
        if len(set(keys)) < len(keys):
            continue  # the value may be meant for one of two parameters with the same key
        values = draft.section(ref, "parameters")
        only = sole_meanings([key for key in values if key not in keys], keys, taken=values)
        for key, value in values.items():
            if key not in keys:
                place = key_span_of(value)
                refs_by_key.setdefault((place, key, descriptor.class_name), []).append(ref)
                fix = rename_key(FixKind.RENAME_PARAMETER, value, key, only[key]) if key in only else None
                fixes.setdefault(place, []).append(fix)
    for (place, key, _), refs in refs_by_key.items():
        first = draft.descriptor(refs[0])
        assert first is not None
        keys = [parameter.key for parameter in first.parameters]
        close = near(key, keys)
        they, their = ("they have", "their") if len(refs) > 1 else ("it has", "its")
        has = f"{their} config parameters are {listing(keys)}" if keys else f"{they} no config parameters"
        yield finding(
            "unknown-parameter",
            f"{listing(refs)} {'have' if len(refs) > 1 else 'has'} no config parameter `{key}`",
            place,
            also=draft.declared(refs[0], first.declared, "the class"),
            help=(f"did you mean {alternatives(close)}?" if close else has,),
            fix=fixes[place][0] if len(set(fixes[place])) == 1 else None,
            streamlets=refs,
        )


def missing_parameters(draft: Draft) -> Iterator[Diagnostic]:
    """Parameters without a default have a value; misspelt keys are reported by `unknown_parameters`."""
    for ref, descriptor in draft.descriptors():
        values = draft.section(ref, "parameters")
        known = {parameter.key for parameter in descriptor.parameters}
        strays = [key for key in values if key not in known]
        for parameter in _required(descriptor.parameters):
            if parameter.key in values and not is_null(values[parameter.key]):
                continue
            if near(parameter.key, strays):
                continue
            described = f": {parameter.description}" if parameter.description else ""
            yield finding(
                "parameter-missing",
                f"no value is set for the config parameter `{parameter.key}` of `{ref}`",
                draft.blueprint.streamlets[ref].key,
                also=draft.declared(ref, parameter.declared, f"{parameter.type.value}, without a default{described}"),
                help=(f"write `parameters {{ {parameter.key} = ... }}` in the block of `{ref}`",),
                streamlets=(ref,),
            )


def _required(parameters: Iterable[ParameterDescriptor]) -> Iterator[ParameterDescriptor]:
    return (parameter for parameter in parameters if parameter.default is None and not parameter.optional)
