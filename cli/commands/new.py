"""`flow new`: create a project from a template."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

_TEMPLATES = Path(__file__).resolve().parent.parent / "templates"
"""A template is a project with the name `my-app` and the package `my_app`; `dot-` begins the name of a hidden file."""

_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_LONGEST_NAME = 63
_ROWS = 1000
"""The number of records of a sample."""

_DIRECTORIES = ("data", "schemas", "tests")


def template_names() -> list[str]:
    """Return the names of the templates."""
    return sorted(path.name for path in _TEMPLATES.iterdir())


@click.command()
@click.argument("directory", metavar="[NAME]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--from",
    "sources",
    multiple=True,
    metavar="FILE|URL",
    help="Make a project without Python that reads this source, as in `flow sample`; may be repeated.",
)
@click.option("--table", metavar="TABLE", help="With --from: the table of a database.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="With --from: an option of the sources that know it, such as header=false; may be repeated.",
)
@click.option(
    "--template", type=click.Choice(template_names()), help="What to start from (default: minimal): "
    "`minimal` shows JSON files on the terminal, `files-to-delta` writes daily sums of "
    "CSV files to a Delta table, `kafka` sends JSON files through a topic in Kafka, and `sql` selects from CSV files.",
)  # fmt: skip
def new(
    directory: Path | None, sources: Sequence[str], table: str | None, options: Sequence[str], template: str | None
) -> None:
    """Create a project that verifies, runs and passes its tests.

    NAME is the project's name, or the path of a directory whose last part is the name: lower-case letters, digits, and
    `-` or `_` between them. The directory must not exist, or be empty. With --from, the default is the name of the
    first source, and the project has a schema for each source and SQL that saves it.
    """
    if sources:
        if template is not None:
            raise click.UsageError("--from and --template cannot be combined")
        _from_sources(directory, sources, table, options)
        return
    if table is not None or options:
        raise click.UsageError("--table and --option need --from")
    if directory is None:
        raise click.UsageError("missing the NAME of the project")
    template = template or "minimal"
    name = directory.resolve().name
    _check_name(name)
    _check_package(name)
    _check_empty(directory)
    _write(directory, _files(_TEMPLATES / template, name))
    _print_next(directory, f"the template `{template}`", ("flow run --available-now", "pytest"))


def _from_sources(directory: Path | None, texts: Sequence[str], table: str | None, options: Sequence[str]) -> None:
    """Create a project that reads sources."""
    from blueprint.settings.secret_texts import masked
    from cli.output.errors import fail
    from streamlets.ingress.sources.sample import SampleError
    from streamlets.sampling.project import project_files, project_sources

    if directory is not None:
        _check_name(directory.resolve().name)
        _check_empty(directory)
    try:
        target, sources = project_sources(texts, table, options, directory, _ROWS)
    except SampleError as error:
        fail(masked(str(error)))
    _check_name(target.resolve().name)
    _check_empty(target)
    _write(target, project_files(sources))
    for source in sources:
        for doubt in source.proposal.doubts:
            column = f", {doubt.column}" if doubt.column else ""
            click.echo(f"not sure: {source.name}{column}: {doubt.reason}", err=True)
    names = ", ".join(f"`{source.name}` ({source.proposal.sample.size})" for source in sources)
    _print_next(target, names, ("flow verify --sample", "flow run --available-now"))


def _write(directory: Path, files: Iterable[tuple[str, str]]) -> None:
    try:
        for path, text in files:
            file = directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"`{error.filename}` cannot be written: {error.strerror}") from None


def _print_next(directory: Path, origin: str, commands: Iterable[str]) -> None:
    click.echo(f"Created {directory} from {origin}. Next:\n")
    for line in (f"cd {directory}", *commands):
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
    """Check that a name is valid for a project.

    Raises:
        click.UsageError: it is invalid.
    """
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise click.UsageError(
            f"invalid project name `{name}`: expected up to {_LONGEST_NAME} lower-case letters and digits, starting "
            "with a letter, with single `-` or `_` between them"
        )


def _check_package(name: str) -> None:
    """Check that the package of a project does not hide another module.

    Raises:
        click.UsageError: it does, or it cannot be a package.
    """
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
