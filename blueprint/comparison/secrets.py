"""What a descriptor must not carry: values of settings that are secret by their name, and secrets inside texts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blueprint.comparison.descriptor import Json

SECRET = "(secret)"
"""What stands in the place of a secret; two secrets are never compared."""

_NAMES = re.compile(
    r"pass(word|wd|phrase)|(^|[^a-z])pwd|secret|credential|tokens?($|[^a-z])|jaas|sasl\.mechanism\.parameters"
    r"|(api|access|private|account|shared|encryption|signing|ssl|client)[-_.]?key(?!.*(path|file|location)$)",
    re.IGNORECASE,
)
_TAKEN_APART = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_USER_INFO = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_ASSIGNED = re.compile(
    r"""((?:password|passwd|pwd|secret|token|access_?key|sig)\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s;&,"']+)""", re.I
)


def is_secret(key: str) -> bool:
    """Whether a setting's name says that its value is a secret."""
    return _NAMES.search(_TAKEN_APART.sub("-", key)) is not None


def without_secrets(key: str, value: Json) -> Json:
    """The value of a setting, with `SECRET` wherever a secret stands in it.

    Arguments:
        key: the setting's; keys inside an object are looked at for themselves.
    """
    if value is not None and is_secret(key):
        return SECRET
    if isinstance(value, dict):
        return {inner: without_secrets(f"{key}.{inner}", one) for inner, one in value.items()}
    if isinstance(value, list):
        return [without_secrets(key, one) for one in value]
    return masked(value) if isinstance(value, str) else value


def hidden(settings: Mapping[str, object]) -> dict[str, Json]:
    """Settings by key as JSON, sorted, without secrets; values that JSON does not have become text."""
    return {key: without_secrets(key, as_json(settings[key])) for key in sorted(settings)}


def as_json(value: object) -> Json:
    """A value of a parameter or setting as JSON has it: durations and sizes as text."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): as_json(value[key]) for key in sorted(value, key=str)}
        case list() | tuple():
            return [as_json(one) for one in value]
        case _:
            return str(value)


def masked(text: str) -> str:
    """Names and passwords in front of a host, and values that are called a password."""
    return _ASSIGNED.sub(rf"\g<1>{SECRET}", _USER_INFO.sub(SECRET, text))
