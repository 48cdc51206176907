"""Each example and template under the commands that need neither Spark nor a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click import Choice, Context
from click.testing import CliRunner

from cli.main import flow
from tests.crossings.example_directories import APPLICATIONS, Application

every_application = pytest.mark.parametrize("application", APPLICATIONS, ids=str)


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    """Remove the modules of applications afterwards: several have one of the same name."""
    before, path = set(sys.modules), [*sys.path]
    yield
    sys.path[:] = path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def path(application: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the application, and make its directory the working directory."""
    path = application.copy(tmp_path / "my-app")
    monkeypatch.chdir(path.parent)
    return path


def run(application: Application, *arguments: str) -> str:
    """Run a command with an application, which succeeds, and return its output."""
    result = CliRunner().invoke(flow, [*arguments, application.file, *application.arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


@every_application
def test_verify_and_graph(application: Application, path: Path) -> None:
    """It is valid, and has a drawing in each format."""
    report = json.loads(run(application, "verify", "--format", "json"))
    assert [finding for finding in report["diagnostics"] if finding["severity"] == "error"] == []
    graph = flow.get_command(Context(flow), "graph")
    assert graph is not None
    (form,) = (parameter for parameter in graph.params if "--format" in parameter.opts)
    assert isinstance(form.type, Choice)
    for name in form.type.choices:
        assert run(application, "graph", "--format", name).strip(), name
