"""How Spark writes values as text: as the standard of the format says, and without losing a part of them."""

from __future__ import annotations

from collections.abc import Mapping

from streamlets.contract.conform import EXACT_TIMES

_TIMES = {
    "dateFormat": "yyyy-MM-dd",
    **EXACT_TIMES,
    "timeZone": "UTC",  # the offsets of the 19th century have seconds, which ISO 8601 and Spark do not write
}
_CSV = {
    "escape": '"',  # RFC 4180: a quote in a field is doubled; Spark's default is a backslash before it
    "ignoreLeadingWhiteSpace": "false",  # RFC 4180: spaces are part of a field
    "ignoreTrailingWhiteSpace": "false",
}
JSON: Mapping[str, str] = _TIMES
"""The options with which Spark writes records as JSON."""

DEFAULTS: Mapping[str, Mapping[str, str]] = {"csv": _CSV | _TIMES, "json": JSON}
"""The options of Spark's writer that are not its defaults, by format."""


def with_defaults(format: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of Spark's writer, with defaults for options that are not set.

    A pattern of timestamps that is set is in the time zone of the session, as Spark's documentation says.

    Arguments:
        format: the name of the format in Spark.
        options: the options that are set.
    """
    defaults, names = DEFAULTS.get(format, {}), {name.lower() for name in options}
    local = {"timeZone"} if "timestampformat" in names else set()
    return {k: v for k, v in defaults.items() if k.lower() not in names and k not in local} | dict(options)
