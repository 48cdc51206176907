"""Commands with subcommands, such as `flow topics`, whose default is `flow topics list`."""

from __future__ import annotations

from pathlib import Path

import click

_HELP = ("-h", "--help")
_LIST = "list"


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
