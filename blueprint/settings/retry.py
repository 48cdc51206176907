"""Retry settings under PSTL's names: `pstl.retry.min.backoff` or `pstl.retry.min-backoff` sets `min-backoff`.

Blueprints have these options among the Spark settings, code has them as options of a query; both are read here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from blueprint.plan import RETRY_OPTIONS, Retry
from blueprint.quantities import Duration
from blueprint.setting_types import Codec
from blueprint.settings.table import setting_of
from blueprint.spelling import alternatives, listing, near

PREFIX = RETRY_OPTIONS
"""The prefix of PSTL's options of a query; as settings of a job they are below `spark.`."""

KEYS: Mapping[str, object] = {field.name.replace("_", "-"): field.default for field in fields(Retry)}
"""Retry settings as a blueprint writes them, each with its default."""


class RetryOptionError(ValueError):
    """An option does not exist, or its value is invalid.

    Arguments:
        message: what is wrong.
        help: what would be right.
        unknown: whether the option does not exist.
    """

    def __init__(self, message: str, help: tuple[str, ...] = (), *, unknown: bool = False) -> None:
        super().__init__(message)
        self.help = help
        self.unknown = unknown


def retry_codec(key: str) -> Codec[object]:
    """Return the codec of a retry setting.

    Arguments:
        key: one of `KEYS`.
    """
    setting = setting_of(("retry", key))
    assert setting is not None
    assert isinstance(setting.type, Codec)
    return setting.type


def is_option(name: str) -> bool:
    """Return whether an option of a query is one of PSTL's retry options."""
    return name.lower().startswith(PREFIX)


def option(name: str, text: str) -> tuple[str, object]:
    """Return the field of `Retry` that an option of PSTL sets, and its value.

    Arguments:
        name: begins with `PREFIX`, in any case; dots and dashes are equivalent.
        text: the value. Durations are written as in PSTL and HOCON, but must have a unit: HOCON would assume
            milliseconds.

    Raises:
        RetryOptionError: there is no such option, or its value is invalid.
    """
    key = name[len(PREFIX) :].lower().replace(".", "-")
    if key not in KEYS:
        options = {known: f"{PREFIX}{known.replace('-', '.')}" for known in KEYS}
        close = near(key, KEYS)
        known = (
            (f"did you mean {alternatives(options[name] for name in close)}?",)
            if close
            else (f"known options are {listing(options.values())}",)
        )
        raise RetryOptionError(f"there is no option `{name}`", known, unknown=True)
    codec, text = retry_codec(key), text.strip()
    if isinstance(KEYS[key], Duration) and text[-1:].isdecimal():
        raise RetryOptionError(f"`{name}` must be {codec.expected}, found `{text}` without a unit")
    try:
        value = codec.read(text.lower() if isinstance(KEYS[key], bool) else text)
    except ValueError:
        raise RetryOptionError(f"`{name}` must be {codec.expected}, found `{text}`") from None
    return key.replace("-", "_"), value
