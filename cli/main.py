"""The command `flow`: import the module of a subcommand only when called, and turn exceptions into messages.

Exit codes: 0 success; 1 failure (findings that prevent a run, a failed streamlet, a bug in Streamlets); 2 wrong
arguments, or no blueprint at the path.
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
    "backfill": "Run a streamlet over a range of its topics again.",
    "backfills": "List the backfills of an application, and delete one.",
    "checkpoints": "List, show and reset the checkpoints of an application.",
    "completion": "Write the script that completes `flow` in a shell.",
    "config": "Show the effective settings and where they were set.",
    "dead-letters": "List, show and replay records that broke a contract.",
    "describe": "Write a JSON descriptor of an application, for later comparison.",
    "diff": "Compare records of a topic with another topic, or with a file.",
    "doctor": "Check what a run needs on this machine.",
    "explain": "Explain a code that `flow verify` reports.",
    "export": "Write records of a topic to a file.",
    "graph": "Draw the graph of an application.",
    "health": "Show whether the streamlets of an application are healthy.",
    "lineage": "Show where a column comes from, and who uses it.",
    "lsp": "Answer an editor about blueprints (Language Server Protocol).",
    "manifests": "Write what runs an application on Kubernetes.",
    "new": "Create a project that verifies, runs and passes its tests.",
    "pause": "Pause streamlets of a running application.",
    "put": "Deliver a file from inside the program of a spout.",
    "restart": "Restart streamlets of a running application.",
    "resume": "Resume paused streamlets.",
    "run": "Verify and run an application.",
    "sample": "Propose the schema of a source, from a few of its records.",
    "scale": "Change the number of replicas of a streamlet of a running application.",
    "schema": "Write the JSON Schema of blueprints in YAML and JSON.",
    "spouts": "Show the spouts of an application.",
    "sql": "Show and stop the queries of a running application: `SHOW STREAMS`, `STOP STREAM`.",
    "status": "Show the status of an application, running or not.",
    "stop": "Stop a running application gracefully.",
    "streamlets": "List the streamlet classes of a project.",
    "tail": "Show the last records of a topic.",
    "tasks": "List, show and retry the tasks of batch sources.",
    "topics": "List the topics of an application, and delete records.",
    "ui": "Show applications in a browser.",
    "upgrade": "Upgrade a running application to a new version.",
    "verify": "Check a blueprint, its streamlets, contracts and settings.",
}

COMPLETION = "_FLOW_COMPLETE"
"""The environment variable with which the script of a shell asks for completions."""

_SHARED_MODULES = dict.fromkeys(("pause", "restart", "resume", "scale"), "steering")
"""The modules of commands that share one; the module of any other command has the command's name."""


class _Flow(click.Group):
    """A group whose commands are functions in modules of `cli/commands`, imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(importlib.import_module(f"cli.commands.{_SHARED_MODULES.get(name, name)}"), name)
        assert isinstance(command, click.Command)
        if COMPLETION in os.environ:
            from cli.completion import attach

            attach(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], _COMMANDS, n=1, cutoff=0.5)
            hint = f"did you mean `flow {near[0]}`?" if near else f"the commands are {', '.join(sorted(_COMMANDS))}"
            raise click.UsageError(f"there is no command `{args[0]}`: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_COMMANDS.items()))
        with formatter.section("Your code"):
            from cli.groups import imports_of, leaves

            commands = {name: imports_of(command) for name, command in leaves(self, ctx)}
            always, sometimes = (
                ", ".join(name for name, when in commands.items() if when == wanted)
                for wanted in ("always", "with servers")
            )
            formatter.write_text(
                f"These commands import the modules that define the application's streamlets, which runs their code: "
                f"{always}. If topics are on servers, so do {sometimes}. `flow run` and the option --plans also build "
                f"the streamlets' logic. The other commands run none of your code."
            )
        with formatter.section("Exit codes"):
            formatter.write_dl([("0", "success"), ("1", "failure"), ("2", "wrong arguments")])


@click.group(cls=_Flow, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--traceback", is_flag=True, help="Show the full traceback of an internal error.")
@click.version_option(package_name="streamlets", prog_name="flow")
def flow(traceback: bool) -> None:
    """Verify, run and operate streaming applications on Spark."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `flow`, and end the process with its exit code.

    Arguments:
        arguments: the command line; default: the command line of the process.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    show_traceback = "--traceback" in arguments
    if show_traceback:  # It is accepted at any position.
        arguments = ["--traceback", *(argument for argument in arguments if argument != "--traceback")]
    try:
        code = flow.main(arguments, prog_name="flow", complete_var=COMPLETION, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        code = 130
    except BrokenPipeError:  # The reader of the output closed it, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:  # noqa: BLE001 - mistakes have exceptions of their own, so this is a bug
        code = _report_bug(error, arguments, show_traceback=show_traceback)
    raise SystemExit(code if isinstance(code, int) else 0)


def _report_bug(error: Exception, arguments: Sequence[str], *, show_traceback: bool) -> int:
    """Report an error of a plug-in or server, or an internal one, whose details go to a file unless they are shown."""
    from blueprint.settings.secret_texts import masked
    from streamlets.channels.base import ChannelUnavailableError, TopicLostError
    from streamlets.contract.wire.registry import RegistryError
    from streamlets.plugins import PluginError
    from streamlets.storage.damage import DamagedFileError

    details = masked("".join(traceback.format_exception(error)))
    if show_traceback:
        click.echo(details, err=True)
    if isinstance(error, PluginError | ChannelUnavailableError | RegistryError | TopicLostError | DamagedFileError):
        click.echo(f"error: {masked(str(error))}", err=True)
        return 1
    click.echo(f"internal error: {masked(_first_line(error))}", err=True)
    click.echo("This is a bug in Streamlets, not in your application.", err=True)
    if not show_traceback:
        with tempfile.NamedTemporaryFile("w", prefix="flow-", suffix=".txt", delete=False, encoding="utf-8") as file:
            file.write(f"flow {' '.join(arguments)}\nin {Path.cwd()}\nPython {sys.version}\n\n{details}")
        click.echo(f"The details for a bug report are in {file.name}; --traceback shows them here.", err=True)
    return 1


def _first_line(error: Exception) -> str:
    """Return the class of an error and the first line of its message, which Spark may no longer be there to give."""
    try:
        line = str(error).strip().partition("\n")[0]
    except Exception:  # noqa: BLE001 - an error of Spark asks the Java process for its message
        line = "its message was in Spark's process, which has exited"
    return f"{type(error).__name__}{': ' if line else ''}{line}"


if __name__ == "__main__":
    main()
