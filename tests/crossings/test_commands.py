"""Each command on each kind of application in each state: a documented exit code, no traceback, valid JSON.

The commands are those of the table in `cli/main.py`, with their subcommands; a new one needs a row in `ROWS`. The kinds
of applications have streamlets of every kind in the registry.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cli.groups import imports_of, leaves
from cli.main import flow as flow_command
from streamlets.runner.kinds import KINDS as UNIT_KINDS
from tests.cli.conftest import Flow, flow  # noqa: F401 - the fixture
from tests.crossings.applications import IMPORTED, KINDS, SERVERS, STATES, Kind, Owner, copy, state_of, write

ROWS: dict[str, tuple[str, ...]] = {
    "backfill": ("STREAMLET", "PATH", "--into", "NEW", "--to", "2999-01-01"),
    "backfills delete": ("nothing", "PATH", "--yes"),
    "backfills list": ("PATH",),
    "checkpoints list": ("PATH",),
    "checkpoints reset": ("STREAMLET", "PATH", "--yes"),
    "checkpoints show": ("STREAMLET", "PATH"),
    "completion": ("bash",),
    "config": ("PATH",),
    "dead-letters list": ("PATH",),
    "dead-letters replay": ("STREAMLET", "PATH"),
    "dead-letters show": ("STREAMLET", "PATH"),
    "describe": ("PATH",),
    "diff": ("TOPIC", "TOPIC", "PATH"),
    "doctor": ("PATH",),
    "explain": ("unknown-setting",),
    "export": ("TOPIC", "PATH", "--to", "out.csv"),
    "graph": ("PATH",),
    "health": ("STREAMLET", "--path", "PATH"),
    "lineage": ("no.such", "PATH"),
    "manifests": ("PATH", "NEW"),
    "new": ("NEW",),
    "pause": ("STREAMLET", "--path", "PATH", "--timeout", "0.2s"),
    "put": ("out", "--file", "PATH"),
    "restart": ("STREAMLET", "--path", "PATH", "--timeout", "0.2s"),
    "resume": ("STREAMLET", "--path", "PATH", "--timeout", "0.2s"),
    "run": ("PATH", "--available-now"),
    "sample": ("STREAMLET", "PATH"),
    "scale": ("STREAMLET", "2", "--path", "PATH", "--timeout", "0.2s"),
    "schema": (),
    "spouts": ("PATH",),
    "sql": ("PATH", "-e", "SHOW STREAMS", "--timeout", "0.2s"),
    "status": ("PATH",),
    "stop": ("PATH", "--timeout", "0.2s"),
    "streamlets": ("PATH",),
    "tail": ("TOPIC", "PATH"),
    "tasks list": ("PATH",),
    "tasks retry": ("STREAMLET", "PATH", "--all"),
    "tasks show": ("STREAMLET", "PATH"),
    "topics acls": ("PATH",),
    "topics apply": ("PATH", "--yes"),
    "topics copy": ("TOPIC", "PATH", "--from", "delta"),
    "topics list": ("PATH",),
    "topics purge": ("TOPIC", "PATH", "--all", "--yes"),
    "upgrade": ("PATH", "--timeout", "0.2s"),
    "verify": ("PATH",),
}
"""The arguments of each command; words in capitals stand for parts of the application."""

ELSEWHERE = {"lsp": "tests/cli/lsp/test_server.py", "ui": "tests/cli/ui/test_answers.py"}
"""Commands that need a terminal or an editor, and their tests."""

STARTS_SPARK = {"run"}
"""Commands that start Spark unless the application is running."""

ONLY_CONTENT = {"config", "put", "streamlets", "tail", "topics acls"}
"""Commands whose answer may be settings, classes, records or an empty list alone."""

ONCE = {"completion", "doctor", "explain", "lineage", "new", "schema"}
"""Commands that do not depend on the state of the application: called for one state only."""


COMMANDS = dict(leaves(flow_command, click.Context(flow_command)))


def test_every_command_has_a_row() -> None:
    """A new command or subcommand needs arguments here."""
    assert set(ROWS) | set(ELSEWHERE) == set(COMMANDS)
    assert all(Path(file).exists() for file in ELSEWHERE.values())


def test_every_kind_of_streamlets_has_an_application() -> None:
    """A new kind in the registry needs an application here; those of packages that tests install are theirs."""
    own = {name for name in UNIT_KINDS if name != "toy"}
    assert {kind for application in KINDS.values() for kind in application.kinds} == own


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """The blueprint of each kind of application in each state."""
    blueprints = {}
    for name, kind in KINDS.items():
        for state, make in STATES.items():
            blueprint = write(kind, tmp_path_factory.mktemp("prepared") / "shop")
            make(blueprint)
            blueprints[name, state] = blueprint
    return blueprints


@pytest.fixture(scope="module")
def owner() -> Iterator[Owner]:
    """A process for the lock of running applications."""
    process = Owner()
    yield process
    process.release()


@pytest.mark.parametrize("form", [pytest.param("text", marks=pytest.mark.full), "data"])
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_command_answers(
    kind: str, state: str, form: str, prepared: dict[tuple[str, str], Path], owner: Owner, flow: Flow,  # noqa: F811
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The exit code is documented, the output is valid and names no internal error.

    The answer names the application, its blueprint, or the part that it was asked for.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr("cli.runs.follower._ANSWER_TIMEOUT", 0.3)  # the process that holds the lock never answers
    monkeypatch.setattr("cli.commands.health._PATIENCE", 0.3)  # and writes no status
    monkeypatch.setattr("streamlets.channels.kafka.cluster_client.TIMEOUT", 0.3)  # there is no broker
    monkeypatch.setattr("streamlets.channels.kafka.reachability._PATIENCE", 0.3)
    monkeypatch.setattr("streamlets.channels.waiting.PATIENCE", 0)
    wrong = []
    for command, row in ROWS.items():
        if (command in STARTS_SPARK and state != "running") or (command in ONCE and state != "stopped"):
            continue
        data = _data_format(COMMANDS[command]) if form == "data" else None
        blueprint = copy(prepared[kind, state], tmp_path / "shop")
        if state == "running":
            owner.hold(state_of(blueprint))
        arguments = [_word(word, KINDS[kind], blueprint) for word in row]
        imported = blueprint.parent / IMPORTED
        imported.unlink(missing_ok=True)
        sys.modules.pop("app", None)  # of the command before, at the same path
        result = flow(*command.split(), *arguments, *(("--format", data) if data else ()))
        fault = _fault(result.code, result.out, result.err, data)
        if imported.exists() and imports_of(COMMANDS[command]) not in ("always", "with servers" * (kind == "kafka")):
            fault = fault or "imports the modules of the application, which it does not declare"
        names = {state_of(blueprint).application, KINDS[kind].streamlet, KINDS[kind].topic or "rows", blueprint.name}
        named = any(name in result.out + result.err for name in (*names, SERVERS))
        if "PATH" in row and command not in ONLY_CONTENT | ONCE and not named:
            fault = fault or f"names nothing of the application: {result.out}{result.err}"
        if fault:
            wrong.append(f"flow {command} --format {data}: {fault}")
    assert not wrong, "\n\n".join(wrong)


def _data_format(command: click.Command) -> str | None:
    forms = [parameter.type for parameter in command.params if "--format" in parameter.opts]
    choices = [choice for form in forms if isinstance(form, click.Choice) for choice in form.choices]
    return next((choice for choice in choices if choice in ("json", "jsonl")), None)


def _word(word: str, kind: Kind, blueprint: Path) -> str:
    words = {
        "PATH": str(blueprint), "STREAMLET": kind.streamlet, "TOPIC": kind.topic or "rows", "NEW": "created",
    }  # fmt: skip
    return words.get(word, word)


def _fault(code: int, out: str, err: str, form: str | None) -> str:
    """Return what is wrong with an answer; empty if nothing is."""
    output = f"exit code {code}\n{out}\n{err}"
    if "Traceback" in output or "internal error" in output:
        return output
    if code not in (0, 1, 2, 3):
        return f"undocumented {output}"
    if code == 0 and form == "json":
        try:
            json.loads(out)
        except ValueError:
            return f"invalid JSON: {output}"
    if form == "jsonl":
        for line in out.splitlines():
            try:
                json.loads(line)
            except ValueError:
                return f"invalid line of JSON: {output}"
    if code and not (out + err).strip():
        return f"no message: {output}"
    return ""
