"""Names that are paths, for each command and setting that joins a name into a path: nothing of others is changed."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Flow, flow  # noqa: F401 - the fixture
from tests.crossings.applications import KINDS, copy, stopped, write
from tests.trees import content

NAMES = ("..", "../..", "../other", "ABSOLUTE", "a/b", ".", "", "a\nb")
"""The names; ABSOLUTE stands for a directory with files of others."""

RESOURCES = ("--resources", "delete-only", "--yes")
COMMANDS: dict[str, tuple[str, ...]] = {
    "backfill": ("backfill", "NAME", "PATH", "--into", "results"),
    "backfill --name": ("backfill", "double", "PATH", "--into", "results", "--again", "--name", "NAME"),
    "backfill --into-topic": ("backfill", "double", "PATH", "--to", "2999-01-01", "--into-topic", "NAME"),
    "backfills delete": ("backfills", "delete", "NAME", "PATH", "--yes"),
    "backfills delete --application": ("backfills", "delete", "one", "PATH", "--yes", "--application", "NAME"),
    "checkpoints reset": ("checkpoints", "reset", "NAME", "PATH", "--yes"),
    "checkpoints reset, query": ("checkpoints", "reset", "double/NAME", "PATH", "--yes"),
    "checkpoints reset --application": ("checkpoints", "reset", "double", "PATH", "--yes", "--application", "NAME"),
    "dead-letters replay": ("dead-letters", "replay", "NAME", "PATH"),
    "export": ("export", "NAME", "PATH", "--to", "results.csv"),
    "export --to": ("export", "out", "PATH", "--overwrite", "--as", "csv", "--to", "NAME"),
    "manifests": ("manifests", "PATH", "NAME"),
    "new": ("new", "NAME"),
    "pause": ("pause", "NAME", "--path", "PATH", "--timeout", "0.2s"),
    "restart": ("restart", "NAME", "--path", "PATH", "--timeout", "0.2s"),
    "run, application": ("run", "PATH", "flow.application=QUOTED", *RESOURCES),
    "run, streamlet": ("run", "PATH", "blueprint.streamlets.QUOTED=app.Double", *RESOURCES),
    "run, topic": ("run", "PATH", "blueprint.topics.QUOTED.producers=[double.out]", *RESOURCES),
    "run, name of a topic": ("run", "PATH", "flow.topics.out.name=QUOTED", *RESOURCES),
    "run --state-dir": ("run", "PATH", "--state-dir", "NAME", *RESOURCES),
    "tasks retry": ("tasks", "retry", "NAME", "PATH", "--all"),
    "topics apply": ("topics", "apply", "PATH", "flow.topics.out.name=QUOTED", "--yes"),
    "topics copy": ("topics", "copy", "NAME", "PATH", "--from", "delta"),
    "topics purge": ("topics", "purge", "NAME", "PATH", "--all", "--force", "--yes"),
    "topics purge --application": ("topics", "purge", "out", "PATH", "--all", "--yes", "--application", "NAME"),
    "topics purge --state-dir": ("topics", "purge", "out", "PATH", "--all", "--yes", "--state-dir", "NAME"),
}  # fmt: skip
"""The arguments of each use of a name; NAME and QUOTED, as a string of HOCON, stand for it."""

CREATING = {"export --to": 1, "manifests": 15, "new": 20}
"""Uses whose argument is the path of something new by design, and how many files and directories that is at most."""

OWN_STATE = {"run --state-dir", "topics purge --state-dir", "run, topic", "run, name of a topic"}
"""Uses that may name a state directory, or topics in it, which they then change."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The blueprint of an application that has run."""
    blueprint = write(KINDS["mixed"], tmp_path_factory.mktemp("prepared") / "shop")
    stopped(blueprint)
    return blueprint


@pytest.mark.parametrize("use", COMMANDS)
def test_nothing_of_others_is_changed(
    use: str, prepared: Path, flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:  # fmt: skip
    """The command refuses the name with a message, or writes new files only where it was asked to."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    wrong = []
    for number, name in enumerate(NAMES):
        world = tmp_path / str(number)
        others = world / "others"
        (others / "thesis").mkdir(parents=True)
        (others / "thesis" / "chapter.txt").write_text("all of it")
        (world / "other").mkdir()
        (world / "other" / "lock").write_text("")
        blueprint = copy(prepared, world / "shop")
        for place in ("", "other", "shop/backfills", "shop/topics/other"):
            (blueprint.parent / ".flow" / place).mkdir(parents=True, exist_ok=True)
            (blueprint.parent / ".flow" / place / "of-others.txt").write_text("kept")
        monkeypatch.chdir(blueprint.parent)
        sys.modules.pop("app", None)
        word = str(others) if name == "ABSOLUTE" else name
        quoted = '"' + word.replace("\n", "\\n") + '"'
        arguments = [
            part.replace("NAME", word).replace("QUOTED", quoted).replace("PATH", str(blueprint))
            for part in COMMANDS[use]
        ]
        before = content(world)
        result = flow(*arguments)
        after = content(world)
        fault = _fault(use, before, after)
        if "Traceback" in result.err or "internal error" in result.err or result.code not in (0, 1, 2):
            fault = fault or f"exit code {result.code}"
        if result.code == 0 and use not in CREATING.keys() | OWN_STATE:
            fault = fault or "is accepted"
        if not name and use.endswith("--state-dir") and result.code != 2:
            fault = fault or "stands for the default state directory"
        if fault:
            wrong.append(f"{name!r}: {fault}\n{result.out}{result.err}")
    assert not wrong, "\n\n".join(wrong)


def _fault(use: str, before: dict[str, bytes], after: dict[str, bytes]) -> str:
    """Return what has changed outside of the application's own state; empty if nothing has."""
    own = "shop/.flow/shop/"
    changed = [
        path
        for path, kept in before.items()
        if after.get(path) != kept and not (path.startswith(own) and not path.endswith("of-others.txt"))
    ]
    created = [path for path in after.keys() - before.keys() if not path.startswith(own)]
    if changed:
        return f"changed: {sorted(changed)}"
    return f"created: {sorted(created)}" if len(created) > CREATING.get(use, 0) and use not in OWN_STATE else ""
