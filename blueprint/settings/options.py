"""The options of what a blueprint selects by a name: their problems, and typed values. Sinks and sources share them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from blueprint.catalog import (
    HasOptions,
    Option,
    ParameterDescriptor,
    ParameterProblem,
    ParameterType,
)
from blueprint.diagnostics import Span
from blueprint.known_keys import KnownKey, column_values, text_values, type_and_default
from blueprint.settings.parameters import EXPECTED, ParameterError, parameter_text
from blueprint.settings.secrets import is_reference
from blueprint.spelling import did_you_mean, listing, near

OPTIONS = "options"
"""The first key in the path of a problem."""

_NOWHERE = Span("", 1, 1, 1, 1)


def option_problems(
    owner: str,
    traits: HasOptions[Option],
    options: Mapping[str, object],
    *,
    selector: str,
    also_required: Mapping[str, str] | None = None,
) -> Iterator[ParameterProblem]:
    """Yield the problems of configured options.

    A required option is not reported as missing if its name is misspelt: the misspelt name is reported.

    Arguments:
        owner: what has the options, for messages, such as "the sink `json`".
        traits: its traits.
        options: the configured options by name, with plain values.
        selector: the key that selects the owner, such as `to`.
        also_required: further required options, and when they are required, as the end of a message.
    """
    known, demanded = {option.name: option for option in traits.options}, dict(also_required or {})
    paths, options = option_paths(traits, options), named_options(traits, options)
    required = [option.name for option in traits.options if option.required and option.name not in options]
    unknown = [
        name
        for name in options
        if name not in known and (not _is_passed_on(traits, name) or ("." in name and near(name, required)))
    ]
    for name in unknown:
        others = f"its options are {listing(known)}" if known else "it has no options"
        help = did_you_mean(name, known) or (others,)
        yield ParameterProblem((OPTIONS, *paths[name]), f"{owner} has no option `{name}`", help, "key")
    for name in options:
        if name not in known and name not in unknown and isinstance(options[name], Mapping | list | tuple | None):
            message = f"invalid value of the option `{name}` of {owner}: it must be a string, a number or a boolean"
            yield ParameterProblem((OPTIONS, *paths[name]), message)
    for option in traits.options:
        path, name = (OPTIONS, *paths.get(option.name, (option.name,))), f"the option `{option.name}`"
        if option.name in options:
            if option.needs and option.needs not in options:
                yield ParameterProblem(path, f"{name} of {owner} requires the option `{option.needs}`", about="key")
            try:
                _value(option, options[option.name])
            except ParameterError as error:
                yield ParameterProblem(path, f"invalid value of {name} of {owner}: {error}", error.help)
        elif (option.required or option.name in demanded) and not near(option.name, unknown):
            when = "" if option.required else demanded[option.name]
            message = f"{owner} requires {name}{when}: {option.description}"
            yield ParameterProblem(path, message, (f"add `options {{ {option.name} = ... }}` next to `{selector}`",))
    for first, second in traits.exclusive:
        if first in options and second in options:
            message = f"`{first}` and `{second}` cannot be combined"
            yield ParameterProblem((OPTIONS, *paths[first]), message, (f"remove `{first}` or `{second}`",), "key")


def typed_options(
    traits: HasOptions[Option], options: Mapping[str, object], directory: Path = Path()
) -> dict[str, object]:
    """Return the typed value of each option, or else its default; options without a value are omitted.

    Options that are passed on are strings, by their full names, such as `kafka.acks`.

    Arguments:
        traits: the traits of what has the options.
        options: the configured options by name, without `option_problems`.
        directory: the directory in which relative paths start.
    """
    options = named_options(traits, options)
    values = {option.name: options.get(option.name, option.default) for option in traits.options}
    given = (option for option in traits.options if option.name in options or option.default is not None)
    typed = {option.name: _value(option, values[option.name], directory) for option in given}
    return {name: _text(value) for name, value in options.items() if name not in values} | typed


def option_keys(traits: HasOptions[Option], columns: Mapping[str, str]) -> Iterator[KnownKey]:
    """Yield the options as keys for editors.

    Arguments:
        traits: the traits of what has the options.
        columns: the type of each column of the records, by name.
    """
    for option in traits.options:
        truths = ("true", "false") if option.type is ParameterType.BOOLEAN else ()
        yield KnownKey(
            path=(OPTIONS, option.name),
            doc=option.description,
            detail="a secret" if option.secret else type_and_default(option.type, option.default),
            required=option.required,
            values=column_values(columns) if option.columns else text_values(option.choices or truths),
        )


def option_paths(traits: HasOptions[Option], options: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return the keys that lead to each option by its full name.

    In a blueprint `kafka.acks = all` is an object in an object; in SQL `'kafka.acks' = 'all'` is one key.
    """
    return {".".join(path): path for path, _ in _leaves(traits, options)}


def named_options(traits: HasOptions[Option], options: Mapping[str, object]) -> dict[str, object]:
    """Return the options by their full names."""
    return {".".join(path): value for path, value in _leaves(traits, options)}


def _is_passed_on(traits: HasOptions[Option], name: str) -> bool:
    return any(name.startswith(prefix) and name != prefix for prefix in traits.passes_on)


def _leaves(
    traits: HasOptions[Option], options: Mapping[str, object], above: tuple[str, ...] = ()
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


def _value(option: Option, value: object, directory: Path = Path()) -> object:
    """Return a value in the option's type.

    Raises:
        ParameterError: it is not valid.
    """
    if option.secret:
        if not is_reference(value):
            raise ParameterError(
                "it must refer to a secret, `{ env = NAME }` or `{ file = PATH }`",
                "put the value into an environment variable or a file, and name that",
            )
        return value
    if value is None and "null" in option.choices:
        value = "null"  # HOCON reads it as no value unless it is quoted
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
