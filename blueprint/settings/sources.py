"""The problems of the settings of a streamlet for its source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from blueprint.catalog import SOURCE_NOT_INSTALLED, ParameterProblem, SourceTraits
from blueprint.settings.options import OPTIONS, named_options, option_paths, option_problems
from blueprint.settings.sinks import column_names
from blueprint.spelling import alternatives, did_you_mean, listing

FROM = "from"
"""The key that selects a source."""

COLUMN = "column"
"""The option of a source of strings that names the column."""

_NESTED = ("struct", "array", "map", "binary")


def unknown_source(name: str, sources: Mapping[str, object]) -> ParameterProblem:
    """Return the problem of a name that no source has.

    Arguments:
        name: the name.
        sources: the available sources by name.
    """
    help = did_you_mean(name, sources, heard=True) or (
        f"the available sources are {listing(sources)}",
        SOURCE_NOT_INSTALLED,
    )
    return ParameterProblem((FROM,), f"there is no source `{name}`", help)


def source_problems(traits: SourceTraits, options: Mapping[str, object]) -> Iterator[ParameterProblem]:
    """Yield the problems of the configured options of a source.

    Arguments:
        traits: the source.
        options: the configured options by name, with plain values.
    """
    yield from option_problems(f"the source `{traits.name}`", traits, options, selector=FROM)


def filled_column_problems(
    traits: SourceTraits, columns: Mapping[str, str], options: Mapping[str, object]
) -> Iterator[ParameterProblem]:
    """Yield why a source cannot fill columns, or has settings with other ones.

    Arguments:
        traits: the source.
        columns: the type of each column of the outlet in Spark's DDL, by name.
        options: the configured options by name; values that are not strings are ignored.
    """
    source, paths, options = (
        f"the source `{traits.name}`",
        option_paths(traits, options),
        named_options(traits, options),
    )
    named = dict[str, str]()
    for option in traits.options:
        for name in column_names(options.get(option.name)) if option.columns else ():
            path = (OPTIONS, *paths[option.name])
            type = columns.get(name)
            named[name] = option.name
            if type is None:
                help = did_you_mean(name, columns) or (f"the columns are {listing(columns)}",)
                message = f"`{option.name}` is `{name}`, which is not a column of the schema"
                yield ParameterProblem(path, message, help)
            elif option.column_types and type not in option.column_types:
                expected = alternatives(option.column_types)
                message = f"the column `{name}` of `{option.name}` must have the type {expected}, found {type}"
                yield ParameterProblem(path, message)
    read = {name: type for name, type in columns.items() if name not in named}
    if traits.one_string and COLUMN not in named.values() and [*read.values()] != ["string"]:
        names = ", ".join(f"`{name}` ({type})" for name, type in read.items()) or "no other column"
        message = f"{source} fills one column of type string, and the schema has {names}"
        yield ParameterProblem(
            (FROM,), message, (f"name it with the option `{COLUMN}`",) if "string" in read.values() else ()
        )
        return
    for name, type in read.items():
        if not traits.nested and type.startswith(_NESTED):
            yield ParameterProblem((FROM,), f"{source} cannot fill the nested or binary column `{name}`")
