"""The options of the sink `webhook` that are headers of its requests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from blueprint.catalog import ParameterProblem

HEADERS = "headers."
"""The beginning of their names."""

_NAME = re.compile(r"[!#$%&*'+.^_`|~0-9A-Za-z-]+")
_OWN_HEADERS = ("idempotency-key", "content-length", "host")


def headers_of(options: Mapping[str, object]) -> dict[str, str]:
    """Return the headers in options by name."""
    return {k.removeprefix(HEADERS): str(value) for k, value in options.items() if k.startswith(HEADERS)}


def header_problems(options: Mapping[str, object]) -> Iterator[ParameterProblem]:
    """Yield why options are not headers."""
    for name, value in headers_of(options).items():
        path = ("options", HEADERS.removesuffix("."), name)
        if not _NAME.fullmatch(name):
            yield ParameterProblem(path, f"invalid name of a header: `{name}`", about="key")
        elif name.lower() in _OWN_HEADERS:
            yield ParameterProblem(path, f"the sink sets the header `{name}`", ("remove it",), "key")
        elif not (value.isascii() and value.isprintable()):
            yield ParameterProblem(path, f"the header `{name}` must be ASCII without control characters")
