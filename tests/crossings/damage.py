"""Damaging files of a state directory, and what commands may show then.

A command shows what it showed before, or reports the file. Of a file that can be done without, it may show less. No
command ends with an internal error.
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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from cli.main import main
from streamlets.runner.state_directory.files import FILES, FileKind, kind_of
from tests.cli.ui.conftest import Visitor


@dataclass(frozen=True)
class Use:
    """A use of a command that reads the state.

    Arguments:
        arguments: the arguments of the command, without those that name the application.
        changes: whether it changes the state, so that it needs a copy of its own.
    """

    arguments: tuple[str, ...]
    changes: bool = False


@dataclass
class State:
    """The state of an application that has run.

    Arguments:
        directory: the directory of the application.
        name: its name.
        older: the content of files before the last changes, by path.
    """

    directory: Path
    name: str
    older: dict[PurePosixPath, bytes] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.directory / ".flow" / self.name

    def files(self) -> list[PurePosixPath]:
        """Return the paths of all files, relative to the state of the application."""
        paths = (path for path in self.root.rglob("*") if path.is_file())
        return sorted(PurePosixPath(path.relative_to(self.root).as_posix()) for path in paths)

    def copy(self, to: Path) -> State:
        """Return a copy in a new directory."""
        shutil.copytree(self.directory, to, symlinks=True)
        return State(to, self.name, self.older)


def environment() -> dict[str, str]:
    """Return the environment of a run, in which `flow` is found."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def run_bounded(directory: Path) -> subprocess.CompletedProcess[str]:
    """Run the application until it has processed all data."""
    command = [sys.executable, "-m", "streamlets", "run", "--available-now", str(directory)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=600, check=False)


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
        response = Visitor(state.directory).client.get(f"/api/applications/{state.name}/{arguments[1]}")
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


@dataclass(frozen=True)
class Expected:
    """What a use shows if nothing is damaged, and the kinds of files that it opens."""

    shown: Shown
    kinds: frozenset[FileKind]


def expected_of(state: State, uses: Iterable[Use], directory: Path) -> dict[Use, Expected]:
    """Return what each use shows if nothing is damaged.

    Arguments:
        state: the state.
        uses: the uses.
        directory: a directory for copies.
    """
    sys.addaudithook(_record)
    expected = {}
    for number, use in enumerate(uses):
        own = state.copy(directory / str(number)) if use.changes else state
        with opened_kinds(own) as kinds:
            shown = call(own, *use.arguments)
        assert "internal error" not in shown.text, shown.text
        expected[use] = Expected(shown, frozenset(kinds))
    return expected


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
