"""Retry settings under PSTL's names: `pstl.retry.min.backoff` or `pstl.retry.min-backoff` sets `min-backoff`.

Blueprints have these options among the Spark settings, code has them as options of a query; both are read here.
"""

from __future__ import annotations

from blueprint.core_settings import RETRY_OPTIONS, Retry
from blueprint.quantities import Duration
from blueprint.setting import declared_settings
from blueprint.setting_types import Codec
from blueprint.spelling import alternatives, listing, near

SETTINGS = {setting.key: (field, setting) for field, setting in declared_settings(Retry).items()}
"""The fields of `Retry` and their settings, by key."""


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


def is_option(name: str) -> bool:
    """Return whether an option of a query is one of PSTL's retry options."""
    return name.lower().startswith(RETRY_OPTIONS)


def option(name: str, text: str) -> tuple[str, object]:
    """Return the field of `Retry` that an option of PSTL sets, and its value.

    Arguments:
        name: begins with `RETRY_OPTIONS`, in any case; dots and dashes are equivalent.
        text: the value. Durations are written as in PSTL and HOCON, but must have a unit: HOCON would assume
            milliseconds.

    Raises:
        RetryOptionError: there is no such option, or its value is invalid.
    """
    key = name[len(RETRY_OPTIONS) :].lower().replace(".", "-")
    if key not in SETTINGS:
        options = {known: f"{RETRY_OPTIONS}{known.replace('-', '.')}" for known in SETTINGS}
        close = near(key, SETTINGS)
        known = (
            (f"did you mean {alternatives(options[name] for name in close)}?",)
            if close
            else (f"known options are {listing(options.values())}",)
        )
        raise RetryOptionError(f"there is no option `{name}`", known, unknown=True)
    field, setting = SETTINGS[key]
    assert isinstance(setting.type, Codec)
    text, default = text.strip(), setting.typed_default()
    if isinstance(default, Duration) and text[-1:].isdecimal():
        raise RetryOptionError(f"`{name}` must be {setting.type.expected}, found `{text}` without a unit")
    try:
        return field, setting.type.read(text.lower() if isinstance(default, bool) else text)
    except ValueError:
        raise RetryOptionError(f"`{name}` must be {setting.type.expected}, found `{text}`") from None
