"""Checks of the configuration of triggerers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from blueprint.quantities import Duration, QuantityError, duration
from blueprint.spelling import suggestion
from streamlets.ingress.triggerers.base import TriggererProblem


def unknown_keys(config: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[TriggererProblem]:
    """Yield a problem for each key that a triggerer does not have.

    Arguments:
        config: the configuration.
        keys: the keys of the triggerer.
    """
    for key in config:
        if key not in keys:
            help = suggestion(key, keys) if keys else "remove it: this triggerer has no configuration"
            yield TriggererProblem(key, f"the triggerer has no setting `{key}`", (help,), about="key")


def missing_key(config: Mapping[str, Any], key: str, example: str) -> Iterator[TriggererProblem]:
    """Yield a problem if a required string is missing or not a string.

    Arguments:
        config: the configuration.
        key: the required key.
        example: a value, for the help.
    """
    if key not in config:
        yield TriggererProblem(key, f"the triggerer requires `{key}`", (f'set it, such as `{key} = "{example}"`',))
    elif not isinstance(config[key], str) or not config[key]:
        yield TriggererProblem(key, f"`{key}` must be a string, found `{config[key]}`", (f'such as `"{example}"`',))


def seconds_of(config: Mapping[str, Any], key: str, default: str) -> float:
    """Return a duration of the configuration in seconds.

    Raises:
        ValueError: it is not a positive duration.
    """
    try:
        value: Duration = duration(str(config.get(key, default)))
    except QuantityError as error:
        raise ValueError(f"`{key}` must be a duration such as `{default}`: {error}") from None
    if value.seconds <= 0:
        raise ValueError(f"`{key}` must be longer than 0, found `{config[key]}`")
    return value.seconds
