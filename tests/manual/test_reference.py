"""The reference has an entry for everything that exists, and each entry has a description."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import get_args

import click
import pytest

from blueprint.diagnostics.codes import CODES
from blueprint.settings.known_settings import every_setting
from blueprint.trigger import Trigger
from manual.reference import API_PACKAGES, reference_pages
from manual.reference.api import exported, members
from manual.reference.commands import every_command
from manual.reference.markdown import description, documented_arguments
from manual.reference.streamlets import built_in_streamlets
from manual.reference.triggers import IN_BLUEPRINTS
from streamlets import triggers
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.egress import SINKS
from streamlets.ingress.sources import SOURCES
from streamlets.ingress.triggerers.registry import TRIGGERERS

REPOSITORY = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The generated pages, by their names."""
    return {Path(path).stem: text for path, text in reference_pages().items()}


def test_every_setting_has_an_entry(pages: dict[str, str]) -> None:
    """Also those of the channels; none lacks its type and meaning."""
    rows = dict(re.findall(r"^\| `(flow\.\S+)` \| (.*) \|$", pages["settings"], re.MULTILINE))
    settings = every_setting(kind.traits for kind in CHANNEL_TYPES.values())
    assert {f"flow.{setting.path}" for setting in settings} == set(rows)
    for setting, row in rows.items():
        value, _, meaning = re.split(r"(?<!\\) \| ", row)
        assert value and len(meaning.split()) > 2, setting


def test_every_command_and_option_has_an_entry(pages: dict[str, str]) -> None:
    """Also those of groups of commands, such as `flow topics purge`."""
    sections = dict(re.findall(r"^## `(.+?)`\n(.*?)(?=^## |\Z)", pages["commands"], re.MULTILINE | re.DOTALL))
    assert "flow topics purge" in sections
    for path, command, _ in every_command():
        assert command.help, path
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert all(name in sections[path] for name in parameter.opts), (path, parameter.opts)
                assert parameter.help, (path, parameter.name)


def test_every_command_is_in_the_table_of_exit_codes() -> None:
    """The page is written by hand; `tests/cli/test_exit_codes.py` tests its codes."""
    page = (REPOSITORY / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    named = set(re.findall(r"[a-z-]+", " ".join(re.findall(r"^\| code \|.*$", page, re.MULTILINE))))
    missing = {path.split()[1] for path, _, _ in every_command()} - named
    assert missing == set()


def test_every_parameter_of_a_built_in_streamlet_has_an_entry(pages: dict[str, str]) -> None:
    """`Sink` and `Sql` among others."""
    described = dict(built_in_streamlets())
    assert {"streamlets.Sink", "streamlets.Source", "streamlets.Sql"} <= set(described)
    for name, descriptor in described.items():
        section = pages["streamlets"].partition(f"## `{name}`\n")[2].partition("\n## ")[0]
        for parameter in descriptor.parameters:
            assert f"| `{parameter.key}` |" in section, (name, parameter.key)
            assert parameter.description, (name, parameter.key)


def test_every_sink_and_option_has_an_entry(pages: dict[str, str]) -> None:
    """The page of the sinks is taken from their guide."""
    for name, kind in SINKS.items():
        for key in (name, *(option.name for option in kind.traits.options)):
            assert f"| `{key}` |" in pages["sinks"], (name, key)


def test_every_source_and_option_has_an_entry(pages: dict[str, str]) -> None:
    """The page of the sources is taken from their guide."""
    for name, kind in SOURCES.items():
        for key in (name, *(option.name for option in kind.traits.options)):
            assert f"| `{key}` |" in pages["sources"], (name, key)


def test_every_channel_has_an_entry(pages: dict[str, str]) -> None:
    """With the list of its settings."""
    for name, kind in CHANNEL_TYPES.items():
        assert f"## Settings of `{name}`" in pages["channels"]
        assert all(f"{setting.key}`" in pages["channels"] for setting in kind.traits.settings)


def test_every_trigger_has_an_entry(pages: dict[str, str]) -> None:
    """A public function of `streamlets.triggers` that makes a trigger is on the page."""
    kinds = {kind.__name__ for kind in get_args(Trigger)}
    functions = {
        name
        for name, value in vars(triggers).items()
        if inspect.isfunction(value) and inspect.signature(value).return_annotation in kinds
    }
    assert functions == set(IN_BLUEPRINTS)
    for name in functions:
        assert f"triggers.{name}(" in pages["triggers"]


def test_every_triggerer_and_its_configuration_are_described() -> None:
    """The guide of batch sources is their reference."""
    page = (REPOSITORY / "docs" / "batch-sources.md").read_text(encoding="utf-8")
    section = page.partition("\n## Triggerers\n")[2].partition("\n## ")[0]
    parts = dict(re.findall(r"\n\n`(\w+)` (.*?)(?=\n\n`\w+` |\n\n\*\*|\Z)", section, re.DOTALL))
    assert parts.keys() == TRIGGERERS.keys()
    for name, path in TRIGGERERS.items():
        keys = getattr(importlib.import_module(path.partition(":")[0]), "_KEYS", ())
        assert all(f"`{key}`" in parts[name] for key in keys), (name, keys)


def test_every_code_has_a_page() -> None:
    """The pages of diagnostics are on the site, below their index."""
    assert {path.stem for path in (REPOSITORY / "docs" / "diagnostics").glob("*.md")} == set(CODES)


@pytest.mark.parametrize("package", API_PACKAGES)
def test_the_public_api_is_documented(package: str, pages: dict[str, str]) -> None:
    """Every exported name and method has a docstring that describes its arguments, or overrides one that has."""
    for name, value in exported(package):
        assert f"\n## `{name}`\n" in pages[f"{package}-api"]
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        assert value.__doc__, name
        for member, function in members(value) if inspect.isclass(value) else [(name, value)]:
            doc = inspect.getdoc(function)
            assert doc, f"{name}.{member}"
            if inspect.isfunction(function) and not member.startswith("test_"):  # the tests of a suite have fixtures
                arguments = set(inspect.signature(function).parameters) - {"self", "cls"}
                bases = value.__mro__ if inspect.isclass(value) else ()
                docs = [doc, *(inspect.getdoc(vars(base)[member]) or "" for base in bases if member in vars(base))]
                described = {word for text in docs for word in documented_arguments(text)}
                described |= {word for word in arguments if f"`{word}`" in doc}
                assert arguments <= described, f"{name}.{member}: {sorted(arguments - described)}"


def test_sections_of_docstrings_become_lists() -> None:
    """Arguments over several lines stay one entry, and a paragraph after a section is one again."""
    docstring = "Do it.\n\nArguments:\n    a, b: two\n        things.\n    c: one.\n\nReturns: it.\n\nMore."
    assert description(docstring) == (
        "Do it.\n\n\n**Arguments**\n\n* `a`, `b`: two\n  things.\n* `c`: one.\n\n\n**Returns**: it.\n\n\nMore."
    )
    assert documented_arguments(docstring) == {"a", "b", "c"}
