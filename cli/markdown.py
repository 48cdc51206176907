"""Markdown on a terminal: as much of it as the pages of the manual use, readable without colours, too."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

_FENCE = re.compile(r"```(?:\w+(?: +(\S+))?)?")
_HEADING = re.compile(r"(#+) +(.+)")
_ITEM = re.compile(r"(?:[*-]|\d+\.) +")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


def shown(text: str, width: int) -> str:
    """Markdown as text of at most `width` columns; blocks of code keep their lines, however long.

    The title and the headings are bold and stand out to the left, blocks of code are set in and carry the name of
    their file.
    """
    return "\n\n".join("\n".join(block) for block in _blocks(text.splitlines(), width)) + "\n"


def _blocks(lines: list[str], width: int) -> Iterator[list[str]]:
    paragraph: list[str] = []
    rest = iter([*lines, ""])
    for line in rest:
        fence, heading = _FENCE.match(line), _HEADING.fullmatch(line)
        if paragraph and (fence or heading or not line.strip() or _ITEM.match(line)):
            yield _paragraph(paragraph, width)
            paragraph = []
        if fence:
            yield list(_code(rest, fence[1]))
        elif heading:
            yield [click.style(_inline(heading[2]), bold=True)]
        elif line.strip():
            paragraph.append(line.strip())


def _code(lines: Iterator[str], name: str | None) -> Iterator[str]:
    if name:
        yield "  " + click.style(f"{name}:", italic=True)
    for line in lines:
        if line.startswith("```"):
            return
        yield f"    {line}".rstrip()


def _paragraph(lines: list[str], width: int) -> list[str]:
    from blueprint.diagnostics.text import wrapped

    text = _inline(" ".join(lines))
    item = _ITEM.match(text)
    lead = "  " + (item[0] if item else "")
    first, *others = wrapped(text[item.end() :] if item else text, width - len(lead))
    return [lead + first, *(" " * len(lead) + other for other in others)]


def _inline(text: str) -> str:
    """Names stay in back-quotes, as in findings; a link shows where it leads when that is somewhere else."""
    return _LINK.sub(lambda link: f"{link[1]} ({link[2]})" if "://" in link[2] else link[1], text)
