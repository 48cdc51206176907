"""Answers and actions that a command of `flow` gives, in a process of its own: it may run the code of the project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.ui.served import Served

_PATIENCE = 300.0
"""Seconds that a command may take."""


_COLUMNS = "110"
"""The width of texts for people."""


class CommandError(Exception):
    """A command has failed; the message is what it printed."""


def flow(command: str, *operands: str, options: Sequence[str] = (), ends: Sequence[int] = (0,)) -> Any:
    """Return the output of a command of `flow` with `--format json`.

    Arguments:
        command: its words.
        operands: its arguments, which are never taken for options.
        options: its options.
        ends: the exit codes with which it has an answer.

    Raises:
        CommandError: it ends with another code, or does not end.
    """
    done = _run(command, [*options, "--format", "json", "--", *operands])
    if done.returncode not in ends:
        raise CommandError(_printed(done))
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise CommandError(_printed(done)) from None


def _run(command: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "streamlets", *command.split(), *arguments]
    try:
        return subprocess.run(
            words, capture_output=True, text=True, timeout=_PATIENCE, stdin=subprocess.DEVNULL,
            env={**os.environ, "COLUMNS": _COLUMNS},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise CommandError(f"`flow {command}` has not ended for {_PATIENCE:.0f} s") from None


def _printed(done: subprocess.CompletedProcess[str]) -> str:
    """Return the message of a command that has failed."""
    return (done.stderr or done.stdout).strip() or f"the command ended with exit code {done.returncode}"


def location(served: Served) -> list[str]:
    """Return the options that name an application."""
    state = ["--state-dir", str(served.state.root)] if served.state_dir is not None else []
    return [*state, "--application", served.name]


def findings(served: Served) -> dict[str, Any]:
    """Return the findings of `flow verify` on the project as it is now: whether it may run, and the text for people.

    Raises:
        CommandError: it cannot be verified; also if the directory of the project is not known.
    """
    if served.project is None:
        raise CommandError("the directory of the project is not known: start the page with its path")
    done = _run("verify", ["--format", "full", "--", str(served.project)])
    if done.returncode not in (0, 1):
        raise CommandError(_printed(done))
    return {"valid": done.returncode == 0, "text": (done.stdout + done.stderr).strip()}


def settings(served: Served, streamlet: str) -> Any:
    """Return the settings of a streamlet, each with the places that set it.

    Raises:
        CommandError: they cannot be read.
    """
    if served.project is None:
        raise CommandError("the directory of the project is not known: start the page with its path")
    known = flow("config", str(served.project), options=["--explain", f"flow.streamlets.{streamlet}"])
    for place in (place for setting in known for place in setting["sources"]):
        if Path(place.get("file") or "").is_file():
            place["file"] = str(Path(place["file"]).absolute())  # for editors; the command prints it as people read it
    return known


def replay(served: Served, name: str, *, reason: str = "", dry_run: bool = False) -> Any:
    """Replay the dead letters of a streamlet, or of one of its ports.

    Arguments:
        name: the streamlet, or `streamlet.port`.
        reason: only letters whose reason has this text; "" for all.
        dry_run: whether to change nothing, and to return the letters that would be replayed.

    Raises:
        CommandError: they cannot be replayed.
    """
    options = (["--reason", reason] if reason else []) + (["--dry-run"] if dry_run else [])
    path = str(served.project) if served.project is not None else "."
    return flow("dead-letters replay", name, path, options=[*location(served), *options], ends=(0, 1))


def retry(served: Served, streamlet: str, task: int) -> Any:
    """Have a failed task of a batch source read again.

    Raises:
        CommandError: there is no such task, or it has not failed.
    """
    path = str(served.project) if served.project is not None else "."
    return flow("tasks retry", streamlet, path, options=[*location(served), f"--task={task}"])
