"""Reads the specification: Markdown whose blocks are applications and their reports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(r"^```(\w+)?(?: +(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """A `##` section.

    Arguments:
        document: the name of the file.
        title: of the section.
        files: texts by file name; blocks before the first section apply to all sections, a section's own win.
        arguments: `key=value` settings (a block `arguments`, one per line).
        expected: the report; its place in the document is `start` to `end`.
        conf: the names of settings files.
    """

    document: str
    title: str
    files: dict[str, str]
    arguments: tuple[str, ...] = ()
    expected: str = ""
    start: int = 0
    end: int = 0
    conf: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.document}: {self.title}"


def cases(path: Path) -> Iterator[Case]:
    """Yield all cases of a document."""
    text = path.read_text(encoding="utf-8")
    heads = list(HEADING.finditer(text))
    shared = {m[2]: m[3] for m in FENCE.finditer(text, 0, heads[0].start()) if m[2]}
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        end = following.start() if following else len(text)
        files, arguments = dict(shared), ()
        expected = None
        for block in FENCE.finditer(text, head.end(), end):
            if block[2]:
                files[block[2]] = block[3]
            elif block[1] == "arguments":
                arguments = tuple(block[3].splitlines())
            else:
                expected = block
        assert expected is not None, f"{path.name}: `{head[1]}` has no expected report"
        yield Case(
            path.name, head[1], files, arguments, expected[3], expected.start(3), expected.end(3),
            tuple(name for name in files if name.endswith(".conf") and name != "blueprint.conf"),
        )  # fmt: skip
