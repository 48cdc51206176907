"""The settings of a query for its sink: their problems, and typed options. Blueprints and SQL read them alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from blueprint.catalog import (
    SINK_NOT_INSTALLED,
    OutputMode,
    ParameterDescriptor,
    ParameterProblem,
    ParameterType,
    SinkOption,
    SinkTraits,
)
from blueprint.diagnostics import Span
from blueprint.known_keys import KnownKey, column_values, text_values, type_and_default
from blueprint.settings.parameters import EXPECTED, ParameterError, parameter_text
from blueprint.spelling import alternatives, did_you_mean, listing, near

OPTIONS, PARTITION_BY, OUTPUT_MODE = "options", "partition-by", "output-mode"
"""The first key in the path of a problem."""

_NOWHERE = Span("", 1, 1, 1, 1)


def unknown_sink(name: str, sinks: Mapping[str, object]) -> ParameterProblem:
    """Return the problem of a name that no sink has.

    Arguments:
        name: the name.
        sinks: the available sinks by name.
    """
    help = did_you_mean(name, sinks, heard=True) or (
        f"the available sinks are {listing(sinks)}",
        SINK_NOT_INSTALLED,
    )
    return ParameterProblem(("to",), f"there is no sink `{name}`", help)


def sink_problems(
    traits: SinkTraits,
    options: Mapping[str, object],
    *,
    partition_by: Sequence[str] = (),
    output_mode: OutputMode = "append",
) -> Iterator[ParameterProblem]:
    """Yield the problems of a query's settings for a sink.

    A required option is not reported as missing if its name is misspelt: the misspelt name is reported.

    Arguments:
        traits: the sink.
        options: the configured options by name, with plain values.
        partition_by: the partition columns.
        output_mode: the output mode of the query.
    """
    sink, known = f"the sink `{traits.name}`", {option.name: option for option in traits.options}
    paths, options = _paths(traits, options), _named(traits, options)
    if output_mode not in traits.output_modes:
        message = f"{sink} does not accept output mode `{output_mode}`"
        yield ParameterProblem((OUTPUT_MODE,), message, (f"use {alternatives(traits.output_modes)}",))
    if partition_by and not traits.partitioning:
        message = f"{sink} does not support `{PARTITION_BY}`"
        yield ParameterProblem((PARTITION_BY,), message, (f"remove `{PARTITION_BY}`",), "key")
    required = [option.name for option in traits.options if option.required and option.name not in options]
    unknown = [
        name
        for name in options
        if name not in known and (not _is_passed_on(traits, name) or ("." in name and near(name, required)))
    ]
    for name in unknown:
        others = f"its options are {listing(known)}" if known else "it has no options"
        help = did_you_mean(name, known) or (others,)
        yield ParameterProblem((OPTIONS, *paths[name]), f"{sink} has no option `{name}`", help, "key")
    for name in options:
        if name not in known and name not in unknown and isinstance(options[name], Mapping | list | tuple | None):
            message = f"invalid value of the option `{name}` of {sink}: it must be a string, a number or a boolean"
            yield ParameterProblem((OPTIONS, *paths[name]), message)
    for option in traits.options:
        path, name = (OPTIONS, *paths.get(option.name, (option.name,))), f"the option `{option.name}`"
        if option.name in options:
            if option.needs and option.needs not in options:
                yield ParameterProblem(path, f"{name} of {sink} requires the option `{option.needs}`", about="key")
            if output_mode not in option.output_modes:
                message = f"{name} of {sink} cannot be set in output mode `{output_mode}`"
                yield ParameterProblem(path, message, (f"remove `{option.name}`",), "key")
            try:
                _value(option, options[option.name])
            except ParameterError as error:
                url = option.type is ParameterType.PATH and "://" in str(options[option.name])
                other = "use the sink `spark-files` for files at a URL, or `delta` for a table"
                urls = (("set it as `url`" if "url" in known else other),) if url else ()
                message = f"invalid value of {name} of {sink}: {error}"
                yield ParameterProblem(path, message, (*error.help, *urls))
        elif (option.required or output_mode in option.required_for) and not near(option.name, unknown):
            mode = "" if option.required else f" in output mode `{output_mode}`"
            message = f"{sink} requires {name}{mode}: {option.description}"
            yield ParameterProblem(path, message, (f"add `options {{ {option.name} = ... }}` next to `to`",))
    for first, second in traits.exclusive:
        if first in options and second in options:
            message = f"`{first}` and `{second}` cannot be combined"
            yield ParameterProblem((OPTIONS, *paths[first]), message, (f"remove `{first}` or `{second}`",), "key")


def column_problems(
    traits: SinkTraits,
    columns: Mapping[str, str],
    options: Mapping[str, object],
    *,
    partition_by: Sequence[str] = (),
) -> Iterator[ParameterProblem]:
    """Yield why a sink cannot write columns, or has settings with other ones.

    Arguments:
        traits: the sink.
        columns: the type of each column in Spark's DDL, by name.
        options: the options by name; values that are not strings are ignored.
        partition_by: the partition columns.
    """
    sink = f"the sink `{traits.name}`"
    settings: list[tuple[str, tuple[str, ...], Sequence[str]]] = [(PARTITION_BY, (PARTITION_BY,), partition_by)]
    settings += [(o.name, (OPTIONS, o.name), column_names(options.get(o.name))) for o in traits.options if o.columns]
    for setting, path, names in settings:
        for name in names:
            if name not in columns:
                help = did_you_mean(name, columns) or (f"the columns are {listing(columns)}",)
                yield ParameterProblem(path, f"`{setting}` has `{name}`, which is not a column of the schema", help)
    if partition_by and set(partition_by) >= set(columns):
        message = f"`{PARTITION_BY}` has all columns: at least one must remain for the records"
        yield ParameterProblem((PARTITION_BY,), message)
    written = {name: type for name, type in columns.items() if name not in partition_by}
    if traits.one_string and [_kind(type) for type in written.values()] != ["string"]:
        names = ", ".join(f"`{name}` ({type})" for name, type in written.items())
        message = f"{sink} writes one column of type string besides the partition columns, and the records have {names}"
        yield ParameterProblem(("to",), message)
        return
    for name, type in written.items():
        if not traits.nested and _kind(type) in ("struct", "array", "map", "binary"):
            yield ParameterProblem(("to",), f"{sink} cannot write the nested or binary column `{name}`")
        elif refused := [refused for refused in traits.refused_types if _has_type(type, refused)]:
            yield ParameterProblem(("to",), f"{sink} cannot write the type {refused[0]} of the column `{name}`")


def column_names(setting: object) -> tuple[str, ...]:
    """Return the names of columns in a setting, which are separated by commas; () if it is not a string."""
    return tuple(name.strip() for name in setting.split(",") if name.strip()) if isinstance(setting, str) else ()


def _kind(type: str) -> str:
    """Return the first word of a type: `struct`, `decimal`, `timestamp_ntz`."""
    return re.split(r"\W", type.lower(), maxsplit=1)[0]


def _has_type(type: str, name: str) -> bool:
    """Return whether a type is, or has parts of, a type with a name."""
    return re.search(rf"(?:^|[<,:])\s*{name}\b(?!\s*:)(?!\s+(?!not\b)\w)", type.lower()) is not None


def sink_options(traits: SinkTraits, options: Mapping[str, object], directory: Path = Path()) -> dict[str, object]:
    """Return the typed value of each option, or else its default; options without a value are omitted.

    Options that the sink passes on are strings, by their full names, such as `kafka.acks`.

    Arguments:
        traits: the sink.
        options: the configured options by name, without `sink_problems`.
        directory: the directory in which relative paths start.
    """
    options = _named(traits, options)
    values = {option.name: options.get(option.name, option.default) for option in traits.options}
    typed = {o.name: _value(o, values[o.name], directory) for o in traits.options if values[o.name] is not None}
    return {name: _text(value) for name, value in options.items() if name not in values} | typed


def sink_keys(traits: SinkTraits, columns: Mapping[str, str]) -> Iterator[KnownKey]:
    """Yield the options of a sink.

    Arguments:
        traits: the sink.
        columns: the type of each column of the records, by name.
    """
    for option in traits.options:
        truths = ("true", "false") if option.type is ParameterType.BOOLEAN else ()
        yield KnownKey(
            path=(OPTIONS, option.name),
            doc=option.description,
            detail=type_and_default(option.type, option.default),
            required=option.required,
            values=column_values(columns) if option.columns else text_values(option.choices or truths),
        )


def _is_passed_on(traits: SinkTraits, name: str) -> bool:
    return any(name.startswith(prefix) and name != prefix for prefix in traits.passes_on)


def _paths(traits: SinkTraits, options: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return the keys that lead to each option by its full name.

    In a blueprint `kafka.acks = all` is an object in an object; in SQL `'kafka.acks' = 'all'` is one key.
    """
    return {".".join(path): path for path, _ in _leaves(traits, options)}


