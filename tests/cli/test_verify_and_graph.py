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
    """The examples are without error and without warning."""
    said = flow("verify", str(EXAMPLES / example))
    assert said.code == 0, said.out
    assert "no findings" in said.out


def test_without_a_path_the_blueprint_here_is_meant(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """`flow verify` alone takes `blueprint.conf` of the working directory."""
    monkeypatch.chdir(SENSORS)
    said = flow("verify")
    assert said.code == 0
    assert said.out.startswith("blueprint.conf: no findings")


def test_two_paths_are_a_mistake_in_the_arguments(flow: Flow) -> None:
    """One application at a time; the answer says how settings are written."""
    said = flow("verify", SENSORS, str(EXAMPLES / "flights"))
    assert said.code == 2
    assert "key=value" in said.err


def test_settings_on_the_command_line_are_checked_like_any_other(flow: Flow) -> None:
    """A wrong value in a `key=value` argument is a finding at its place in the arguments."""
    said = flow("verify", SENSORS, "flow.streamlets.average.parameters.window=soon")
    assert said.code == 1
    assert "`soon`" in said.out


def test_findings_as_data(flow: Flow) -> None:
    """`--format json` is one JSON document."""
    said = flow("verify", str(EXAMPLES / "errors" / "class-typo"), "--format", "json")
    assert said.code == 1
    assert "class-not-found" in json.dumps(json.loads(said.out))


def test_findings_as_annotations(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--format github` names files absolutely, wherever it was called, so that a runner finds them."""
    monkeypatch.chdir(EXAMPLES)
    said = flow("verify", "errors/class-typo", "--format", "github")
    command, summary = said.out.splitlines()
    assert said.code == 1
    assert command.startswith(f"::error file={EXAMPLES}/errors/class-typo/blueprint.conf,line=")
    assert ",title=class-not-found::there is no class" in command and "%0Ahelp: did you mean" in command
    assert summary.startswith("errors/class-typo/blueprint.conf: 1 error; ")


def test_the_graph_in_every_format(flow: Flow) -> None:
    """Each format names every streamlet and topic."""
    for form in ("terminal", "mermaid", "dot", "json"):
        said = flow("graph", SENSORS, "--format", form)
        assert said.code == 0
        for name in ("sensors", "readings", "average", "averages", "console"):
            assert name in said.out, form


def test_the_graph_in_ascii(flow: Flow) -> None:
    """`--ascii` draws with characters every terminal has."""
    assert flow("graph", SENSORS, "--ascii").out.isascii()


def test_a_graph_with_errors_is_drawn_all_the_same(flow: Flow) -> None:
    """Findings go to the standard error, the drawing marks what they concern, the exit code tells."""
    said = flow("graph", str(EXAMPLES / "errors" / "cycle"))
    assert said.code == 1
    assert "error[cycle]" in said.err
    assert "▲" in said.out
    assert "┄" in said.out


def test_a_folder_may_have_its_blueprint_in_yaml(flow: Flow, tmp_path: Path) -> None:
    """Without a `blueprint.conf`, a folder's `blueprint.yaml` is taken."""
    (tmp_path / "blueprint.yaml").write_text("blueprint:\n  streamlets: {one: app.Nothing}\n")
    said = flow("verify", str(tmp_path), "--format", "concise")
    assert said.code == 1
    assert "blueprint.yaml" in said.out
    assert "error[module-not-found]" in said.out
