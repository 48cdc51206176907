"""`flow new`: create a project from a template."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

_TEMPLATES = Path(__file__).resolve().parent.parent / "templates"
"""A template is a project with the name `my-app` and the package `my_app`; `dot-` begins the name of a hidden file."""

_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_LONGEST_NAME = 63
_DIRECTORIES = ("data", "schemas", "tests")


def template_names() -> list[str]:
    """Return the names of the templates."""
    return sorted(path.name for path in _TEMPLATES.iterdir())


@click.command()
@click.argument("directory", metavar="NAME", type=click.Path(path_type=Path))
@click.option(
    "--template", type=click.Choice(template_names()), default="minimal", show_default=True,
    help="What to start from: `minimal` shows JSON files on the terminal, `files-to-delta` writes daily sums of "
    "CSV files to a Delta table, `kafka` sends JSON files through a topic in Kafka, and `sql` selects from CSV files.",
)  # fmt: skip
def new(directory: Path, template: str) -> None:
    """Create a project that verifies, runs and passes its tests.

    NAME is the project's name, or the path of a directory whose last part is the name: lower-case letters, digits, and
    `-` or `_` between them. The directory must not exist, or be empty.
    """
    name = directory.resolve().name
    _check_name(name)
    _check_empty(directory)
    try:
        for path, text in _files(_TEMPLATES / template, name):
            file = directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"`{error.filename}` cannot be written: {error.strerror}") from None
    click.echo(f"Created {directory} from the template `{template}`. Next:\n")
    for line in (f"cd {directory}", "flow run --available-now", "pytest"):
        click.echo(f"    {line}")


def _files(template: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file of a project."""

    def renamed(text: str) -> str:
        return text.replace("my-app", name).replace("my_app", _package(name))

    for file in sorted(template.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            path = re.sub(r"(^|/)dot-", r"\1.", file.relative_to(template).as_posix())
            yield renamed(path), renamed(file.read_text(encoding="utf-8"))


def _package(name: str) -> str:
    return name.replace("-", "_")


def _check_name(name: str) -> None:
    """Check that a name is valid for the project, and that its package does not hide another module.

    Raises:
        click.UsageError: it is invalid.
    """
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise click.UsageError(
            f"invalid project name `{name}`: expected up to {_LONGEST_NAME} lower-case letters and digits, starting "
            "with a letter, with single `-` or `_` between them"
        )
    package = _package(name)
    if keyword.iskeyword(package):
        raise click.UsageError(f"invalid project name `{name}`: it is a keyword of Python")
    if package in _DIRECTORIES:
        raise click.UsageError(f"invalid project name `{name}`: the project has a directory with this name")
    if package in sys.stdlib_module_names or _is_installed(package):
        raise click.UsageError(f"invalid project name `{name}`: there is already a Python module `{package}`")


def _is_installed(package: str) -> bool:
    """Return whether a module can be imported; a directory without Python files is not a module."""
    spec = importlib.util.find_spec(package)
    return spec is not None and spec.origin is not None


def _check_empty(directory: Path) -> None:
    """Check that a project can be created in a directory.

    Raises:
        click.UsageError: the path is a file, or a directory with content.
    """
    if directory.exists() and not directory.is_dir():
        raise click.UsageError(f"`{directory}` exists and is not a directory")
    if directory.is_dir() and any(directory.iterdir()):
        raise click.UsageError(f"the directory `{directory}` is not empty")
