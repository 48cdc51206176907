"""Secrets in every place of a run that takes one are looked for in its outputs, files and processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Flow, flow
from tests.crossings.planted import Planter, found_below, found_in
from tests.crossings.secret_runs import run, servers, state_of, write

__all__ = ["flow"]

pytestmark = [pytest.mark.spark, pytest.mark.slow]

COMMANDS = tuple(
    (*command, *form)
    for command, forms in (
        (("status",), ("json",)), (("tasks", "list"), ("json",)), (("tasks", "show", "pages"), ("jsonl",)),
        (("tasks", "show", "pages", "--task", "1"), ("jsonl",)), (("spouts",), ("json",)),
        (("dead-letters", "list"), ("json",)), (("dead-letters", "show", "pages"), ("jsonl",)),
        (("tail", "fed"), ("jsonl",)), (("topics", "list"), ("json",)), (("checkpoints", "list"), ("json",)),
        (("describe",), ()), (("config",), ("json",)), (("verify",), ("concise", "json", "sarif")),
        (("verify", "--against", "STATE"), ("json",)), (("graph",), ("json",)), (("streamlets",), ("json",)),
        (("doctor",), ()),
    )
    for form in ((), *(("--format", name) for name in forms))
)  # fmt: skip
"""The commands that show something of an application that has run, in each of their formats."""


@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="one-driver"),
        pytest.param(("--isolation", "process", "--format", "jsonl", "--log-format", "json"), id="processes",
                     marks=pytest.mark.full),
        pytest.param(("--format", "table"), id="table", marks=pytest.mark.full),
    ],
)  # fmt: skip
def test_a_run(tmp_path: Path, flow: Flow, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]) -> None:
    """Nothing that the run prints, stores or starts shows one, and no command does afterwards."""
    planter, directory = Planter(), tmp_path / "app"
    with servers() as (web, database):
        write(directory, planter, web, database, small=not options)
        ended = run(directory, planter, options)
    assert ended.code == 1, ended.output
    assert len(ended.planted) >= (130 if not options else 240)
    shown = {"output": found_in(ended.output), "processes": ended.watch.sightings}
    shown |= found_below(state_of(directory).directory)
    for name, value in ended.environment.items():
        monkeypatch.setenv(name, value)
    for command in COMMANDS:
        words = [str(state_of(directory).directory) if word == "STATE" else word for word in command]
        result = flow(*words, str(directory))
        assert result.code in (0, 1) and "internal error" not in result.err, (command, result)
        shown[" ".join(command)] = found_in(result.out + result.err)
    assert {place: secrets for place, secrets in shown.items() if secrets} == {}
    programs = " ".join(ended.watch.programs.values())
    assert all(program in programs for program in ("java", "guard.py", "feed.py", "pyspark")), programs
