"""The command `flow`: finds the subcommand's file, imports it only when it is called, and turns failures into words.

Exit codes: 0 all is well; 1 it failed (findings that refuse a run, a streamlet failed for good, a bug of ours);
2 the arguments or the blueprint's place are wrong.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

_COMMANDS = {
    "checkpoints": "List, show and reset the checkpoints of an application's queries.",
    "config": "Show the settings in force; --explain KEY says where one comes from.",
    "dead-letters": "Count, show and replay records that broke a contract.",
    "describe": "Write what an application is as JSON, to be compared with what it becomes.",
    "explain": "Say what a code of `flow verify` means and how it is mended.",
    "graph": "Draw the application.",
    "pause": "Drain streamlets of a running application and keep them down.",
    "restart": "Drain streamlets of a running application and start them anew.",
    "resume": "Start paused streamlets again.",
    "run": "Verify the application, then run it.",
    "status": "Say how an application is, whether it runs or not.",
    "stop": "End a running application in order.",
    "streamlets": "List the streamlet classes of a project.",
    "tail": "Show the last records of a topic.",
    "topics": "List an application's topics, and drop records of one.",
    "upgrade": "Put a new version of a running application in its place.",
    "verify": "Check a blueprint, its streamlets, contracts and settings.",
}


_IMPORTING = (
    "config", "dead-letters replay", "describe", "graph", "run", "streamlets", "topics purge", "upgrade", "verify",
)  # fmt: skip
"""What imports the modules of an application."""


def _module(command: str) -> str:
    """The name of a command's file and of the command in it."""
    return command.replace("-", "_")


class _Flow(click.Group):
    """A group whose commands live in files of their own, `cli/commands/<command>.py`, as a command of that name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = getattr(importlib.import_module(f"cli.commands.{_module(cmd_name)}"), _module(cmd_name))
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], _COMMANDS, n=1, cutoff=0.5)
            meant = f"did you mean `flow {near[0]}`?" if near else f"there are {', '.join(sorted(_COMMANDS))}"
            raise click.UsageError(f"there is no command `{args[0]}`: {meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):  # from the table: no command's file is imported for it
            formatter.write_dl(sorted(_COMMANDS.items()))
        with formatter.section("Your code"):
            formatter.write_text(
                f"These commands import the modules of the application's streamlets, so their code runs: "
                f"{', '.join(_IMPORTING)}. With --plans, and in a run, the logic is built, too. No other command does."
            )
        with formatter.section("Exit codes"):
            formatter.write_dl([("0", "all is well"), ("1", "it failed"), ("2", "the arguments are wrong")])


@click.group(cls=_Flow, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--traceback", is_flag=True, help="On a failure, show every frame.")
@click.version_option(package_name="streamlets", prog_name="flow")
def flow(traceback: bool) -> None:
    """Streaming applications on Spark: streamlets with Avro contracts, verified blueprints, supervised runs."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `flow` with these arguments (the process's own when left out) and end the process with its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    show_all = "--traceback" in given
    # `--traceback` is taken wherever it stands.
    given = ["--traceback", *(each for each in given if each != "--traceback")] if show_all else given
    try:
        code = flow.main(given, prog_name="flow", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        code = 130
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:  # noqa: BLE001 - the last place where a bug can be told from a mistake
        code = _bug(error, given, show_all=show_all)
    raise SystemExit(code if isinstance(code, int) else 0)


def _bug(error: Exception, arguments: Sequence[str], *, show_all: bool) -> int:
    """Say that it is a bug of ours and where the details are."""
    details = "".join(traceback.format_exception(error))
    if show_all:
        click.echo(details, err=True)
    line = str(error).strip().partition("\n")[0]
    click.echo(f"internal error: {type(error).__name__}{': ' if line else ''}{line}", err=True)
    click.echo("This is a bug in Streamlets, not in your application.", err=True)
    if not show_all:
        with tempfile.NamedTemporaryFile("w", prefix="flow-", suffix=".txt", delete=False, encoding="utf-8") as file:
            file.write(f"flow {' '.join(arguments)}\nin {Path.cwd()}\nPython {sys.version}\n\n{details}")
        click.echo(f"Details, for a report: {file.name} (or run it again with --traceback)", err=True)
    return 1


if __name__ == "__main__":
    main()
