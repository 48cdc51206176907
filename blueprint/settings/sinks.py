"""The problems of the settings of a query for its sink. Blueprints and SQL read them alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from blueprint.catalog import (
    SINK_NOT_INSTALLED,
    OutputMode,
    ParameterProblem,
    ParameterType,
    SinkTraits,
)
from blueprint.settings.options import OPTIONS, named_options, option_paths, option_problems
from blueprint.spelling import alternatives, did_you_mean, listing

PARTITION_BY, OUTPUT_MODE = "partition-by", "output-mode"
"""The first key in the path of a problem."""


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
    sink = f"the sink `{traits.name}`"
    if output_mode not in traits.output_modes:
        message = f"{sink} does not accept output mode `{output_mode}`"
        yield ParameterProblem((OUTPUT_MODE,), message, (f"use {alternatives(traits.output_modes)}",))
    if partition_by and not traits.partitioning:
        message = f"{sink} does not support `{PARTITION_BY}`"
        yield ParameterProblem((PARTITION_BY,), message, (f"remove `{PARTITION_BY}`",), "key")
    required = {option.name: f" in output mode `{output_mode}`" for option in traits.options
                if output_mode in option.required_for}  # fmt: skip
    written = named_options(traits, options)
    for option in traits.options:
        if option.name in written and output_mode not in option.output_modes:
            message = f"the option `{option.name}` of {sink} cannot be set in output mode `{output_mode}`"
            path = (OPTIONS, *option_paths(traits, options)[option.name])
            yield ParameterProblem(path, message, (f"remove `{option.name}`",), "key")
    for problem in option_problems(sink, traits, options, selector="to", also_required=required):
        url = any(o.type is ParameterType.PATH and "://" in str(written.get(o.name)) and problem.path[-1] == o.name
                  for o in traits.options)  # fmt: skip
        other = "use the sink `spark-files` for files at a URL, or `delta` for a table"
        has_url = any(option.name == "url" for option in traits.options)
        urls = (("set it as `url`" if has_url else other),) if url and problem.about == "value" else ()
        yield replace(problem, help=(*problem.help, *urls))


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
