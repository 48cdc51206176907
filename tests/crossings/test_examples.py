"""Each example and template under the commands that need neither Spark nor a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click import Choice, Context

from cli.main import flow
from tests.crossings.built_logic import modules, run
from tests.crossings.example_directories import APPLICATIONS, Application

__all__ = ["modules"]

every_application = pytest.mark.parametrize("application", APPLICATIONS, ids=str)


@pytest.fixture
def path(application: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the application, and make its directory the working directory."""
    path = application.copy(tmp_path / "my-app")
    monkeypatch.chdir(path.parent)
    return path


@every_application
def test_verify_and_graph(application: Application, path: Path) -> None:
    """It is valid, and has a drawing in each format."""
    report = json.loads(run("verify", "--format", "json", application.file, *application.arguments))
    assert [finding for finding in report["diagnostics"] if finding["severity"] == "error"] == []
    graph = flow.get_command(Context(flow), "graph")
    assert graph is not None
    (form,) = (parameter for parameter in graph.params if "--format" in parameter.opts)
    assert isinstance(form.type, Choice)
    for name in form.type.choices:
        assert run("graph", "--format", name, application.file, *application.arguments).strip(), name
