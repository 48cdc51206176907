"""Groups whose default command is `list`, such as `flow topics`; commands that import an application's modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TypeVar

import click

_Command = TypeVar("_Command", bound=click.Command)

_HELP = ("-h", "--help")
_LIST = "list"
_IMPORTS = "imports_modules"  # the attribute of a command


Imports = Literal["always", "with servers"]
"""When a command imports the modules of an application: always, or only for the settings of topics on servers."""


def imports_modules(when: Imports = "always") -> Callable[[_Command], _Command]:
    """Declare that a command imports the modules of an application, which runs their code; `flow --help` names it."""

    def declare(command: _Command) -> _Command:
        setattr(command, _IMPORTS, when)
        return command

    return declare


def imports_of(command: click.Command) -> Imports | None:
    """Return when a command imports the modules of an application; None for never."""
    return getattr(command, _IMPORTS, None)


def leaves(
    command: click.Command, context: click.Context, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """Yield the commands of a group and of the groups in it, with their full names."""
    if not isinstance(command, click.Group):
        yield " ".join(path), command
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from leaves(inner, context, (*path, name))


class ListedGroup(click.Group):
    """A group whose default command is `list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `list` when the first argument is not a command."""
        if not args or (args[0] not in self.commands and args[0] not in _HELP):
            if args:
                self._check_spelling(ctx, args[0])
            args = [_LIST, *args]
        return super().parse_args(ctx, args)

    def _check_spelling(self, ctx: click.Context, word: str) -> None:
        """Check that a path is not a misspelt command.

        Raises:
            click.UsageError: the path does not exist and looks like a command.
        """
        from blueprint.spelling import near

        close = near(word, self.commands, 1)
        if close and not Path(word).exists():
            raise click.UsageError(f"there is no command `{word}`: did you mean `{close[0]}`?", ctx)
