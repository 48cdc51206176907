"""The command itself: finding commands, telling mistakes from bugs, exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from cli import main as cli_main

if TYPE_CHECKING:
    from tests.cli.conftest import Flow


def test_help_lists_every_command_and_the_exit_codes(flow: Flow) -> None:
    """`flow --help` names the commands, what each does, and what exit codes mean."""
    said = flow("--help")
    assert said.code == 0
    for word in ("config", "graph", "run", "streamlets", "tail", "topics", "verify", "Exit codes"):
        assert word in said.out


@pytest.mark.parametrize(("typed", "meant"), [("verfy", "verify"), ("grpah", "graph"), ("topic", "topics")])
def test_a_misspelt_command_gets_a_suggestion(flow: Flow, typed: str, meant: str) -> None:
    """A typo is answered by the command that was meant, with exit code 2."""
    said = flow(typed)
    assert said.code == 2
    assert f"did you mean `flow {meant}`?" in said.err


def test_an_unknown_command_gets_the_list(flow: Flow) -> None:
    """What is like no command is answered by all of them."""
    said = flow("xyzzy")
    assert said.code == 2
    assert "verify" in said.err


def test_every_listed_command_can_be_loaded() -> None:
    """Each command of the table is a click command of its name, in a file of its name."""
    for name in cli_main._COMMANDS:
        command = cli_main.flow.get_command(click.Context(cli_main.flow), name)
        assert command is not None
        assert command.name == name


def test_a_bug_is_called_a_bug_and_its_details_are_kept(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception nobody expected is one line, says whose fault it is, and names the file with the frames."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the dog ate it")

    monkeypatch.setattr("cli.application.Application.verify", broken)
    said = flow("verify")
    assert said.code == 1
    assert "internal error: RuntimeError: the dog ate it" in said.err
    assert "bug in Streamlets" in said.err
    assert "Traceback" not in said.err
    file = Path(said.err.partition("report: ")[2].partition(" (or")[0])
    assert "in broken" in file.read_text()
    file.unlink()


def test_traceback_shows_every_frame_wherever_it_stands(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--traceback`, before or behind the command, shows the frames at once."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the dog ate it")

    monkeypatch.setattr("cli.application.Application.verify", broken)
    assert "in broken" in flow("verify", "--traceback").err
    assert "in broken" in flow("--traceback", "verify").err


def test_verifying_imports_neither_the_runner_nor_what_draws_tables() -> None:
    """Commands pay only for what they use."""
    program = (
        "import sys, cli.main; sys.argv[1:] = ['verify', 'nowhere']\n"
        "try: cli.main.main()\nexcept SystemExit: pass\n"
        "print(sorted(m for m in sys.modules if m in ('rich', 'pyspark', 'pyarrow', 'networkx', 'pandas')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


@pytest.mark.parametrize("command", [("topics",), ("tail", "readings"), ("streamlets",)])
def test_a_path_that_leads_nowhere_is_told_as_such(flow: Flow, command: tuple[str, ...]) -> None:
    """It is not taken for this folder."""
    said = flow(*command, "no/such/folder")
    assert said.code == 2
    assert "there is no file or folder `no/such/folder`" in said.err


def test_a_setting_without_an_equals_sign_is_no_path(flow: Flow) -> None:
    """`flow.a.b:c` was meant as a setting."""
    said = flow("verify", "flow.trigger:available-now")
    assert said.code == 2
    assert "settings are written `key=value`" in said.err


def test_a_graph_of_nothing_says_all_there_is_to_say(flow: Flow, tmp_path: Path) -> None:
    """Where nothing can be drawn, findings are told in full."""
    said = flow("graph", str(tmp_path))
    assert said.code == 2
    assert "a blueprint looks like this" in said.err


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


def started(folder: Path, files: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """What the installed command does in a project that is on the path before all else."""
    for name, text in (PROJECT | files).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    script = Path(cli_main.__file__).resolve().parent.parent / "_streamlets_flow.py"
    environment = {**os.environ, "PYTHONPATH": "."}
    return subprocess.run([sys.executable, "-P", str(script), *arguments], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=600)  # fmt: skip


def test_the_command_starts_in_a_module_that_no_project_has() -> None:
    """The installed script imports nothing that a project may have, too."""
    pyproject = tomllib.loads((Path(cli_main.__file__).resolve().parent.parent / "pyproject.toml").read_text())
    assert pyproject["project"]["scripts"]["flow"] == "_streamlets_flow:main"


@pytest.mark.parametrize("name", ["cli/__init__.py", "cli.py", "blueprint/data.txt", "click.py", "json.py", "yaml.py"])
def test_the_command_starts_whatever_is_on_the_path(tmp_path: Path, name: str) -> None:
    """What the application does not import is not in its way: packages of the project called like ours or a library."""
    done = started(tmp_path, {name: "raise SystemExit('the module of the project was imported')\n"}, "verify")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize("name", ["blueprint", "streamlets"])
@pytest.mark.parametrize(("command", "code"), [("verify", 1), ("run", 2)])
def test_packages_that_hide_the_frameworks_are_a_finding(tmp_path: Path, name: str, command: str, code: int) -> None:
    """Spark's workers would import them; the finding names the file, and there is no traceback."""
    done = started(tmp_path, {f"{name}/__init__.py": "x = 1\n"}, command)
    assert done.returncode == code
    said = done.stdout + done.stderr
    assert "error[module-shadowed]" in said and f"{name}/__init__.py" in said
    assert "Traceback" not in said


def test_streamlets_in_a_package_called_cli_are_a_finding(tmp_path: Path) -> None:
    """They cannot be imported beside the command's."""
    files = {"cli/__init__.py": "", "cli/app.py": PROJECT["app.py"],
             "blueprint.conf": PROJECT["blueprint.conf"].replace("app.", "cli.app.")}  # fmt: skip
    done = started(tmp_path, files, "verify")
    assert done.returncode == 1
    assert "error[module-shadowed]" in done.stdout and "Traceback" not in done.stdout + done.stderr
