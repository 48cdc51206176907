"""Docstrings and signatures as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

_SECTION = re.compile(r"^(Arguments|Attributes|Returns|Raises|Yields|Example):(.*)$")
_SESSION = re.compile(r"^>>> .*\n?(?:^.+\n?)*", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*): (.*)$")


def description(docstring: str) -> str:
    """Return a docstring as Markdown, with a list for each of its sections.

    Arguments:
        docstring: the docstring without indentation, as `inspect.getdoc` returns it.
    """
    lines: list[str] = []
    section = ""
    for line in docstring.splitlines():
        if start := _SECTION.match(line):
            section = start[1]
            lines += ["", f"**{section}**{':' if start[2] else ''}{start[2]}", ""]
        elif section == "Example" and (line.startswith("    ") or not line):
            lines.append(re.sub("::$", ":", line[4:]))
        elif section and (entry := _ENTRY.match(line)):
            names = ", ".join(f"`{name}`" for name in entry[1].split(", "))
            lines.append(f"* {names}: {entry[2]}")
        elif section and line.startswith("    "):
            lines.append(f"  {line.strip()}")
        else:
            if line and not line.startswith(" "):
                section = ""
            lines.append(line)
    return _SESSION.sub(lambda session: f"```pycon\n{session[0].rstrip()}\n```\n", "\n".join(lines)).strip()


def documented_arguments(docstring: str) -> set[str]:
    """Return the names in the section `Arguments` of a docstring."""
    names: set[str] = set()
    section = ""
    for line in docstring.splitlines():
        if start := _SECTION.match(line):
            section = start[1]
        elif section == "Arguments" and (entry := _ENTRY.match(line)):
            names |= {name.lstrip("*") for name in entry[1].split(", ")}
    return names


def signature(name: str, function: Callable[..., Any]) -> str:
    """Return the signature of a function as its author wrote it, without `self`."""
    parameters = inspect.signature(function)
    own = [parameter for parameter in parameters.parameters.values() if parameter.name not in ("self", "cls")]
    text = f"{name}{parameters.replace(parameters=own)}"
    return re.sub(r"'([^',]*)'(?=[,)]|$| =)", r"\1", re.sub(r": '([^']*)'", r": \1", text))
