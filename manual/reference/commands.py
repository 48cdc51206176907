"""The page of the commands, from the definitions that print their help."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from cli.main import flow
from manual.reference.tables import code, table

_INTRODUCTION = """\
# Commands

`flow COMMAND --help` prints the same. The exit codes are on [a page of their own](../docs/exit-codes.md).
`--traceback`, at any position, shows the full traceback of an internal error. `python -m streamlets` is the same
command.
"""


def every_command() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield each command and each command of a group: its name, its definition and a context for its help."""
    root = click.Context(flow, info_name="flow")
    yield from _below(flow, root)


def _below(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        yield inner.command_path, command, inner
        if isinstance(command, click.Group):
            yield from _below(command, inner)


def commands_page() -> str:
    """Return the page."""
    parts = [_INTRODUCTION]
    for path, command, context in every_command():
        usage = command.get_usage(context).removeprefix("Usage: ")
        text = inspect.cleandoc(command.help or "").replace("\b\n", "")
        parts.append(f"## `{path}`\n\n```text\n{' '.join(usage.split())}\n```\n\n{text}\n")
        rows = [record for option in command.params if (record := option.get_help_record(context)) is not None]
        if rows:
            parts.append(table(("option", "meaning"), [(code(names), meaning) for names, meaning in rows]))
    return "\n".join(parts)