def _named(traits: SinkTraits, options: Mapping[str, object]) -> dict[str, object]:
    """Return the options by their full names."""
    return {".".join(path): value for path, value in _leaves(traits, options)}


def _leaves(
    traits: SinkTraits, options: Mapping[str, object], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    for key, value in options.items():
        path = (*above, key)
        begun = ".".join((*path, ""))
        if isinstance(value, Mapping) and any(begun.startswith(p) or p.startswith(begun) for p in traits.passes_on):
            yield from _leaves(traits, value, path)
        else:
            yield path, value


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _value(option: SinkOption, value: object, directory: Path = Path()) -> object:
    """Return a value in the option's type.

    Raises:
        ParameterError: it is not valid.
    """
    if value is None or isinstance(value, Mapping | list | tuple):
        kind = "`null`" if value is None else "an object" if isinstance(value, Mapping) else "a list"
        raise ParameterError(f"{kind} is not {EXPECTED[option.type]}")
    parameter = ParameterDescriptor(
        key=option.name,
        description=option.description,
        type=option.type,
        default=None,
        declared=_NOWHERE,
        choices=option.choices,
    )
    typed = parameter_text(parameter, _text(value), directory.absolute())
    if option.type is ParameterType.INTEGER and isinstance(typed, int) and typed < option.minimum:
        raise ParameterError(f"`{typed}` is less than {option.minimum}")
    return typed
