"""The source of the site: the repository's pages and the generated ones, in a directory that Sphinx reads.

The repository's paths are kept, so that a link works on the site as it does in the repository. A link to a directory
leads to its page, and a file that is not a page is copied, for the reader to download.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from manual.graphs import with_graphs
from manual.navigation import APART, NAVIGATION
from manual.repository import REPOSITORY

HAND_WRITTEN = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "benchmarks/*.md",
    "docs/**/*.md",
    "examples/*/README.md",
)

DIRECTORIES = {"docs/diagnostics": "docs/diagnostics.md"}
"""The pages of directories that have no `README.md`."""

_CODE = re.compile(r"^( *)(`{3,}).*?^\1\2`*[ ]*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:)([^)#\s]+)")


class BrokenLinkError(Exception):
    """A page links to a file that does not exist."""


def hand_written_pages() -> list[str]:
    """Return the paths of the pages of the repository, relative to it."""
    pages = {path for pattern in HAND_WRITTEN for path in REPOSITORY.glob(pattern) if path.is_file()}
    return sorted(path.relative_to(REPOSITORY).as_posix() for path in pages)


def write_source(directory: Path, generated: Mapping[str, str]) -> None:
    """Write the source of the site. Files that do not change keep their time, so that Sphinx reads only what is new.

    Arguments:
        directory: where to write; other files there are deleted.
        generated: the generated pages by their path.

    Raises:
        BrokenLinkError: a link of a page leads nowhere.
    """
    texts = {page: (REPOSITORY / page).read_text(encoding="utf-8") for page in hand_written_pages()} | dict(generated)
    files: set[str] = set()
    broken: list[str] = []
    for page, text in texts.items():
        texts[page] = _with_site_links(page, text, texts, files, broken)
    if broken:
        raise BrokenLinkError("\n".join(broken))
    texts = {page: _apart(page) + with_graphs(text) for page, text in texts.items()}
    index = texts.pop("README.md")
    texts["index.md"] = index + "".join(
        _contents(title, _pages(patterns, texts)) for title, patterns in NAVIGATION.items()
    )
    for page, text in texts.items():
        _write(directory / page, text)
    for file in files:
        (directory / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / file, directory / file)
    for path in directory.rglob("*"):
        if path.is_file() and path.relative_to(directory).as_posix() not in texts.keys() | files:
            path.unlink()


def _pages(patterns: Sequence[str], texts: Mapping[str, str]) -> Iterator[str]:
    """Yield the pages of a section in order."""
    named = {pattern for section in NAVIGATION.values() for pattern in section if "*" not in pattern}
    for pattern in patterns:
        yield from (
            [pattern]
            if "*" not in pattern
            else sorted(page for page in texts if PurePosixPath(page).match(pattern) and page not in named)
        )


def _with_site_links(page: str, text: str, pages: Mapping[str, str], files: set[str], broken: list[str]) -> str:
    """Return a page with the links of the site.

    Arguments:
        page: its path.
        text: its text.
        pages: the pages of the site by their path.
        files: gets the files that it links to, which are not pages.
        broken: gets a message for each link that leads nowhere.
    """

    def link(match: re.Match[str]) -> str:
        here = PurePosixPath(page).parent
        target = os.path.normpath(here / match[1])
        target = DIRECTORIES.get(target, target)
        if (REPOSITORY / target).is_dir():
            target = f"{target}/README.md"
        if target not in pages:
            if not (REPOSITORY / target).is_file():
                broken.append(f"{page}: the link `{match[1]}` leads to `{target}`, which does not exist")
            files.add(target)
        target = "index.md" if target == "README.md" else target
        return os.path.relpath(target, here)

    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts += [_LINK.sub(link, text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _LINK.sub(link, text[end:])])


def _apart(page: str) -> str:
    """Return what excludes a page from navigation and search, or nothing for other pages."""
    apart = any(PurePosixPath(page).match(pattern) for pattern in APART)
    return "---\norphan: true\nnosearch: true\n---\n\n" if apart else ""


def _contents(title: str, pages: Iterable[str]) -> str:
    """Return the directive of Sphinx that puts a section into the navigation."""
    entries = [page.removesuffix(".md") for page in pages]
    return "\n".join(["", "```{toctree}", f":caption: {title}", ":hidden:", ":maxdepth: 1", "", *entries, "```", ""])


def _write(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
