"""Locations in schemas: plain data with locations, so that one parser reads every source; paths to show."""

from __future__ import annotations

import json
import os
from pathlib import Path

from blueprint.diagnostics import Span
from blueprint.hocon.values import ListValue, ObjectValue, Origin, Scalar, Value


def value_at(data: object, span: Span) -> Value:
    """Return JSON data as a `Value`.

    Arguments:
        data: JSON data; parts of it may already be values.
        span: the location of all parts that are not values yet.

    Raises:
        TypeError: a part is not JSON data; the message names the part.
    """
    origins = (Origin(span),)
    match data:
        case Scalar() | ListValue() | ObjectValue():
            return data
        case dict():
            for key in data:
                if not isinstance(key, str):
                    raise TypeError(f"the key {key!r} is not a string")
                _check_text(key)
            return ObjectValue({key: value_at(part, span) for key, part in data.items()}, origins)
        case list() | tuple():
            return ListValue(tuple(value_at(part, span) for part in data), origins)
        case str():
            _check_text(data)
            return Scalar(data, data, True, origins)
        case bool() | int() | float() | None:
            return Scalar(data, json.dumps(data), False, origins)
    raise TypeError(f"{data!r} of type `{type(data).__name__}` is not JSON data")


def _check_text(text: str) -> None:
    """Check that text can be encoded as UTF-8, which excludes unpaired surrogates."""
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise TypeError(f"{text!a} contains an unpaired surrogate")


def shown_path(path: Path) -> str:
    """Return a path to show: relative to the working directory if it is below it, without `..`."""
    whole = path.absolute()
    short = Path(os.path.normpath(whole))
    try:
        if whole.exists() and not (short.exists() and short.samefile(whole)):  # a symbolic link before the `..`
            short = whole
        return str(short.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)
