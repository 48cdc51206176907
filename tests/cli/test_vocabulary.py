"""All commands share one vocabulary: names of output formats, of options, and of what they leave as it is."""

from __future__ import annotations

import re

import click
import pytest

from manual.reference.commands import every_command

COMMANDS = {path: command for path, command, _ in every_command() if not isinstance(command, click.Group)}

WITHOUT_DATA = {
    "flow completion": "a script for a shell",
    "flow describe": "always JSON",
    "flow lsp": "the protocol of editors",
    "flow new": "creates files, and prints the next commands to type",
    "flow put": "prints nothing",
    "flow schema": "always JSON",
    "flow ui": "prints an address, and serves pages",
}
"""The commands without `--format`, and what they print."""

FORMATS = {"text", "json", "jsonl"}
OWN_FORMATS = {
    "flow backfill": {"auto", "table", "lines", "jsonl"},
    "flow graph": {"terminal", "svg", "mermaid", "dot", "graphml", "json"},
    "flow run": {"auto", "table", "lines", "jsonl", "json"},
    "flow verify": {"full", "concise", "github", "sarif", "json"},
}
"""The commands with more than one form for people, or with formats of other tools."""

FOLLOWING = {
    "flow backfill",
    "flow pause",
    "flow restart",
    "flow resume",
    "flow run",
    "flow scale",
    "flow stop",
    "flow tail",
    "flow upgrade",
}
"""The commands that print as things happen, so that their data is a JSON object per line."""

MEANINGS = {
    "--application": "application",
    "--conf": "settings",
    "--dry-run": "nothing|only",
    "--follow": "until",
    "--format": "format",
    "--state-dir": "state|topics",
    "--timeout": "wait|long",
    "--yes": "confirmation",
}
"""A word in the help of each option that several commands have: one name has one meaning."""


def options(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command by each of their names."""
    return {name: option for option in command.params if isinstance(option, click.Option) for name in option.opts}


@pytest.mark.parametrize("path", COMMANDS)
def test_a_command_that_reports_has_data(path: str) -> None:
    """`--format` offers `json`, or `jsonl` where lines follow one another, besides one or more forms for people."""
    option = options(COMMANDS[path]).get("--format")
    assert (option is None) == (path in WITHOUT_DATA)
    if option is None:
        return
    assert isinstance(option.type, click.Choice)
    choices = set(option.type.choices)
    assert choices == OWN_FORMATS.get(path, choices & FORMATS)
    assert "jsonl" in choices if path in FOLLOWING else choices & {"json", "jsonl"}
    assert option.default in choices


@pytest.mark.parametrize("path", COMMANDS)
def test_one_name_has_one_meaning(path: str) -> None:
    """An option that several commands have means the same in all of them."""
    for name, option in options(COMMANDS[path]).items():
        if name in MEANINGS:
            assert re.search(MEANINGS[name], f"{option.help} {option.metavar}", re.IGNORECASE), name


@pytest.mark.parametrize("path", COMMANDS)
def test_a_dry_run_has_one_name(path: str) -> None:
    """What carries nothing out is called `--dry-run`."""
    for name, option in options(COMMANDS[path]).items():
        carries_nothing_out = re.search(r"\b(write|delete|change|do|replace) nothing\b|\bonly;", str(option.help))
        if name == "--diff":  # the changes as a patch: what it prints is more than a report
            assert path in ("flow manifests", "flow verify")
            continue
        assert name == "--dry-run" or not carries_nothing_out, name
        assert name not in ("--check", "--simulate", "--no-act", "--plan", "--preview"), name


def test_the_tables_name_commands() -> None:
    """A command that was removed is removed here, too."""
    assert WITHOUT_DATA.keys() | OWN_FORMATS.keys() | FOLLOWING <= COMMANDS.keys()
