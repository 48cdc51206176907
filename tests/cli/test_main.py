"""The command itself: subcommands, usage errors, internal errors and exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from cli import main as cli_main
from streamlets.contract.wire.registry import RegistryError

if TYPE_CHECKING:
    from tests.cli.conftest import Flow


def test_help_lists_every_command_and_the_exit_codes(flow: Flow) -> None:
    """`flow --help` has a line for each command and each exit code."""
    result = flow("--help")
    assert result.code == 0
    for word in ("config", "graph", "run", "streamlets", "tail", "topics", "verify", "Exit codes"):
        assert word in result.out


@pytest.mark.parametrize(("typed", "meant"), [("verfy", "verify"), ("grpah", "graph"), ("topic", "topics")])
def test_a_misspelt_command_gets_a_suggestion(flow: Flow, typed: str, meant: str) -> None:
    """The nearest command is suggested; the exit code is 2."""
    result = flow(typed)
    assert result.code == 2
    assert f"did you mean `flow {meant}`?" in result.err


def test_an_unknown_command_gets_the_list(flow: Flow) -> None:
    """If no command is near, all commands are listed."""
    result = flow("xyzzy")
    assert result.code == 2
    assert "verify" in result.err


def test_every_listed_command_can_be_loaded() -> None:
    """Each command of the table is a click command with its name and a help text."""
    for name in cli_main._COMMANDS:
        command = cli_main.flow.get_command(click.Context(cli_main.flow), name)
        assert command is not None
        assert command.name == name
        assert command.help


def test_an_internal_error_is_reported_with_a_file_of_details(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected exception is one line that names the file with the traceback."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the dog ate it")

    monkeypatch.setattr("cli.application.Application.verify", broken)
    result = flow("verify")
    assert result.code == 1
    assert "internal error: RuntimeError: the dog ate it" in result.err
    assert "bug in Streamlets" in result.err
    assert "Traceback" not in result.err
    file = Path(result.err.partition("bug report are in ")[2].partition(";")[0])
    assert "in broken" in file.read_text()
    file.unlink()


def test_an_error_of_a_registry_is_not_internal(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any command of topics may ask it. The secrets that its answer repeats are not shown, nor in a traceback."""

    def broken(*_: object, **__: object) -> None:
        raise RegistryError("the schema registry cannot be read: https://h/?token=open-sesame")

    monkeypatch.setattr("cli.application.Application.verify", broken)
    assert flow("verify").err == "error: the schema registry cannot be read: https://h/?token=(secret)\n"
    assert "open-sesame" not in flow("verify", "--traceback").err


