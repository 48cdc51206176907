"""Rules about config parameters: how they are declared, and the values they are given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from blueprint.catalog import ParameterDescriptor, ParameterType, StreamletDescriptor
from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.diagnostics.fixes import rewrite
from blueprint.hocon.values import Scalar, Value, key_span_of, span_of
from blueprint.parameters import ParameterError, parameter_default, parameter_value
from blueprint.rules.draft import Draft
from blueprint.spelling import alternatives, listing, near

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
    """Values fit their parameters."""
    for ref in draft.blueprint.streamlets:
        descriptor = draft.descriptor(ref)
        if descriptor is None:
            continue
        known = {parameter.key: parameter for parameter in descriptor.parameters}
        for key, value in draft.given(ref, "parameters").items():
            if key in known and not is_null(value) and pattern_fault(known[key]) is None:
                yield from _value(ref, known[key], value)


def _value(ref: str, parameter: ParameterDescriptor, value: Value) -> Iterator[Diagnostic]:
    try:
        parameter_value(parameter, value)
    except ParameterError as error:
        yield finding(
            "parameter-value",
            f"the config parameter `{parameter.key}` of `{ref}` cannot have this value",
            span_of(value),
            also=(Label(parameter.declared, f"declared here as {parameter.type.value}"),),
            causes=(str(error),),
            help=error.help,
        )


def unknown_parameters(draft: Draft) -> Iterator[Diagnostic]:
    """Values are given to parameters that exist."""
    for ref in draft.blueprint.streamlets:
        descriptor = draft.descriptor(ref)
        if descriptor is None:
            continue
        keys = [parameter.key for parameter in descriptor.parameters]
        for key, value in draft.given(ref, "parameters").items():
            if key not in keys:
                close = near(key, keys)
                has = f"its config parameters are {listing(keys)}" if keys else "it has no config parameters"
                yield finding(
                    "unknown-parameter",
                    f"`{ref}` has no config parameter `{key}`",
                    key_span_of(value),
                    also=(Label(descriptor.declared, "the class"),),
                    help=(f"did you mean {alternatives(close)}?" if close else has,),
                    fix=rewrite((key_span_of(value), key, close[0])) if close else None,
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
                also=(Label(parameter.declared, f"{parameter.type.value}, without a default{described}"),),
                help=(f"write `parameters {{ {parameter.key} = ... }}` in the block of `{ref}`",),
            )


def _required(parameters: Iterable[ParameterDescriptor]) -> Iterator[ParameterDescriptor]:
    return (parameter for parameter in parameters if parameter.default is None and not parameter.optional)


def is_null(value: Value) -> bool:
    """Whether a value is `null`, which takes back what earlier layers have set."""
    return isinstance(value, Scalar) and value.value is None
