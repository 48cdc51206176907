"""Each kind of file of the state directory, damaged in every way, under each command that reads it.

The state is made once by a real run of an application with all kinds of streamlets, and copied for each case. Whatever
is damaged: a command either shows what it showed before, or reports the file. No command ends with an internal error.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import pytest

from cli.main import _COMMANDS, main
from streamlets.channels.base import Reader
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.delta.maintenance import Upkeep, maintain_topic
from streamlets.runner.state_directory.files import FILES, FileKind, kind_of
from tests.cli.ui.conftest import Visitor
from tests.streamlets.channels.topics import topic_plan

pytestmark = [pytest.mark.spark, pytest.mark.slow]

APPLICATION = Path(__file__).parent / "state_app"
NAME = "damaged"


@dataclass(frozen=True)
class Use:
    """A use of a command that reads the state.

    Arguments:
        arguments: the arguments of the command, without those that name the application.
        changes: whether it changes the state, so that it needs a copy of its own.
    """

    arguments: tuple[str, ...]
    changes: bool = False


USES: dict[str, tuple[Use, ...] | str] = {
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


@dataclass
class State:
    """The state of an application that has run.

    Arguments:
        directory: the directory of the application.
        older: the content of files before the last changes, by path.
    """

    directory: Path
    older: dict[PurePosixPath, bytes] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.directory / ".flow" / NAME

    def files(self) -> list[PurePosixPath]:
        """Return the paths of all files, relative to the state of the application."""
        paths = (path for path in self.root.rglob("*") if path.is_file())
        return sorted(PurePosixPath(path.relative_to(self.root).as_posix()) for path in paths)

    def copy(self, to: Path) -> State:
        """Return a copy in a new directory."""
        shutil.copytree(self.directory, to, symlinks=True)
        return State(to, self.older)


def environment() -> dict[str, str]:
    """Return the environment of a run, in which `flow` is found."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def run_bounded(directory: Path) -> subprocess.CompletedProcess[str]:
    """Run the application until it has processed all data."""
    command = [sys.executable, "-m", "streamlets", "run", "--available-now", str(directory)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=600, check=False)


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
    state = State(directory)
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
    (state.root / "status" / "paused.json").write_text('{"archive": "paused by ann"}')
    (state.root / "status" / "upgrade.json").write_text("{}")


@dataclass(frozen=True)
class Shown:
    """What a command has shown."""

    code: int
    text: str


VOLATILE = re.compile(
    r"(?<![\w-])\d+(\.\d+)?\s?(ms|s|min|h|d)\b(?!-)|(\d{4}-\d\d-\d\d[ T])?\d\d:\d\d(:\d\d)?(\.\d+)?Z?|"
    r"\"(seconds|age|time)[a-z-]*\": [\d.]+|\d[\d.,]* ([KMG]i)?B\b"
)


def call(state: State, *arguments: str) -> Shown:
    """Call a command in this process; of `flow ui`, one answer of its server."""
    if arguments[0] == "ui":
        response = Visitor(state.directory).client.get(f"/api/applications/{NAME}/{arguments[1]}")
        text = json.dumps(response.json(), indent=1).replace(str(state.directory), "APP")
        # A dead letter has the traceback of a failed task, with the path of the first run.
        text = re.sub(r"/\S+/app/app\.py", "APP/app.py", text.replace("Traceback", "trace"))
        text = re.sub(r"\"(last_commit|first|last|commits)\": [\w.]+", "TIME", text)
        return Shown(int(response.status_code != 200), VOLATILE.sub("TIME", text))
    output = io.TextIOWrapper(written := io.BytesIO(), write_through=True)
    named = (*arguments, str(state.directory))
    if arguments[0] in ("pause", "resume", "restart", "scale"):
        named = (*arguments, "--path", str(state.directory))
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            main(list(named))
        except SystemExit as ended:
            code = ended.code
    assert isinstance(code, int)
    text = written.getvalue().decode().replace(str(state.directory), "APP")
    return Shown(code, VOLATILE.sub("TIME", text))


Damager = Callable[[State, PurePosixPath], bytes | None]


