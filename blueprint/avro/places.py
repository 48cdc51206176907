"""Places of schemas: plain data as values with a place, so that one parser reads every source; paths as shown."""

from __future__ import annotations

import json
import os
from pathlib import Path

from blueprint.diagnostics import Span
from blueprint.hocon.values import ListValue, ObjectValue, Origin, Scalar, Value


def value_at(data: object, span: Span) -> Value:
    """JSON data as a `Value` whose every part stands at `span`; parts that are values already stay what they are.

    Raises TypeError for what JSON does not have; its one argument says where and what.
    """
    origins = (Origin(span),)
    match data:
        case Scalar() | ListValue() | ObjectValue():
            return data
        case dict():
            for key in data:
                if not isinstance(key, str):
                    raise TypeError(f"the key {key!r}, which is no string")
                _check_text(key)
            return ObjectValue({key: value_at(part, span) for key, part in data.items()}, origins)
        case list() | tuple():
            return ListValue(tuple(value_at(part, span) for part in data), origins)
        case str():
            _check_text(data)
            return Scalar(data, data, True, origins)
        case bool() | int() | float() | None:
            return Scalar(data, json.dumps(data), False, origins)
    raise TypeError(f"{data!r} of type `{type(data).__name__}`")


def _check_text(text: str) -> None:
    """A schema travels as UTF-8, which has no halves of surrogate pairs."""
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise TypeError(f"{text!a}, in which half of a surrogate pair is no character")


def shown_path(path: Path) -> str:
    """A path as a user would name it: relative to the working directory when it is below that, without `..`."""
    whole = path.absolute()
    short = Path(os.path.normpath(whole))
    try:
        if whole.exists() and not (short.exists() and short.samefile(whole)):  # a link in front of the `..`
            short = whole
        return str(short.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)
