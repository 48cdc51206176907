"""Each option of `flow run` with each value of `--resources`: it has its usual effect, none, or is refused."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from cli.commands.run import run
from tests.cli.conftest import Flow, flow  # noqa: F401 - the fixture
from tests.cli.test_resources import Application

OPTIONS: dict[str, tuple[str, ...]] = {
    "allow": ("--allow", "drain"),
    "available_now": ("--available-now",),
    "conf": ("--conf", "SETTINGS"),
    "drain_timeout": ("--drain-timeout", "1s"),
    "fail_fast": ("--fail-fast",),
    "form": ("--format", "jsonl"),
    "fresh": ("--fresh", "--yes"),
    "isolation": ("--isolation", "process"),
    "log_format": ("--log-format", "json"),
    "master": ("--master", "local[1]"),
    "plans": ("--plans",),
    "state_dir": ("--state-dir", "STATE"),
    "ui": ("--ui", "0"),
    "views": ("--view", "jsonl=EVENTS"),
    "yes": ("--yes",),
}
"""The options, with arguments; words in capitals stand for paths."""

NEEDS_SPARK = {"plans"}
"""Options that start Spark before a run."""

REFUSED = {("fresh", mode) for mode in ("create-only", "delete-only", "skip")}
"""Combinations that are wrong arguments."""

NUMBERS = {"keep": [0, 1, 2], "standard": None, "skip": [0, 1, 2], "create-only": [0, 1, 2], "delete-only": None}
"""The numbers in the topic after a call with each mode, after a run with `keep`."""


def test_every_option_is_crossed() -> None:
    """A new option of `flow run` needs a row here, and a line in docs/resources.md if it changes what is deleted."""
    named = {parameter.name for parameter in run.params if isinstance(parameter, click.Option)}
    assert named - {"resources", "help"} == set(OPTIONS)


@pytest.mark.parametrize("mode", NUMBERS)
def test_an_option_has_its_effect_or_is_refused(mode: str, tmp_path: Path, flow: Flow) -> None:  # noqa: F811
    """Whatever is given, the mode does what it says, and a refusal changes nothing."""
    paths = {"SETTINGS": tmp_path / "more.conf", "STATE": tmp_path / "app" / ".flow", "EVENTS": tmp_path / "events"}
    paths["SETTINGS"].write_text("flow.state-access = owner")
    (tmp_path / "app").mkdir()
    application = Application(tmp_path / "app", flow)
    for option, words in OPTIONS.items():
        if option in NEEDS_SPARK and mode in ("keep", "standard", "skip"):
            continue
        assert application.run("keep").code == 0
        arguments = [_with_paths(word, paths) for word in words]
        result = application.run(mode, *arguments, *(() if "--yes" in words else ("--yes",)))
        if (option, mode) in REFUSED:
            assert (result.code, "--fresh" in result.err) == (2, True), (option, result.err)
            assert application.numbers() == [0, 1, 2], option
        else:
            assert result.code == 0, (option, result.err, result.out)
            assert application.numbers() == NUMBERS[mode], option


def _with_paths(word: str, paths: dict[str, Path]) -> str:
    for name, path in paths.items():
        word = word.replace(name, str(path))
    return word