def cut(state: State, path: PurePosixPath) -> bytes:
    data = (state.root / path).read_bytes()
    return data[: len(data) // 2]


def from_elsewhere(state: State, path: PurePosixPath) -> bytes:
    """Return the content of another file of the same kind, or a document of another application."""
    kind, own = kind_of(path), (state.root / path).read_bytes()
    for other in state.files():
        data = (state.root / other).read_bytes()
        if kind_of(other) == kind and other.suffix == path.suffix and data != own:
            return data
    return json.dumps({"application": "another", "version": 1}).encode()


DAMAGES: dict[str, Damager] = {
    "missing": lambda state, path: None,
    "empty": lambda state, path: b"",
    "cut": cut,
    "from elsewhere": from_elsewhere,
    "older": lambda state, path: state.older.get(path, (state.root / path).read_bytes()),
}


def damage(state: State, path: PurePosixPath, how: str) -> None:
    """Damage a file of a copy."""
    data = DAMAGES[how](state, path)
    file = state.root / path
    if data is None:
        file.unlink()
    else:
        file.write_bytes(data)


def samples(state: State, kind: FileKind, *, number: int) -> list[PurePosixPath]:
    """Return some files of a kind: the largest one of each directory, at most so many."""
    paths = [path for path in state.files() if kind_of(path) == kind]
    step = max(1, len(paths) // number)
    return paths[::step][:number]


def all_uses() -> Iterator[Use]:
    """Yield the uses of all commands."""
    for uses in USES.values():
        if not isinstance(uses, str):
            yield from uses


_opened: list[str] | None = None
"""The files that were opened since a use began; None if they are not recorded."""


def _record(event: str, arguments: tuple[object, ...]) -> None:
    if _opened is not None and event == "open" and isinstance(arguments[0], str):
        _opened.append(arguments[0])


@contextlib.contextmanager
def opened_kinds(state: State) -> Iterator[set[FileKind]]:
    """Yield the kinds of the files of a state that are opened in the context; Parquet files are those of a commit."""
    global _opened
    kinds: set[FileKind] = set()
    _opened = []
    try:
        yield kinds
    finally:
        paths = [PurePosixPath(path) for path in _opened]
        _opened = None
        below = [path.relative_to(state.root) for path in paths if path.is_relative_to(state.root)]
        kinds |= {kind for path in below if (kind := kind_of(path)) is not None}
        if any(kind.name == "commit" for kind in kinds):
            kinds |= {kind for kind in FILES if kind.name in ("records", "checkpoint of a log")}


def test_every_command_is_in_the_table() -> None:
    """A new command says how it uses the state."""
    assert set(USES) == set(_COMMANDS)


def test_a_run_writes_only_known_files(state: State) -> None:
    """Each file of the state directory is of a kind of the table, and each kind that a run writes occurs."""
    assert [str(path) for path in state.files() if kind_of(path) is None] == []


@dataclass(frozen=True)
class Expected:
    """What a use shows if nothing is damaged, and the kinds of files that it opens."""

    shown: Shown
    kinds: frozenset[FileKind]


@pytest.fixture(scope="module")
def undamaged(state: State, tmp_path_factory: pytest.TempPathFactory) -> dict[Use, Expected]:
    """Return what each use shows if nothing is damaged."""
    sys.addaudithook(_record)
    directory = tmp_path_factory.mktemp("undamaged")
    expected = {}
    for number, use in enumerate(all_uses()):
        own = state.copy(directory / str(number)) if use.changes else state
        with opened_kinds(own) as kinds:
            shown = call(own, *use.arguments)
        assert "internal error" not in shown.text, shown.text
        expected[use] = Expected(shown, frozenset(kinds))
    return expected


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


def check(
    state: State,
    undamaged: dict[Use, Expected],
    directory: Path,
    kind: FileKind,
    how: str,
    uses: list[Use],
    paths: list[PurePosixPath],
) -> None:
    """Check uses on copies of a state with a damaged file."""
    wrong = []
    for number, path in enumerate(paths):
        reading = state.copy(directory / f"{number}")
        damage(reading, path, how)
        for index, use in enumerate(uses):
            own = reading
            if use.changes:
                own = state.copy(directory / f"{number}-{index}")
                damage(own, path, how)
            shown = call(own, *use.arguments)
            if fault := fault_of(kind, path, how, shown, undamaged[use].shown):
                wrong.append(f"{' '.join(use.arguments)} with {path} {how}: {fault}\n{shown.text}")
    assert not wrong, "\n\n".join(wrong)


def fault_of(kind: FileKind, path: PurePosixPath, how: str, shown: Shown, before: Shown) -> str:
    """Return what is wrong with the outcome of a command on damaged state; "" for nothing."""
    if "internal error" in shown.text or "Traceback" in shown.text:
        return "an internal error"
    if shown == before:
        return ""
    text, short = shown.text.replace("\n", ""), f"{path.parent.name}/{path.name}"
    if (path.name in text and (shown.code or path.name not in before.text)) or short in text:
        return ""
    if shown.code and str(path.parent) in shown.text.replace("\n", ""):
        return ""
    if ((how == "missing" and kind.missing) or kind.damage) == "error":
        return f"not reported, exit code {shown.code}, before: {before.text}"
    return "" if shown.code in (0, before.code) or path.name in shown.text else f"exit code {shown.code}"


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
