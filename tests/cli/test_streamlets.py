"""`flow streamlets`: the streamlet classes of a project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

import streamlets
from cli import main as cli_main
from cli.groups import imports_of, leaves
from streamlets.project.modules import project_at
from streamlets.project.scanning import streamlet_classes

if TYPE_CHECKING:
    from tests.cli.conftest import Flow


EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


def test_classes_with_ports_schemas_and_parameters(flow: Flow) -> None:
    """Every class is listed with its role, ports, schema and parameters."""
    result = flow("streamlets", str(EXAMPLES / "sensors"))
    assert result.code == 0
    assert "gauges.average.MovingAverage  (processor)" in result.out
    assert "value double" in result.out
    assert "parameter window: duration = 1 minute" in result.out


def test_classes_as_data(flow: Flow) -> None:
    """`--format json` has complete schemas."""
    result = flow("streamlets", str(EXAMPLES / "flights"), "--format", "json")
    classes = {entry["class"]: entry for entry in json.loads(result.out)}
    assert classes["nyc.splitter.Splitter"]["role"] == "processor"
    assert [port["name"] for port in classes["nyc.splitter.Splitter"]["outlets"]] == ["cancelled", "flown", "invalid"]
    assert classes["nyc.ingress.Weather"]["outlets"][0]["schema"]["name"].endswith("Weather")


def test_the_classes_of_the_framework_are_listed(flow: Flow, tmp_path: Path) -> None:
    """By the name of its module, in any directory; that they have no schema without a blueprint is not a problem."""
    result = flow("streamlets", str(tmp_path), "--module", "streamlets")
    assert result.code == 0
    listed = [line.partition(" ")[0] for line in result.out.split("\n") if line.startswith("streamlets.")]
    assert listed == ["streamlets.Sink", "streamlets.Source", "streamlets.Spout", "streamlets.Sql"]
    assert "inlet     in: schema set by the configuration\n    parameter" in result.out
    assert 'parameter partition-by: string = ""  The partition columns' in result.out


def test_every_base_class_of_the_framework_is_known(tmp_path: Path) -> None:
    """A class below any base class that authors import is listed, once it defines what the base needs."""
    for base in (getattr(streamlets, name) for name in streamlets.__all__):
        if isinstance(base, type) and issubclass(base, streamlets.Streamlet):
            methods = [*getattr(base, "__abstractmethods__", ()), *({"kind", "Logic"} - {*dir(base)})]
            body = "".join(f"    {method} = None\n" for method in methods)
            module = f"import streamlets\n\nclass Own(streamlets.{base.__name__}):\n    labels = ()\n{body}"
            (tmp_path / "own.py").write_text(module)
            assert streamlet_classes(project_at(tmp_path)) == ("own.Own",), base


def test_a_class_that_cannot_be_described_is_reported(flow: Flow) -> None:
    """The reason is shown, the other classes are listed, and the exit code is 1."""
    result = flow("streamlets", str(EXAMPLES / "errors" / "constructor-raises"))
    assert result.code == 1
    assert "app.Printer  (egress)" in result.out
    assert "GAUGE_NAMES" in result.out


MODULE = """
import pathlib
pathlib.Path(__file__).with_suffix(".imported").touch()
from base import Base
from streamlets import AvroInlet, SparkStreamlet, SparkStreamletLogic

class {name}(Base):
    records = AvroInlet("in", schema="station string")
"""
BASE = """
from streamlets import SparkStreamlet, SparkStreamletLogic

class Base(SparkStreamlet):
    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self):
            return []
"""
BLUEPRINT = """
blueprint {
  streamlets { archive = app.Archive }
  topics { readings { consumers = [archive.in], managed = false } }
}
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory without a blueprint, with two modules that create a file when they are imported."""
    (tmp_path / "app.py").write_text(MODULE.format(name="Archive"))
    (tmp_path / "other.py").write_text(MODULE.format(name="Other"))
    (tmp_path / "base.py").write_text(BASE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def imported(directory: Path) -> list[str]:
    """Return the modules that were imported since the last call."""
    files = sorted(directory.glob("*.imported"))
    for file in files:
        file.unlink()
    return [file.stem for file in files]


@pytest.mark.parametrize("path", [".", "app.py"])
def test_a_directory_that_is_not_a_project_is_not_searched(flow: Flow, modules: Path, path: str) -> None:
    """No code in it is run; the message names the alternatives."""
    result = flow("streamlets", path)
    assert (result.code, imported(modules)) == (2, [])
    assert "name a blueprint, its directory, or modules (--module NAME)" in result.err


def test_named_modules_need_no_blueprint(flow: Flow, modules: Path) -> None:
    """Only the named modules and their imports are imported."""
    result = flow("streamlets", "--module", "app")
    assert (result.code, imported(modules)) == (0, ["app"])
    assert "app.Archive  (egress)" in result.out and "other" not in result.out


def test_a_module_that_does_not_exist(flow: Flow, modules: Path) -> None:
    """Its name is a usage error."""
    result = flow("streamlets", "--module", "ap")
    assert (result.code, imported(modules)) == (2, [])
    assert "there is no module `ap`" in result.err


def test_the_help_names_the_commands_that_import_modules(flow: Flow, modules: Path) -> None:
    """The help names the commands that import modules, and no others."""
    (modules / "blueprint.conf").write_text(BLUEPRINT)
    with (modules / "app.py").open("a") as file:
        file.write("raise RuntimeError('stop here')\n")  # So that no command starts Spark.
    calls = {name: [name] for name in cli_main._COMMANDS if name not in ("lsp", "ui")} | {
        "dead-letters replay": ["dead-letters", "replay"], "topics purge": ["topics", "purge", "readings"],
        "topics acls": ["topics", "acls"], "backfill": ["backfill", "mean", "--into", "out"],
        "manifests": ["manifests", "created"], "sample": ["sample", "mean"],
        "tail": ["tail", "readings"], "explain": ["explain", "syntax"], "dead-letters": ["dead-letters", "list"],
        "checkpoints": ["checkpoints", "list"],
    }  # fmt: skip
    state = modules / ".flow" / modules.name
    for name in ("topics", "checkpoints", "status", "logs", "control"):
        (state / name).mkdir(parents=True)
    importing = []
    for name, arguments in calls.items():
        flow(*arguments)
        if imported(modules):
            importing.append(name)
    # The excluded commands need an editor, a run, dead letters or a topic before they import modules.
    context = click.Context(cli_main.flow)
    declared = {name for name, command in leaves(cli_main.flow, context) if imports_of(command) == "always"}
    late = {"dead-letters replay", "lsp", "topics apply", "topics copy", "topics purge", "upgrade"}
    assert declared - late == set(importing)


def test_a_path_that_does_not_exist(flow: Flow) -> None:
    """It is a usage error."""
    assert flow("streamlets", "/nowhere/at/all/blueprint.conf").code == 2
