"""What commands that work on an application have in common: where its blueprint is, and the settings given with it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from blueprint.catalog import Catalog
    from blueprint.comparison.findings import Against, AgainstOf
    from blueprint.logic import LogicCheck
    from blueprint.verification.verify import Verification

_SETTING = re.compile(r"[\w.\"-]+\s*\+?=")


@dataclass(frozen=True, slots=True)
class Application:
    """An application as named on the command line.

    Arguments:
        blueprint: its file, which need not be there (verification says so).
        conf: files of settings, later ones win.
        settings: `key=value` arguments.
    """

    blueprint: Path
    conf: tuple[str, ...]
    settings: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where the blueprint lies."""
        return self.blueprint.parent

    @property
    def exists(self) -> bool:
        """Whether the blueprint and the files of settings are there, so that there is something to verify."""
        return self.blueprint.exists() and all(Path(file).exists() for file in self.conf)

    @property
    def name(self) -> str | None:
        """What the blueprint and the settings call the application; None when there is no blueprint."""
        if not self.blueprint.exists():
            return None
        from blueprint.diagnostics import Sources
        from blueprint.hocon import ObjectValue, resolve
        from blueprint.settings.layers import read_layers
        from blueprint.settings.values import application_name

        layers = read_layers(self.blueprint, [Path(file) for file in self.conf], self.settings, Sources(Path.cwd()))
        tree, _ = resolve(layers, os.environ)
        flow = tree.fields.get("flow") if isinstance(tree, ObjectValue) else None
        given = application_name(flow) if isinstance(flow, ObjectValue) else None
        return given or self.blueprint.absolute().parent.name or None

    def verify(
        self,
        catalog: Catalog | None = None,
        logic: LogicCheck | None = None,
        against: Against | AgainstOf | None = None,
        state: bool = False,
        texts: Mapping[Path, str] | None = None,
    ) -> Verification:
        """Verify it, with the streamlets of its folder unless another catalog is given; when asked, their logic and its
        state, what changes against an older descriptor, and what would be found if files held other texts."""
        from blueprint.verification.verify import verify
        from streamlets.project.catalog import ProjectCatalog

        return verify(
            self.blueprint,
            catalog=catalog if catalog is not None else ProjectCatalog(),
            conf_files=self.conf,
            arguments=self.settings,
            environment=os.environ,
            working_directory=Path.cwd(),
            logic=logic,
            against=against,
            state=state,
            texts=texts,
        )


def application_arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `[PATH] [KEY=VALUE]...` and `--conf`; `application` makes an `Application` of both."""
    command = click.option(
        "--conf", multiple=True, metavar="FILE", help="A file of settings; may be given again, later ones win."
    )(command)
    return click.argument("given", nargs=-1, metavar="[PATH] [KEY=VALUE]...")(command)


def application(given: Sequence[str], conf: Sequence[str]) -> Application:
    """The application that arguments name: a blueprint or its folder (this one when left out), and settings.

    Raises:
        click.UsageError: there is more than one path, or what looks like one is a setting without `=`.
    """
    settings = tuple(each for each in given if _SETTING.match(each) and not Path(each).exists())
    paths = [each for each in given if each not in settings]
    if len(paths) > 1:
        raise click.UsageError(
            f"one application at a time: `{paths[0]}` or `{paths[1]}`? Settings are written `key=value`"
        )
    if paths and paths[0].startswith("flow.") and not Path(paths[0]).exists():
        raise click.UsageError(f"there is no file `{paths[0]}`; settings are written `key=value`")
    return Application(blueprint_at(Path(paths[0]) if paths else Path()), tuple(conf), settings)


SUFFIXES = (".conf", ".yaml", ".yml", ".json")
"""What the name of a blueprint ends in."""


def existing(path: Path) -> Path:
    """The path.

    Raises:
        click.UsageError: nothing is there.
    """
    if not path.exists():
        raise click.UsageError(f"there is no file or folder `{path}`")
    return path


def blueprint_at(path: Path) -> Path:
    """The blueprint of a path: the file itself, or the one in the folder."""
    if not path.is_dir():
        return path
    from blueprint.model.nearby import BLUEPRINT_NAMES

    found = [path / name for name in BLUEPRINT_NAMES if (path / name).exists()]
    return found[0] if found else path / BLUEPRINT_NAMES[0]
