"""The applications that the page shows: of one project, or of all projects below a directory."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cli.application import Application, blueprint_at
from streamlets.runner.state_directory.directory import STATE_DIRECTORY, StateDirectory, applications_in

_DEEPEST = 5
"""The levels of directories below the one that was named in which projects are found."""

_EVERY = 5.0
"""Seconds between two searches."""

_SKIPPED = frozenset({"node_modules", "venv", "__pycache__", "site-packages"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """An application that the page shows.

    Arguments:
        id: its name in addresses: the name of the application, with its place if several have this name.
        state: its state directory.
        project: the directory or blueprint of its project, which commands take as PATH; None if it is not known.
        state_dir: the value of `--state-dir` for commands; None if the state is next to the blueprint.
    """

    id: str
    state: StateDirectory
    project: Path | None = None
    state_dir: Path | None = None

    @property
    def name(self) -> str:
        """The name of the application."""
        return self.state.application


class Applications:
    """The applications below a path. They are searched again every few seconds, as an application may be started.

    Arguments:
        path: a blueprint, the directory of one, or a directory with projects.
        state_dir: the parent directory of the applications' state; None to find it next to each blueprint.
        only: the name of the only application to show; None for all.
    """

    def __init__(self, path: Path, state_dir: Path | None = None, only: str | None = None) -> None:
        self._path, self._state_dir, self._only = path, state_dir, only
        self._found: Mapping[str, Served] = {}
        self._searched = float("-inf")

    def all(self) -> Mapping[str, Served]:
        """Return the applications by id, sorted."""
        if time.monotonic() - self._searched >= _EVERY:
            self._found = self._search()
            self._searched = time.monotonic()
        return self._found

    def get(self, id: str) -> Served | None:
        """Return an application; None if there is none with this id."""
        return self.all().get(id)

    def _search(self) -> dict[str, Served]:
        found = [
            (root, project, name)
            for root, project in self._roots()
            for name in _names(root, project)
            if self._only in (None, name)
        ]
        names = [name for _, _, name in found]
        served: dict[str, Served] = {}
        for root, project, name in sorted(found, key=lambda each: (each[2], str(each[0]))):
            place = os.path.relpath(root.parent, self._path).replace("/", ":")  # an address is split at slashes
            id = name if names.count(name) == 1 else f"{name} in {place}"
            state = StateDirectory(root, name)
            served[id] = Served(id=id, state=state, project=project, state_dir=self._state_dir)
        return served

    def _roots(self) -> Iterator[tuple[Path, Path]]:
        """Yield the directories with the state of applications, which need not exist, each with its project."""
        own = self._path if self._path.is_dir() else self._path.parent
        if self._state_dir is not None:
            yield self._state_dir, self._path
        elif not self._path.is_dir():
            yield own / STATE_DIRECTORY, self._path
        else:
            for project in _projects(own, _DEEPEST):
                yield project / STATE_DIRECTORY, project


def _names(root: Path, project: Path) -> Sequence[str]:
    """Return the applications with state, or else the one of the blueprint, which has not run yet."""
    if stored := applications_in(root):
        return stored
    blueprint = blueprint_at(project)
    try:
        changed = blueprint.stat().st_mtime_ns
    except OSError:
        return ()
    return _own_name(blueprint, changed)


@lru_cache(maxsize=1000)
def _own_name(blueprint: Path, _: int) -> Sequence[str]:
    name = Application(blueprint, (), ()).name
    return () if name is None else (name,)


def _projects(directory: Path, levels: int) -> Iterator[Path]:
    """Yield a directory if it has a blueprint or state, and the projects below it, but none below one with state."""
    ran = (directory / STATE_DIRECTORY).is_dir()
    if ran or blueprint_at(directory).is_file():
        yield directory
    if ran or not levels:
        return
    try:
        entries = sorted(entry for entry in directory.iterdir() if entry.is_dir() and not entry.is_symlink())
    except OSError:
        return
    for entry in entries:
        if not entry.name.startswith(".") and entry.name not in _SKIPPED:
            yield from _projects(entry, levels - 1)
