"""`flow verify` and `flow graph` on the examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Flow

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
SENSORS = str(EXAMPLES / "sensors")


@pytest.mark.parametrize("example", ["flights", "sensors"])
def test_examples_verify_without_a_finding(flow: Flow, example: str) -> None:
    """The examples have no errors and no warnings."""
    result = flow("verify", str(EXAMPLES / example))
    assert result.code == 0, result.out
    assert "no findings" in result.out


def test_the_default_path_is_the_working_directory(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """`flow verify` verifies `blueprint.conf` in the working directory."""
    monkeypatch.chdir(SENSORS)
    result = flow("verify")
    assert result.code == 0
    assert result.out.startswith("blueprint.conf: no findings")


def test_two_paths_are_a_usage_error(flow: Flow) -> None:
    """The message shows how settings are written."""
    result = flow("verify", SENSORS, str(EXAMPLES / "flights"))
    assert result.code == 2
    assert "key=value" in result.err


def test_settings_on_the_command_line_are_checked(flow: Flow) -> None:
    """A wrong value in a `key=value` argument is a finding."""
    result = flow("verify", SENSORS, "flow.streamlets.average.parameters.window=soon")
    assert result.code == 1
    assert "`soon`" in result.out


def test_findings_as_data(flow: Flow) -> None:
    """`--format json` is one JSON document."""
    result = flow("verify", str(EXAMPLES / "errors" / "class-typo"), "--format", "json")
    assert result.code == 1
    assert "class-not-found" in json.dumps(json.loads(result.out))


def test_findings_as_annotations(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--format github` has absolute paths, so that GitHub finds the files from any working directory."""
    monkeypatch.chdir(EXAMPLES)
    result = flow("verify", "errors/class-typo", "--format", "github")
    command, summary = result.out.splitlines()
    assert result.code == 1
    assert command.startswith(f"::error file={EXAMPLES}/errors/class-typo/blueprint.conf,line=")
    assert ",title=class-not-found::there is no class" in command and "%0Ahelp: did you mean" in command
    assert summary.startswith("errors/class-typo/blueprint.conf: 1 error; ")


def test_the_graph_in_every_format(flow: Flow) -> None:
    """Each format names every streamlet and topic."""
    for form in ("terminal", "mermaid", "dot", "graphml", "json"):
        result = flow("graph", SENSORS, "--format", form)
        assert result.code == 0
        for name in ("sensors", "readings", "average", "averages", "console"):
            assert name in result.out, form


def test_the_graph_in_ascii(flow: Flow) -> None:
    """`--ascii` draws with characters that every terminal has."""
    assert flow("graph", SENSORS, "--ascii").out.isascii()


def test_a_graph_with_errors_is_drawn(flow: Flow) -> None:
    """Findings are on the standard error, faulty streamlets are marked, and the exit code is 1."""
    result = flow("graph", str(EXAMPLES / "errors" / "cycle"))
    assert result.code == 1
    assert "error[cycle]" in result.err
    assert "▲" in result.out
    assert "┄" in result.out


def test_a_blueprint_may_be_yaml(flow: Flow, tmp_path: Path) -> None:
    """Without a `blueprint.conf`, the `blueprint.yaml` of a directory is used."""
    (tmp_path / "blueprint.yaml").write_text("blueprint:\n  streamlets: {one: app.Nothing}\n")
    result = flow("verify", str(tmp_path), "--format", "concise")
    assert result.code == 1
    assert "blueprint.yaml" in result.out
    assert "error[module-not-found]" in result.out
