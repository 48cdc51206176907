"""Patterns of paths in the notation of Hadoop: `*`, `?`, `[...]`, `{a,b}` and `\\`. They are compared as texts."""

from __future__ import annotations

import re
from pathlib import PurePath

_TOKEN = re.compile(
    r"\\(?P<literal>.)|\[(?P<negated>[!^]?)(?P<set>[^\]]+)\]|(?P<special>[*?{},])|(?P<other>.)", re.DOTALL
)
_SPECIAL = {"*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")"}
_MAGIC = re.compile(r"[*?\[{\\]")


def literal_parts(path: PurePath) -> int:
    """Return the number of parts of a path before the first one that is a pattern."""
    return next((number for number, part in enumerate(path.parts) if _MAGIC.search(part)), len(path.parts))


def matches(pattern: PurePath, path: PurePath) -> bool:
    """Return whether a pattern names a path: each part of the pattern names one part of the path."""
    return len(pattern.parts) == len(path.parts) and all(
        _expression(part).fullmatch(name) for part, name in zip(pattern.parts, path.parts, strict=True)
    )


def _expression(part: str) -> re.Pattern[str]:
    """Return the regular expression of one part; a part that is not a valid pattern stands for itself."""
    depth, expression = 0, ""
    for token in _TOKEN.finditer(part):
        special = token["special"]
        depth += (special == "{") - (special == "}")
        if special == ",":
            expression += "|" if depth else ","
        elif special:
            expression += _SPECIAL[special]
        elif token["set"]:
            members = re.sub(r"([\\\[&~|^])", r"\\\1", token["set"])
            expression += f"[{'^' if token['negated'] else ''}{members}]"
        else:
            expression += re.escape(token["literal"] or token["other"])
    try:
        return re.compile(expression, re.DOTALL)
    except re.error:  # such as a brace that is not closed
        return re.compile(re.escape(part))
