"""Completion in shells: what the script of a shell asks `flow` for, and what it gets."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Flow

SENSORS = Path(__file__).resolve().parents[2] / "examples" / "sensors"


def completed(directory: Path, *words: str) -> list[str]:
    """Return what bash would show for words, the last of which is being typed."""
    environment = {
        **os.environ, "_FLOW_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(("flow", *words)),
        "COMP_CWORD": str(len(words)), "PYTHONPATH": str(SENSORS.parents[1]),
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-m", "cli.main"], cwd=directory, env=environment, capture_output=True,
                          text=True, check=True)  # fmt: skip
    return [line.partition(",")[2] for line in done.stdout.split()]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("ver",), ["verify"]),
        (("verify", "--form"), ["--format"]),
        (("verify", "--format", "sar"), ["sarif"]),
        (("pause", "a"), ["average"]),
        (("dead-letters", "show", "s"), ["sensors"]),
        (("tasks", "retry", "s"), ["sensors"]),
        (("tail", "re"), ["readings"]),
        (("topics", "purge", "a"), ["averages"]),
        (("explain", "unknown-st"), ["unknown-streamlet"]),
        (("config", "--explain", "flow.isol"), ["flow.isolation"]),
        (
            ("config", "--explain", "flow.streamlets.average.retry.max-a"),
            ["flow.streamlets.average.retry.max-attempts"],
        ),
        (("run", "flow.topics.readings.man"), ["flow.topics.readings.managed="]),
        (("run", "gau"), ["gau"]),  # the shell completes paths
    ],
)
def test_names_and_settings_are_completed(words: tuple[str, ...], expected: list[str]) -> None:
    """Commands, options, choices, streamlets, topics, codes and settings."""
    assert completed(SENSORS, *words) == expected


def test_no_code_of_the_application_runs(tmp_path: Path) -> None:
    """Neither for streamlets nor for settings; a blueprint with errors is read as far as possible."""
    (tmp_path / "app.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    (tmp_path / "blueprint.conf").write_text(
        "blueprint { streamlets { alarm = app.Alarm }, topics { hot { producers = [alarm.out }", encoding="utf-8"
    )
    assert completed(tmp_path, "restart", "a") == completed(tmp_path, "scale", "a") == ["alarm"]
    assert completed(tmp_path, "config", "flow.streamlets.alarm.gro") == ["flow.streamlets.alarm.group="]


def test_without_a_blueprint_only_the_framework_is_completed(tmp_path: Path) -> None:
    """There is no error message in the middle of a command line."""
    assert completed(tmp_path, "pause", "a") == []
    assert completed(tmp_path, "config", "--explain", "flow.trig") == ["flow.trigger"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_valid(shell: str, flow: Flow) -> None:
    """It names the variable that the command answers to; the shell accepts it, where it is installed."""
    result = flow("completion", shell)
    assert result.code == 0
    assert f"_FLOW_COMPLETE={shell}_complete" in result.out
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=result.out, text=True, check=True)
    assert shell != "bash" or "compopt -o nospace" in result.out
