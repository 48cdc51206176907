"""Each kind of file of the state directory, damaged in every way, under each command that reads it.

The state is made once by a real run of an application with all kinds of streamlets, and copied for each case. Whatever
is damaged: a command either shows what it showed before, or reports the file. No command ends with an internal error.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.main import _COMMANDS
from streamlets.backfills.model import Backfill, Request
from streamlets.backfills.store import Store
from streamlets.channels.base import Reader
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.delta.maintenance import Upkeep, maintain_topic
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.state_directory.files import FILES, FileKind, kind_of
from tests.crossings.damage import (
    DAMAGES,
    Expected,
    State,
    Use,
    call,
    check,
    damage,
    expected_of,
    run_bounded,
    samples,
)
from tests.streamlets.channels.topics import topic_plan

pytestmark = [pytest.mark.spark, pytest.mark.slow]

APPLICATION = Path(__file__).parent / "state_app"
NAME = "damaged"


USES: dict[str, tuple[Use, ...] | str] = {
    "backfill": "reads topics and its own files, see tests/benchmarks/test_backfills.py",
    "backfills": (Use(("backfills",)), Use(("backfills", "delete", "one", "--yes"), changes=True)),
    "checkpoints": (
        Use(("checkpoints",)), Use(("checkpoints", "show", "distinct.out")),
        Use(("checkpoints", "reset", "distinct", "--yes"), changes=True),
    ),
    "completion": "no state",
    "config": "no state",
    "dead-letters": (
        Use(("dead-letters",)), Use(("dead-letters", "show", "parities")),
        Use(("dead-letters", "replay", "parities"), changes=True),
    ),
    "describe": "no state",
    "doctor": "no state: it looks only whether the directory can be written",
    "explain": "no state",
    "graph": "no state",
    "lineage": "no state",
    "lsp": "no state",
    "manifests": "no state",
    "new": "no state",
    "pause": (Use(("pause", "distinct")),),
    "put": "no state",
    "restart": (Use(("restart", "distinct")),),
    "resume": (Use(("resume", "distinct")),),
    "run": "see test_runs_on_damaged_state",
    "scale": (Use(("scale", "distinct", "2")),),
    "sample": "no state",
    "schema": "no state",
    "spouts": (Use(("spouts",)),),
    "sql": (Use(("sql", "-e", "SHOW STREAMS")),),
    "health": (Use(("health",)), Use(("health", "--format", "json"))),
    "status": (
        Use(("status",)), Use(("status", "--format", "json")), Use(("status", "--ports")),
    ),
    "stop": (Use(("stop",)),),
    "streamlets": "no state",
    "diff": (Use(("diff", "pages", "parities")), Use(("diff", "pages", "pages"))),
    "export": tuple(
        Use(("export", topic, "--to", "-", "--as", "jsonl")) for topic in ("pages", "parities", "tasks.pages")
    ),
    "tail": tuple(Use(("tail", topic, "-n", "1000")) for topic in ("pages", "parities", "tasks.pages")),
    "tasks": (
        Use(("tasks",)), Use(("tasks", "show", "pages")),
        Use(("tasks", "retry", "pages", "--task", "4"), changes=True),
    ),
    "topics": (Use(("topics",)), Use(("topics", "purge", "odd", "--yes"), changes=True)),
    "ui": tuple(
        Use(("ui", answer))
        for answer in (
            "structure", "streamlets/distinct", "streamlets/distinct/samples", "topics", "topics/parities",
            "topics/parities/records", "dead-letters", "events",
        )
    ),
    "upgrade": (Use(("upgrade",)),),
    "verify": (Use(("verify",)),),
}  # fmt: skip
"""The uses of each command, or why it has none."""


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> State:
    """Return the state after a run and what changes it without Spark."""
    directory = tmp_path_factory.mktemp("state") / "app"
    if made := os.environ.get("DAMAGED_STATE"):
        shutil.copytree(made, directory)
    else:
        shutil.copytree(APPLICATION, directory)
        completed = run_bounded(directory)
        assert completed.returncode == 0, completed.stdout + completed.stderr
    state = State(directory, NAME)
    state.older = {path: (state.root / path).read_bytes() for path in state.files()}
    change(state)
    return state


def change(state: State) -> None:
    """Add what only some runs have: a checkpoint of a log, retained letters, replays, requests, paused streamlets."""
    channel = DeltaChannel(state.root / "topics")
    pages = channel.topic(topic_plan("pages"))
    upkeep = Upkeep(checkpoint_every=3, keep_log=1e9, keep_orphans=1e9, compaction=None)
    maintain_topic(pages.path, state.root / "topics" / "_staged", lambda: 4e9, upkeep)
    schema = state.directory / "schemas" / "Parity.avsc"
    text = schema.read_text(encoding="utf-8")
    schema.write_text(text.replace('"EVEN"', '"?", "EVEN"'), encoding="utf-8")
    call(state, "dead-letters", "replay", "parities")
    schema.write_text(text, encoding="utf-8")
    call(state, "tasks", "retry", "pages", "--task", "4")
    channel.topic(topic_plan("odd")).purge([Reader("odd.reader", None)], force=True)
    own = Store(StateDirectory(state.directory / ".flow", NAME))
    with own.owned("one"):
        own.write(Backfill(name="one", request=Request(streamlet="parities"), version="", created=4e9, ranges={}))
    (state.root / "status" / "paused.json").write_text('{"archive": "paused by ann"}')
    (state.root / "status" / "upgrade.json").write_text("{}")


def all_uses() -> Iterator[Use]:
    """Yield the uses of all commands."""
    for uses in USES.values():
        if not isinstance(uses, str):
            yield from uses


def test_every_command_is_in_the_table() -> None:
    """A new command says how it uses the state."""
    assert set(USES) == set(_COMMANDS)


def test_a_run_writes_only_known_files(state: State) -> None:
    """Each file of the state directory is of a kind of the table, and each kind that a run writes occurs."""
    assert [str(path) for path in state.files() if kind_of(path) is None] == []


@pytest.fixture(scope="module")
def undamaged(state: State, tmp_path_factory: pytest.TempPathFactory) -> dict[Use, Expected]:
    """Return what each use shows if nothing is damaged."""
    return expected_of(state, all_uses(), tmp_path_factory.mktemp("undamaged"))


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("kind", FILES, ids=lambda kind: kind.name)
def test_commands_that_read_a_damaged_file(
    state: State, undamaged: dict[Use, Expected], tmp_path: Path, kind: FileKind, how: str
) -> None:
    """A command shows the same as before, or reports the file. Of files that can be done without, it may show less."""
    uses = [use for use, expected in undamaged.items() if kind in expected.kinds]
    check(state, undamaged, tmp_path, kind, how, uses, samples(state, kind, number=1))


@pytest.mark.full
@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("kind", FILES, ids=lambda kind: kind.name)
def test_commands_on_damaged_state(
    state: State, undamaged: dict[Use, Expected], tmp_path: Path, kind: FileKind, how: str
) -> None:
    """The same for every command and several files."""
    check(state, undamaged, tmp_path, kind, how, list(undamaged), samples(state, kind, number=8))


RUN = [kind for kind in FILES if kind.pattern.startswith(("topics", "checkpoints", "status", "discovery"))]


@pytest.mark.full
@pytest.mark.parametrize("how", ["missing", "empty", "cut", "from elsewhere"])
@pytest.mark.parametrize("kind", RUN, ids=lambda kind: kind.name)
def test_runs_on_damaged_state(state: State, tmp_path: Path, kind: FileKind, how: str) -> None:
    """A run reports the damaged file, or its topics have the same records as after a run on undamaged state."""
    for number, path in enumerate(samples(state, kind, number=1)):
        own = state.copy(tmp_path / str(number))
        damage(own, path, how)
        completed = run_bounded(own.directory)
        text = completed.stdout + completed.stderr
        assert "internal error" not in text and "Traceback" not in text, text
        named = path.name in text or f"{path.parent.name}/{path.name}" in text or str(path.parent) in text
        if not (completed.returncode and named):
            assert completed.returncode == 0, text
            for topic in ("distinct", "parities"):
                before, after = (call(at, "tail", topic, "-n", "1000") for at in (state, own))
                assert set(before.text.splitlines()) <= set(after.text.splitlines()), text
                lines = after.text.splitlines()
                assert len(lines) == len(set(lines)), "records were doubled"
