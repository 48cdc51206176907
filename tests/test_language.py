"""Messages, help texts, docs, docstrings and comments are plain English: a list of phrases does not occur in them.

The list is a guard, not a judge: it contains the turns of phrase that keep coming back. Every file is covered.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
COVERED = ("CONTRIBUTING.md", "README.md", "benchmarks", "blueprint", "cli", "docs", "examples", "streamlets", "tests")

PHRASES = {
    r"(?<!there\s)(?:is|are|was|were) no(?! (?:longer|more|less|earlier|later|slower|faster|larger)\b)": "is not a",
    r"(?<!there\s)(?:is|are|was) none": "is not one, is not a ...",
    r"(?:is|are|was|were|be|been) told(?! to| apart)": "is reported, is shown, is logged",
    r"(?:tell|tells|told|say|says|said) (?:nothing )?of": "reports, describes",
    r"has told": "has reported",
    r"nothing to say": "nothing to report",
    r"(?:is|are|was|were) said": "is reported, is shown",
    r"what (?:comes|came) of": "name the result",
    r"comes? to light": "is reported, is revealed",
    r"to be had": "available",
    r"stands? (?:twice|there|here|where|beside|behind|at|on|in(?! for))": "is, is defined, appears",
    r"mend(?:s|ed|ing|able)?": "fix, repair; of a run: recover",
    r"anew": "again, from scratch, with a new checkpoint",
    r"work(?:s|ed|ing)? off": "process, process the backlog",
    r"what there is": "all available data, the current content",
    r"(?:let|lets|letting) go of": "release, abandon",
    r"(?:given up|taken down|takes? down)": "abandoned, recorded",
    r"in force": "effective",
    r"left out": 'omitted; of an option: "default:"',
    r"(?:take|takes|taken) (?:it |them )?out": "remove",
    r"is gone|are gone|was gone|gone missing": "was deleted, no longer exists, exited",
    r"without a word": "silently, without an error message",
    r"last words": "the end of its log",
    r"circles?|knots?|ways? round": "cycle, strongly connected component, shortest cycle",
    r"who(?:so)?ever|whatever becomes": "name the subject",
    r"wish(?:es)?": "preference, default",
    r"state folder": "state directory",
    r"beside the blueprint": "next to the blueprint",
    r"hold(?:s|ing)? (?:itself|themselves)": "contains itself, is recursive",
    r"called (?:like|otherwise)": "has the name of, is renamed",
    r"of one name": "with the same name",
    r"as ever": "as usual",
    r"garbage of circles|circular garbage": "garbage collector",
    r"let the (?:reader|writer)'s": "change the reader's",
}
"""What not to write, as a regular expression with a space for any white space, and what to write instead."""

DIALECT = re.compile(
    r"\b(?:return what|yield what|that of|those of|as far as|(?:is|are) over|what is known of)\b".replace(" ", r"\s+"),
    re.IGNORECASE,
)
"""Turns of phrase that hide a noun, which are correct now and then: name the thing itself, or repeat its noun."""

CODE = ("blueprint", "cli", "streamlets")
PAGES = ("CONTRIBUTING.md", "README.md", "docs/*.md", "examples/*/README.md")

PATTERNS = [
    (re.compile(rf"\b(?:{phrase})(?!\w)".replace(" ", r"\s+"), re.IGNORECASE), instead)
    for phrase, instead in PHRASES.items()
]


def covered_files() -> list[Path]:
    """Return the Python and Markdown files whose texts are checked."""
    files = []
    for name in COVERED:
        path = REPOSITORY / name
        files += [path] if path.is_file() else [*path.rglob("*.py"), *path.rglob("*.md")]
    return sorted(set(files) - {Path(__file__)})


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a file with the number of their first line, without inline code such as names and paths."""
    source = file.read_text(encoding="utf-8")
    for line, text in python_texts(source) if file.suffix == ".py" else [(1, without_code_blocks(source))]:
        yield line, re.sub(r"`[^`\n]*`", "`...`", text)


def python_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield docstrings, other string constants, f-strings (`{}` for values) and comments."""
    tree = ast.parse(source)
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
        if isinstance(part, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def without_code_blocks(markdown: str) -> str:
    """Return Markdown with its fenced blocks emptied, the number of lines unchanged."""
    return re.sub(r"^```.*?^```$", lambda block: "\n" * block[0].count("\n"), markdown, flags=re.DOTALL | re.MULTILINE)


def joined(source: str) -> str:
    """Return a text in which string literals that follow each other are one."""
    return re.sub(r"\"\s*\n\s*f?\"", "", source)


def dialect(files: Iterable[Path]) -> list[str]:
    """Return a line for each phrase of the dialect in files."""
    return [
        f"{file.relative_to(REPOSITORY)}:{first + text.count(chr(10), 0, match.start())}: {match[0]!r}"
        for file in files
        if DIALECT.search(joined(file.read_text(encoding="utf-8")))  # few files have one and need the slower search
        for first, text in texts(file)
        for match in DIALECT.finditer(text)
    ]


def findings(file: Path) -> list[str]:
    """Return a line for each phrase in a file: where it is, what it is, and what to write instead."""
    shown = file.relative_to(REPOSITORY) if file.is_relative_to(REPOSITORY) else file
    lines = []
    for first, text in texts(file):
        for pattern, instead in PATTERNS:
            for match in pattern.finditer(text):
                line = first + text.count("\n", 0, match.start())
                lines.append(f"{shown}:{line}: `{' '.join(match[0].split())}`; write: {instead}")
    return lines


@pytest.mark.parametrize("file", covered_files(), ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_texts_are_plain_english(file: Path) -> None:
    """A covered file has none of the phrases."""
    phrases = findings(file)
    assert not phrases, "\n" + "\n".join(phrases)


def test_dialect_is_rare_in_code() -> None:
    """Docstrings, messages and comments have at most one phrase of the dialect per 1,000 docstrings."""
    files = [file for name in CODE for file in (REPOSITORY / name).rglob("*.py")]
    phrases = dialect(files)
    docstrings = sum(file.read_text(encoding="utf-8").count('"""') for file in files) // 2
    assert len(phrases) <= docstrings // 1000, "\n" + "\n".join(phrases)


def test_dialect_is_rare_on_pages() -> None:
    """Pages that are written by hand have at most one phrase of the dialect per 2,000 lines."""
    files = [file for pattern in PAGES for file in REPOSITORY.glob(pattern)]
    phrases = dialect(files)
    lines = sum(file.read_text(encoding="utf-8").count("\n") for file in files)
    assert len(phrases) <= lines // 2000, "\n" + "\n".join(phrases)


@pytest.mark.parametrize(
    ("suffix", "text", "line"),
    [
        (".py", '"""One.\n\nIt is no streamlet.\n"""', 3),
        (".py", 'message = f"`{name}` is\\n no streamlet"', 1),
        (".py", 'message = "the run was left " f"out of {name}"', 1),
        (".py", "x = 1\n# begin anew", 2),
        (".md", "# Page\n\n```text\nanew\n```\nStart\nanew, with `anew`.", 7),
    ],
)
def test_phrases_are_found_with_their_line(tmp_path: Path, suffix: str, text: str, line: int) -> None:
    """Docstrings, f-strings, joined strings, comments and Markdown are searched; code in Markdown is not."""
    file = tmp_path / f"file{suffix}"
    file.write_text(text, encoding="utf-8")
    (message,) = findings(file)
    assert message.startswith(f"{file}:{line}: `")
