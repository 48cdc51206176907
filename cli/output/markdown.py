"""Markdown on a terminal: the subset that the pages of the manual use, also readable without colours."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

import click

_FENCE = re.compile(r"```(?:\w+(?: +(\S+))?)?")
_HEADING = re.compile(r"(#+) +(.+)")
_ITEM = re.compile(r"(?:[*-]|\d+\.) +")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


def shown(text: str, width: int) -> str:
    """Return Markdown as text for a terminal.

    Headings are bold and not indented. Code blocks are indented, with the name of their file. The targets of links are
    listed at the end.

    Arguments:
        text: the Markdown.
        width: the maximum number of columns; lines of code and links may be longer.
    """
    links: list[str] = []
    blocks = ["\n".join(block) for block in _blocks(text.splitlines(), width, links)]
    if links:
        blocks.append("\n".join(f"  [{number}] {link}" for number, link in enumerate(links, start=1)))
    return "\n\n".join(blocks) + "\n"


def _blocks(lines: list[str], width: int, links: list[str]) -> Iterator[list[str]]:
    paragraph: list[str] = []
    rest = iter([*lines, ""])
    for line in rest:
        fence, heading = _FENCE.match(line), _HEADING.fullmatch(line)
        if paragraph and (fence or heading or not line.strip() or _ITEM.match(line)):
            yield _paragraph(_inline(" ".join(paragraph), links), width)
            paragraph = []
        if fence:
            yield list(_code(rest, fence[1]))
        elif heading:
            yield [click.style(_inline(heading[2], links), bold=True)]
        elif line.strip():
            paragraph.append(line.strip())


def _code(lines: Iterator[str], name: str | None) -> Iterator[str]:
    if name:
        yield "  " + click.style(f"{name}:", italic=True)
    for line in lines:
        if line.startswith("```"):
            return
        yield f"    {line}".rstrip()


def _paragraph(text: str, width: int) -> list[str]:
    item = _ITEM.match(text)
    lead = "  " + (item[0] if item else "")
    return textwrap.wrap(
        text[item.end() :] if item else text, width, initial_indent=lead, subsequent_indent=" " * len(lead),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _inline(text: str, links: list[str]) -> str:
    """Return a line with a number for each link out of the manual; names keep their back-quotes, as in findings."""

    def numbered(link: re.Match[str]) -> str:
        if "://" not in link[2]:
            return link[1]
        if link[2] not in links:
            links.append(link[2])
        return f"{link[1]} [{links.index(link[2]) + 1}]"

    return _LINK.sub(numbered, text)
