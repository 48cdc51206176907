"""Secrets in every place of a run that takes one are looked for in its outputs, files and processes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import pytest

from tests.cli.conftest import Flow, flow
from tests.crossings.planted import Planter, found_below, found_in
from tests.crossings.secret_runs import REGISTRY, run, servers, state_of, write, write_kafka
from tests.kafka.secured import secured_broker

__all__ = ["flow"]

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def _with_forms(*commands: tuple[tuple[str, ...], tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (*command, *form) for command, forms in commands for form in ((), *(("--format", name) for name in forms))
    )


OF_RUNS = _with_forms(
    (("status",), ("json",)), (("tasks", "list"), ("json",)), (("tasks", "show", "pages"), ("jsonl",)),
    (("tasks", "show", "pages", "--task", "1"), ("jsonl",)), (("spouts",), ("json",)),
    (("dead-letters", "list"), ("json",)), (("dead-letters", "show", "pages"), ("jsonl",)),
    (("tail", "fed"), ("jsonl",)), (("topics", "list"), ("json",)), (("checkpoints", "list"), ("json",)),
    (("verify", "--against", "STATE"), ("json",)), (("sql", "--execute", "SHOW STREAMS"), ("json",)),
    (("pause", "console"), ()),
    (("resume", "console"), ()), (("restart", "console", "--timeout", "5 s"), ()), (("tasks", "retry", "pages"), ()),
)  # fmt: skip
"""The commands that show or change something of a run, in each of their formats."""

OF_BLUEPRINTS = _with_forms(
    (("describe",), ()), (("config",), ("json",)), (("verify",), ("concise", "json", "sarif")), (("graph",), ("json",)),
    (("streamlets",), ("json",)), (("doctor",), ()), (("topics", "acls"), ()),
)  # fmt: skip
"""The commands that show something of a blueprint."""


ON_KAFKA = _with_forms(
    (("status",), ("json",)), (("tail", "fed"), ("jsonl",)), (("topics", "list"), ("json",)), (("doctor",), ()),
    (("checkpoints", "list"), ("json",)), (("dead-letters", "list"), ("json",)), (("topics", "apply", "--yes"), ()),
    (("verify",), ("json",)),
)  # fmt: skip
"""The commands that ask the servers of topics."""


@dataclass
class Caller:
    """Calls commands in the directory of an application, and keeps the secrets that they show, by command."""

    flow: Flow
    directory: Path
    shown: dict[str, set[str]] = field(default_factory=dict)
    called: int = 0

    def call(self, command: tuple[str, ...]) -> str:
        """Call a command, and return its output."""
        state = str(state_of(self.directory).directory)
        result = self.flow(*(state if word == "STATE" else word for word in command))
        output = result.out + result.err
        assert "internal error" not in output, (command, result)
        self.called += 1
        if secrets := found_in(output):
            self.shown[" ".join(command)] = secrets
        return result.out


READY = {"failed", "completed", "stopped"}


@pytest.mark.parametrize(
    ("options", "least"),
    [
        pytest.param(("--available-now",), 330, id="one-driver"),
        pytest.param(("--available-now", "--isolation", "process", "--format", "jsonl", "--log-format", "json"), 440,
                     id="processes", marks=pytest.mark.full),
        pytest.param(("--format", "table"), 440, id="unbounded", marks=pytest.mark.full),
    ],
)  # fmt: skip
def test_a_run(
    tmp_path: Path, flow: Flow, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], least: int
) -> None:
    """Nothing that the run prints, stores or starts shows one, and no command does while it runs, and afterwards."""
    planter, directory = Planter(), tmp_path / "app"
    bounded = "--available-now" in options
    caller, commands = Caller(flow, directory), cycle((*OF_BLUEPRINTS, *OF_RUNS))

    def during(environment: Mapping[str, str]) -> None:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        caller.call(next(commands))
        if not bounded and caller.called > len(OF_BLUEPRINTS) + len(OF_RUNS) and _settled(caller):
            flow("stop")

    with servers() as (web, database):
        write(directory, planter, web, database, small=least < 400, bounded=bounded)
        monkeypatch.chdir(directory)
        ended = run(directory, planter, options, during)
    assert ended.code == 1 or not bounded, ended.output
    assert len(ended.planted) >= least
    for command in OF_RUNS:
        caller.call(command)
    shown = {"output": found_in(ended.output), "processes": ended.watch.sightings}
    shown |= found_below(state_of(directory).directory) | caller.shown
    assert {place: secrets for place, secrets in shown.items() if secrets} == {}
    programs = " ".join(ended.watch.programs.values())
    assert all(program in programs for program in ("java", "guard.py", "feed.py", "pyspark")), programs
    assert caller.called > len(OF_BLUEPRINTS) + len(OF_RUNS)


def _settled(caller: Caller) -> bool:
    """Return whether each streamlet that raises its secrets has failed."""
    (status,) = json.loads(caller.call(("status", "--format", "json"))).values()
    states = {streamlet["ref"]: streamlet["state"] for streamlet in status["streamlets"]}
    return all(state in READY for ref, state in states.items() if ref in ("function", "batch", "build", "call"))


@pytest.mark.full
def test_runs_on_kafka(tmp_path: Path, flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor of a login and a schema registry: in a run, and in those that the broker and the registry refuse."""
    planter, directory = Planter(), tmp_path / "app"
    caller, commands = Caller(flow, directory), cycle((*OF_BLUEPRINTS, *ON_KAFKA))

    def during(environment: Mapping[str, str]) -> None:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        caller.call(next(commands))

    shown: dict[str, set[str]] = {}
    password = planter.secret()
    with servers() as (web, _), secured_broker(tmp_path, password) as (broker, trusted):
        write_kafka(directory, planter, password, broker, trusted, web)
        monkeypatch.chdir(directory)
        for more in ((), ("--conf", REGISTRY), ("--conf", "login.conf")):
            options = ("--available-now", *more)
            ended = run(directory, planter, options, during)
            assert ended.code == 1, ended.output
            for command in ON_KAFKA:
                caller.call((*command, *more) if command[0] in ("doctor", "verify") else command)
            shown |= {f"output {more}": found_in(ended.output)} | ended.watch.sightings
    shown |= found_below(state_of(directory).directory) | caller.shown
    assert {place: secrets for place, secrets in shown.items() if secrets} == {}
    assert len(ended.planted) >= 130
