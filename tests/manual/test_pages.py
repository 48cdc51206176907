"""The pages for users: their code is valid, their commands and settings exist, and their outputs are those of a test.

A new page is covered by itself, except for its outputs: a test has to produce them.
"""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from blueprint.hocon import parse_text, resolve
from blueprint.hocon.source import Source
from blueprint.hocon.values import ObjectValue
from blueprint.setting import tree_of
from blueprint.settings.checks import setting_findings
from blueprint.settings.known_settings import every_setting
from blueprint.sql.parser import parse
from cli.main import flow
from manual.reference.commands import every_command
from manual.screenshots import IMAGES, SHOTS
from streamlets.channels.registry import CHANNEL_TYPES
from tests.pages import BLOCK, REPOSITORY, blocks, text_of

PAGES = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for pattern in ("*.md", "docs/*.md", "benchmarks/*.md", "examples/*/README.md", "cli/templates/*/README.md")
    for path in REPOSITORY.glob(pattern)
)

OUTPUTS = {
    "README.md": ("tests/test_readme.py", "tests/cli/test_live.py"),
    "docs/isolation.md": ("tests/cli/test_live.py",),
    "docs/kubernetes.md": ("tests/cli/test_manifests.py",),
    "docs/lineage.md": ("tests/cli/test_lineage.py",),
    "docs/running.md": ("tests/cli/test_live.py",),
    "docs/tutorial.md": ("tests/manual/test_tutorial.py",),
    "docs/upgrades.md": ("tests/cli/test_run_continues.py",),
    "docs/without-code.md": ("tests/manual/test_without_code.py",),
    "examples/changes/README.md": ("tests/examples/test_changes.py",),
    "examples/flights/README.md": ("tests/test_readme.py",),
    "examples/resilience/README.md": ("tests/test_readme.py", "tests/examples/test_resilience.py"),
    "examples/sensors/README.md": ("tests/test_readme.py",),
}
"""The tests that produce the outputs of pages."""

HISTORY = ("CHANGELOG.md", "benchmarks/RESULTS.md")
"""Pages that may name commands of earlier versions."""

INDENTED = re.compile(r"^ {4}(?:\$ )?((?:.*\\\n)*.*)$", re.MULTILINE)
INLINE = re.compile(r"`([^`]+)`")
COMMAND = re.compile(r"\bflow(?: +[\w./=:\"'<>*,|-]+)+")
NOT_COMMANDS = ("flow.", "flow:")


def code(page: str) -> Iterator[str]:
    """Yield what a reader may type: lines of blocks that are not outputs, indented lines, and code in sentences."""
    text = BLOCK.sub("", text_of(page))
    yield from (match[1].replace("\\\n", " ") for match in INDENTED.finditer(text))
    yield from (match[1].replace("\n", " ") for match in INLINE.finditer(text))
    for block in blocks(page, "console"):
        yield from (line[2:] for line in block.splitlines() if line.startswith("$ "))
    for block in blocks(page, "sh", "bash", "yaml", "ini"):
        yield from block.splitlines()


def commands(page: str) -> Iterator[list[str]]:
    """Yield the words of each `flow` command of a page."""
    for line in code(page):
        for part in re.split(r"&&|\|\||[;|#`]", line):
            match = COMMAND.search(part.strip())
            if match is not None and not part.strip().startswith(NOT_COMMANDS):
                yield part.strip()[match.start() :].split()


DEFINITIONS: dict[str, click.Command] = {"flow": flow} | {path: command for path, command, _ in every_command()}


@pytest.mark.parametrize("page", [page for page in PAGES if page not in HISTORY])
def test_commands_and_options_exist(page: str) -> None:
    """Each `flow` command that a page shows exists, and has the options that the page shows."""
    for words in commands(page):
        names = [path for path in DEFINITIONS if path.split() == words[: len(path.split())]]
        assert names and (names != ["flow"] or words[1].startswith("-")), " ".join(words)
        command = DEFINITIONS[max(names, key=len)]
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        options = {word.partition("=")[0].strip(",.`") for word in words if re.match(r"--?[a-z]", word)}
        assert options <= known | {"--help", "--traceback"}, " ".join(words)


