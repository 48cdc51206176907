"""Completion in a shell: names of streamlets and topics, and keys of settings. None of the user's code runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from cli.application import blueprint_at

if TYPE_CHECKING:
    from blueprint.model.blueprint import Blueprint


def attach(command: click.Command) -> None:
    """Let the shell complete the parameters of a command, and of its subcommands, that name parts of an application."""
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        attach(inner)
    completers = {
        "ref": _streamlets,
        "refs": _streamlets,
        "name": _streamlets,
        "topic": _topics,
        "code": _codes,
        "arguments": _paths_and_settings,
        "explain": _setting_keys,
    }
    for parameter in command.params:
        if parameter.name in completers and type(parameter.type) is type(click.STRING):
            parameter._custom_shell_complete = completers[parameter.name]  # noqa: SLF001 - click sets it only in constructors


def _streamlets(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the streamlets of the application that begin with what is typed, with their classes."""
    read = _blueprint(context)
    entries = read.streamlets.values() if read is not None else ()
    return [CompletionItem(entry.ref, help=entry.class_name) for entry in entries if entry.ref.startswith(typed)]


def _topics(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the topics of the application that begin with what is typed."""
    read = _blueprint(context)
    return [CompletionItem(id) for id in (read.topics if read is not None else ()) if id.startswith(typed)]


def _codes(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the codes of findings that begin with what is typed, with their meaning."""
    from blueprint.diagnostics.codes import CODES

    return [CompletionItem(code, help=known.meaning) for code, known in CODES.items() if code.startswith(typed)]


def _paths_and_settings(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the settings that begin with what is typed, as `key=`; let the shell complete paths if there is none."""
    keys = list(_setting_keys(context, parameter, typed)) if typed else []
    return [CompletionItem(f"{item.value}=", help=item.help) for item in keys] or [CompletionItem(typed, type="file")]


def _setting_keys(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the keys of settings that begin with what is typed, with their descriptions."""
    from blueprint.settings.known_settings import every_setting
    from streamlets.project.catalog import ProjectCatalog

    read = _blueprint(context)
    names = {
        "<ref>": tuple(read.streamlets) if read is not None else (),
        "<id>": tuple(read.topics) if read is not None else (),
    }
    keys = {
        key: setting.doc
        for setting in every_setting(ProjectCatalog().channels().values())
        for key in _named(f"flow.{setting.path}", names.items())
        if "<" not in key and key.startswith(typed)
    }
    return [CompletionItem(key, help=doc) for key, doc in sorted(keys.items())]


def _named(key: str, names: Iterable[tuple[str, Iterable[str]]]) -> Iterator[str]:
    """Yield a key with each name in the place of `<ref>` or `<id>`."""
    for placeholder, known in names:
        if placeholder in key:
            yield from (key.replace(placeholder, name) for name in known)
            return
    yield key


def _blueprint(context: click.Context) -> Blueprint | None:
    """Return the readable parts of the blueprint at the path that the command line has so far."""
    import os

    from blueprint.hocon import parse_file, resolve
    from blueprint.model.loading import load

    words = context.params.get("arguments") or (context.params.get("path") or Path(),)
    file = next((blueprint_at(path) for path in map(Path, words) if path.exists()), blueprint_at(Path()))
    if not file.exists():
        return None
    tree, _ = resolve([parse_file(file)], os.environ)
    return load(tree, str(file), str(file.parent))[0]
