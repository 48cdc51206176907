"""`flow streamlets`: what classes a project has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli import main as cli_main

if TYPE_CHECKING:
    from tests.cli.conftest import Flow


EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


def test_classes_with_ports_schemas_and_parameters(flow: Flow) -> None:
    """Every class is listed with its role, ports, schema and parameters."""
    said = flow("streamlets", str(EXAMPLES / "sensors"))
    assert said.code == 0
    assert "gauges.average.MovingAverage  (processor)" in said.out
    assert "value double" in said.out
    assert "parameter window: duration = 1 minute" in said.out


def test_classes_as_data(flow: Flow) -> None:
    """`--format json` carries whole schemas."""
    said = flow("streamlets", str(EXAMPLES / "flights"), "--format", "json")
    found = {each["class"]: each for each in json.loads(said.out)}
    assert found["nyc.splitter.Splitter"]["role"] == "processor"
    assert [port["name"] for port in found["nyc.splitter.Splitter"]["outlets"]] == ["cancelled", "flown", "invalid"]
    assert found["nyc.ingress.Weather"]["outlets"][0]["schema"]["name"].endswith("Weather")


def test_a_class_that_cannot_be_described_is_told(flow: Flow) -> None:
    """The others are listed all the same, the reason is given, and the exit code is 1."""
    said = flow("streamlets", str(EXAMPLES / "errors" / "constructor-raises"))
    assert said.code == 1
    assert "app.Printer  (egress)" in said.out
    assert "GAUGE_NAMES" in said.out


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
    """A directory of two modules that leave a file behind when they are imported, without a blueprint."""
    (tmp_path / "app.py").write_text(MODULE.format(name="Archive"))
    (tmp_path / "other.py").write_text(MODULE.format(name="Other"))
    (tmp_path / "base.py").write_text(BASE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def imported(folder: Path) -> list[str]:
    """The modules that were imported since this was last asked."""
    files = sorted(folder.glob("*.imported"))
    for file in files:
        file.unlink()
    return [file.stem for file in files]


@pytest.mark.parametrize("path", [".", "app.py"])
def test_a_directory_that_is_not_a_project_is_not_searched(flow: Flow, modules: Path, path: str) -> None:
    """Code that only happens to be there is not run; the message says what to name."""
    said = flow("streamlets", path)
    assert (said.code, imported(modules)) == (2, [])
    assert "name a blueprint, its directory, or modules (--module NAME)" in said.err


def test_modules_that_are_named_are_listed_without_a_blueprint(flow: Flow, modules: Path) -> None:
    """Only they are imported, and what they extend is known."""
    said = flow("streamlets", "--module", "app")
    assert (said.code, imported(modules)) == (0, ["app"])
    assert "app.Archive  (egress)" in said.out and "other" not in said.out


def test_a_module_that_does_not_exist(flow: Flow, modules: Path) -> None:
    """Its name is a mistake in the arguments."""
    said = flow("streamlets", "--module", "ap")
    assert (said.code, imported(modules)) == (2, [])
    assert "there is no module `ap`" in said.err


def test_the_help_names_the_commands_that_import_modules(flow: Flow, modules: Path) -> None:
    """Each command that does not need a run is tried: those that import are named, the others are not."""
    (modules / "blueprint.conf").write_text(BLUEPRINT)
    with (modules / "app.py").open("a") as file:
        file.write("raise RuntimeError('stop here')\n")  # no command goes on to start Spark
    calls = {name: [name] for name in cli_main._COMMANDS} | {
        "dead-letters replay": ["dead-letters", "replay"], "topics purge": ["topics", "purge", "readings"],
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
    # These need a run, dead letters or a topic before they look at the application.
    assert set(cli_main._IMPORTING) - {"dead-letters replay", "topics purge", "upgrade"} == set(importing)


def test_no_such_folder(flow: Flow) -> None:
    """A path that is not there is a mistake in the arguments."""
    assert flow("streamlets", "/nowhere/at/all/blueprint.conf").code == 2