def test_traceback_is_accepted_at_any_position(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--traceback`, before or after the command, shows the traceback."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the dog ate it")

    monkeypatch.setattr("cli.application.Application.verify", broken)
    assert "in broken" in flow("verify", "--traceback").err
    assert "in broken" in flow("--traceback", "verify").err


def test_verify_does_not_import_slow_libraries() -> None:
    """A command imports only the libraries that it uses."""
    program = (
        "import sys, cli.main; sys.argv[1:] = ['verify', 'nowhere']\n"
        "try: cli.main.main()\nexcept SystemExit: pass\n"
        "print(sorted(m for m in sys.modules if m in ('rich', 'pyspark', 'pyarrow', 'networkx', 'pandas')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_verify_imports_only_what_it_uses() -> None:
    """The comparison of descriptors and the channels themselves would make it a fifth slower."""
    example = Path(cli_main.__file__).resolve().parent.parent / "examples" / "sensors"
    unused = (
        *("blueprint.comparison", "blueprint.sql.job", "importlib.metadata", "networkx", "rich"),
        "streamlets.channels.delta.channel",
    )
    program = (
        f"import sys, cli.main; sys.argv[1:] = ['verify', {str(example)!r}]\n"
        "try: cli.main.main()\nexcept SystemExit as end: print(end.code)\n"
        f"print(sorted(set({unused!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == ["0", "[]"]


@pytest.mark.parametrize("command", [("topics",), ("tail", "readings"), ("streamlets",)])
def test_a_path_that_does_not_exist_is_reported(flow: Flow, command: tuple[str, ...]) -> None:
    """The working directory is not used instead."""
    result = flow(*command, "no/such/folder")
    assert result.code == 2
    assert "there is no file or directory `no/such/folder`" in result.err


def test_a_setting_without_an_equals_sign_is_not_a_path(flow: Flow) -> None:
    """`flow.a.b:c` looks like a setting."""
    result = flow("verify", "flow.trigger:available-now")
    assert result.code == 2
    assert "write settings as `key=value`" in result.err


def test_without_a_graph_findings_are_shown_in_full(flow: Flow, tmp_path: Path) -> None:
    """If nothing can be drawn, the findings are not shortened."""
    result = flow("graph", str(tmp_path))
    assert result.code == 2
    assert "a blueprint looks like this" in result.err


PROJECT = {
    "app.py": """
from streamlets import AvroInlet, SparkStreamlet, SparkStreamletLogic

class Archive(SparkStreamlet):
    records = AvroInlet("in", schema="station string")
    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self):
            return []
""",
    "blueprint.conf": """
blueprint {
  streamlets { archive = app.Archive }
  topics { readings { consumers = [archive.in], managed = false } }
}
""",
}


def run_flow(directory: Path, files: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command in a project that is first on the path."""
    for name, text in (PROJECT | files).items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    script = Path(cli_main.__file__).resolve().parent.parent / "_streamlets_flow.py"
    environment = {**os.environ, "PYTHONPATH": "."}
    return subprocess.run([sys.executable, "-P", str(script), *arguments], cwd=directory, env=environment,
                          capture_output=True, text=True, timeout=600)  # fmt: skip


def test_the_entry_point_has_a_unique_name() -> None:
    """The installed script imports a module whose name no project has."""
    pyproject = tomllib.loads((Path(cli_main.__file__).resolve().parent.parent / "pyproject.toml").read_text())
    assert pyproject["project"]["scripts"]["flow"] == "_streamlets_flow:main"


def test_the_command_is_also_a_module(tmp_path: Path) -> None:
    """`python -m streamlets` is `flow`."""
    done = subprocess.run([sys.executable, "-m", "streamlets", "explain", "cycle"], cwd=tmp_path, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "cycle" in done.stdout


@pytest.mark.parametrize("name", ["cli/__init__.py", "cli.py", "blueprint/data.txt", "click.py", "json.py", "yaml.py"])
def test_the_command_starts_whatever_is_on_the_path(tmp_path: Path, name: str) -> None:
    """Modules of the project with the names of our packages or of libraries do not hide them."""
    done = run_flow(tmp_path, {name: "raise SystemExit('the module of the project was imported')\n"}, "verify")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize("name", ["blueprint", "streamlets"])
@pytest.mark.parametrize(("command", "code"), [("verify", 1), ("run", 2)])
def test_packages_that_hide_the_frameworks_are_a_finding(tmp_path: Path, name: str, command: str, code: int) -> None:
    """Spark's workers would import them; the finding names the file, and there is no traceback."""
    done = run_flow(tmp_path, {f"{name}/__init__.py": "x = 1\n"}, command)
    assert done.returncode == code
    result = done.stdout + done.stderr
    assert "error[module-shadowed]" in result and f"{name}/__init__.py" in result
    assert "Traceback" not in result


def test_streamlets_in_a_package_called_cli_are_a_finding(tmp_path: Path) -> None:
    """They cannot be imported together with the package of the command."""
    files = {"cli/__init__.py": "", "cli/app.py": PROJECT["app.py"],
             "blueprint.conf": PROJECT["blueprint.conf"].replace("app.", "cli.app.")}  # fmt: skip
    done = run_flow(tmp_path, files, "verify")
    assert done.returncode == 1
    assert "error[module-shadowed]" in done.stdout and "Traceback" not in done.stdout + done.stderr


def test_formats_have_the_same_names_in_all_commands() -> None:
    """`text` for people, `json` for a document, `jsonl` for a stream; some commands have further ones."""
    further = {"flow backfill", "flow run", "flow graph", "flow verify"}

    def formats(command: click.Command, name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        for inner in command.commands.items() if isinstance(command, click.Group) else ():
            yield from formats(inner[1], f"{name} {inner[0]}")
        for option in command.params:
            if option.name == "form" and isinstance(option.type, click.Choice):
                yield name, tuple(option.type.choices)

    commands = [
        (f"flow {name}", cli_main.flow.get_command(click.Context(cli_main.flow), name)) for name in cli_main._COMMANDS
    ]
    found = dict(each for name, command in commands if command is not None for each in formats(command, name))
    assert set(found) >= further | {
        "flow stop",
        "flow pause",
        "flow upgrade",
        "flow config",
        "flow status",
        "flow tail",
    }
    assert {
        name: choices for name, choices in found.items() if choices not in (("text", "json"), ("text", "jsonl"))
    }.keys() == further
