"""Commands with commands of their own, such as `flow topics`, which alone means `flow topics list`."""

from __future__ import annotations

from pathlib import Path

import click

_HELP = ("-h", "--help")
_LIST = "list"


class ListedGroup(click.Group):
    """A group whose command `list` is meant where none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `list` in front where no command stands there."""
        if not args or (args[0] not in self.commands and args[0] not in _HELP):
            if args:
                self._refuse_slip(ctx, args[0])
            args = [_LIST, *args]
        return super().parse_args(ctx, args)

    def _refuse_slip(self, ctx: click.Context, word: str) -> None:
        """A path that is not there and looks like a command is meant for one."""
        from blueprint.spelling import near

        close = near(word, self.commands, 1)
        if close and not Path(word).exists():
            raise click.UsageError(f"there is no command `{word}`: did you mean `{close[0]}`?", ctx)
