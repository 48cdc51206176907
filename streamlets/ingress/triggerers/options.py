"""Checks of the configuration of triggerers against their options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blueprint.catalog import ParameterType
from blueprint.quantities import QuantityError, duration
from blueprint.spelling import suggestion
from streamlets.ingress.triggerers.base import TriggererOption, TriggererProblem


def unknown_keys(config: Mapping[str, Any], options: Sequence[TriggererOption]) -> Iterator[TriggererProblem]:
    """Yield a problem for each key that a triggerer does not have.

    Arguments:
        config: the configuration.
        options: the options of the triggerer.
    """
    names = [option.name for option in options]
    for key in config:
        if key not in names:
            help = suggestion(key, names) if names else "remove it: this triggerer has no configuration"
            yield TriggererProblem(key, f"the triggerer has no setting `{key}`", (help,), about="key")


def missing_strings(config: Mapping[str, Any], options: Sequence[TriggererOption]) -> Iterator[TriggererProblem]:
    """Yield a problem for each required string that is missing or not a string.

    Arguments:
        config: the configuration.
        options: the options of the triggerer.
    """
    for option in options:
        key = option.name
        if not option.required or option.type is not ParameterType.STRING:
            continue
        if key not in config:
            help = f'set it, such as `{key} = "{option.example}"`'
            yield TriggererProblem(key, f"the triggerer requires `{key}`", (help,))
        elif not isinstance(config[key], str) or not config[key]:
            message = f"`{key}` must be a string, found `{config[key]}`"
            yield TriggererProblem(key, message, (f'such as `"{option.example}"`',))


def string_of(config: Mapping[str, Any], option: TriggererOption) -> str:
    """Return a value of the configuration as a string, or else the default of its option; "" without one."""
    return str(config.get(option.name, option.default or ""))


def seconds_of(config: Mapping[str, Any], option: TriggererOption) -> float:
    """Return a duration of the configuration in seconds.

    Raises:
        ValueError: it is not a positive duration.
    """
    key = option.name
    try:
        value = duration(string_of(config, option))
    except QuantityError as error:
        raise ValueError(f"`{key}` must be a duration such as `{option.default}`: {error}") from None
    if value.seconds <= 0:
        raise ValueError(f"`{key}` must be longer than 0, found `{config[key]}`")
    return value.seconds