@pytest.mark.parametrize("page", PAGES)
def test_code_is_valid(page: str) -> None:
    """Blocks of code can be read by the language that they are in."""
    for text in blocks(page, "python"):
        compile(text, page, "exec")
    for text in blocks(page, "json"):
        assert all(map(json.loads, text.splitlines() if "}\n{" in text else [text])), text
    for text in blocks(page, "yaml"):
        list(yaml.safe_load_all(text))
    for text in blocks(page, "toml"):
        tomllib.loads(text)
    for text in blocks(page, "hocon"):
        assert parse_text(text, page).diagnostics == (), text
    for text in blocks(page, "sql"):
        assert parse(Source(page, text)).findings == (), text


SETTINGS = tree_of(every_setting(kind.traits for kind in CHANNEL_TYPES.values()))
SETTING = re.compile(r"(?:^|[\s\"'])(flow\.[\w.-]+(?:\.\"[^\"]+\")?[\w.-]*)\s*\+?=\s*(\S.*)?$")


def settings(page: str) -> Iterator[str]:
    """Yield the settings of a page as HOCON: those of its blocks, and each `flow.` setting in a command."""
    yield from (block for block in blocks(page, "hocon") if re.search(r"^flow\b", block, re.MULTILINE))
    for line in code(page):
        match = SETTING.search(line.partition(" #")[0])
        if match is not None and "<" not in line:
            yield line[match.start(1) :]


@pytest.mark.parametrize("page", PAGES)
def test_settings_exist(page: str) -> None:
    """Each setting that a page sets is a setting of the application or of a channel, and has a valid value."""
    for text in settings(page):
        tree, _ = resolve([parse_text(text, page)], {})
        section = tree.fields.get("flow")
        assert isinstance(section, ObjectValue), text
        assert [finding.headline for finding in setting_findings(section, SETTINGS)] == [], text


@pytest.mark.parametrize("page", PAGES)
def test_outputs_are_those_of_a_test(page: str) -> None:
    """A page with outputs is in the table of the tests that produce them, and these read it."""
    outputs = [*blocks(page, "text"), *blocks(page, "console")]
    assert bool(outputs) == (page in OUTPUTS)
    for test in OUTPUTS.get(page, ()):
        assert Path(page).name in (REPOSITORY / test).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_programs_exist(page: str) -> None:
    """Targets of `make` and modules of `python -m` that a page names are in the repository."""
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for line in code(page):
        named = re.match(r"make ([a-z][a-z -]*)", line.strip())
        assert named is None or page in HISTORY or set(named[1].split()) <= targets, line
        module = re.search(r"python -m ((?:benchmarks|tests|manual|cli|streamlets)[\w.]*)", line)
        assert module is None or page in HISTORY or importlib.util.find_spec(module[1]) is not None, line


_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")


def _images(page: str) -> list[tuple[str, Path]]:
    """Return the pictures of a page, each with its description."""
    directory = (REPOSITORY / page).parent
    return [(text, directory / file) for text, file in _IMAGE.findall(text_of(page)) if "://" not in file]


@pytest.mark.parametrize("page", [page for page in PAGES if _images(page)])
def test_pictures_exist_and_are_small(page: str) -> None:
    """Each is in the repository, has a description for people who do not see it, and is quickly loaded."""
    for description, file in _images(page):
        assert description
        assert file.is_file(), file
        assert file.stat().st_size < 200_000, file


def test_each_picture_of_the_page_is_made_by_the_script_and_shown() -> None:
    """`python -m manual.screenshots` makes all of them, and no others."""
    shown = {file.resolve() for page in PAGES for _, file in _images(page) if file.parent.name == "images"}
    assert {file.name for file in IMAGES.iterdir()} == set(SHOTS) == {file.name for file in shown}
