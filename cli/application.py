"""The application that a command works on: its blueprint, and the settings on the command line."""

from __future__ import annotations

import json
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
    from blueprint.core_settings import ApplicationSettings
    from blueprint.hocon import Layer
    from blueprint.logic import LogicCheck, SampleCheck
    from blueprint.model.source import Source
    from blueprint.verification.verify import Verification

_SETTING = re.compile(r"[\w.\"-]+\s*\+?=")


@dataclass(frozen=True, slots=True)
class Application:
    """An application as named on the command line.

    Arguments:
        blueprint: its file, which need not exist; verification reports it.
        conf: files of settings; later files win.
        settings: `key=value` arguments.
        state_root: the directory of `--state-dir`; None for the one next to the blueprint.
        options: the settings that options of the command override, as `key=value`. They do not identify the
            application: an upgrade has options of its own.
    """

    blueprint: Path
    conf: tuple[str, ...]
    settings: tuple[str, ...]
    state_root: Path | None = None
    options: tuple[str, ...] = ()

    @property
    def directory(self) -> Path:
        """The directory of the blueprint."""
        return self.blueprint.parent

    @property
    def source(self) -> Source:
        """The blueprint, to be read."""
        from blueprint.sql.source import source_at

        return source_at(Path.cwd() / self.blueprint)

    @property
    def exists(self) -> bool:
        """Whether the blueprint and the files of settings exist, so that there is something to verify."""
        return self.blueprint.exists() and all(Path(file).exists() for file in self.conf)

    @property
    def name(self) -> str | None:
        """The name of the application in the blueprint and the settings; None without a blueprint."""
        settings = self.own_settings
        return None if settings is None else settings.application or self.blueprint.absolute().parent.name or None

    @property
    def own_settings(self) -> ApplicationSettings | None:
        """The settings of the application, read without a verification; None without a blueprint."""
        if not self.blueprint.exists():
            return None
        from blueprint.core_settings import ApplicationSettings
        from blueprint.hocon import ObjectValue, resolve
        from blueprint.settings.values import application_settings

        tree, _ = resolve(self._layers(), os.environ)
        flow = tree.fields.get("flow") if isinstance(tree, ObjectValue) else None
        return application_settings(flow) if isinstance(flow, ObjectValue) else ApplicationSettings()

    @property
    def is_blueprint(self) -> bool:
        """Whether its file is a blueprint or a job, which may have errors."""
        from blueprint.hocon import resolve
        from blueprint.sql.source import SUFFIX

        if self.blueprint.suffix == SUFFIX:
            return True
        layers = self._layers()
        tree, _ = resolve(layers, os.environ)
        damaged = self.blueprint.suffix in SUFFIXES and any(layer.diagnostics for layer in layers)
        return damaged or "blueprint" in tree.fields

    def _layers(self) -> list[Layer]:
        from blueprint.diagnostics import Sources
        from blueprint.settings.layers import read_layers

        return read_layers(self.source, [Path(file) for file in self.conf], self.settings, Sources(Path.cwd()))

    def verify(
        self,
        catalog: Catalog | None = None,
        logic: LogicCheck | None = None,
        samples: SampleCheck | None = None,
        against: Against | AgainstOf | None = None,
        state: bool = False,
        texts: Mapping[Path, str] | None = None,
        planned: bool = True,
        environment: Mapping[str, str] = os.environ,
    ) -> Verification:
        """Verify the application.

        Arguments:
            catalog: the streamlets; default: the streamlets in the blueprint's directory.
            logic: builds the streamlets' logic; None not to build it.
            samples: compares schemas with samples; None not to read any data.
            against: the older descriptor to compare with; None not to compare.
            state: whether to determine the queries' state, too.
            texts: texts to verify instead of the content of files, by their resolved paths.
            planned: whether to make the plan, too; False when only the findings are needed.
            environment: the variables that settings use.
        """
        from blueprint.verification.verify import verify
        from streamlets.project.catalog import ProjectCatalog

        return verify(
            self.source,
            catalog=catalog if catalog is not None else ProjectCatalog(),
            conf_files=self.conf,
            arguments=(*self.settings, *self.options),
            environment=environment,
            working_directory=Path.cwd(),
            logic=logic,
            samples=samples,
            against=against,
            state=state,
            texts=texts,
            planned=planned,
            state_root=self.state_root,
        )


def application_arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `[PATH] [KEY=VALUE]...` and `--conf`, from which `application` creates an `Application`."""
    command = click.option(
        "--conf", multiple=True, metavar="FILE", help="Read settings from FILE; may be repeated, later files win."
    )(command)
    return click.argument("arguments", nargs=-1, metavar="[PATH] [KEY=VALUE]...")(command)


def is_setting(argument: str) -> bool:
    """Return whether an argument is `KEY=VALUE`, and not the path of a file with such a name."""
    return _SETTING.match(argument) is not None and not Path(argument).exists()


def application(arguments: Sequence[str], conf: Sequence[str]) -> Application:
    """Return the application that arguments name.

    Arguments:
        arguments: a blueprint or its directory (default: the working directory), and settings.
        conf: files of settings.

    Raises:
        click.UsageError: there is more than one path, or what looks like a setting has no `=`.
    """
    settings = tuple(filter(is_setting, arguments))
    paths = [argument for argument in arguments if argument not in settings]
    if len(paths) > 1:
        raise click.UsageError(f"expected one path, found `{paths[0]}` and `{paths[1]}`; write settings as `key=value`")
    if paths and paths[0].startswith("flow.") and not Path(paths[0]).exists():
        raise click.UsageError(f"there is no file `{paths[0]}`; write settings as `key=value`")
    return Application(blueprint_at(Path(paths[0]) if paths else Path()), tuple(conf), settings)


def overriding(master: str | None, isolation: str | None = None) -> tuple[str, ...]:
    """Return the options `--master` and `--isolation` as the settings that they override."""
    settings = {"flow.cluster.master": master, "flow.isolation": isolation}
    return tuple(f"{key}={json.dumps(value)}" for key, value in settings.items() if value is not None)


SUFFIXES = (".conf", ".yaml", ".yml", ".json")
"""The suffixes of blueprint files."""


def existing(path: Path) -> Path:
    """Return the path.

    Raises:
        click.UsageError: it does not exist.
    """
    if not path.exists():
        raise click.UsageError(f"there is no file or directory `{path}`")
    return path


def existing_blueprint(path: Path) -> Path:
    """Return the path of a blueprint, or of a directory.

    Raises:
        click.UsageError: it does not exist, or is another file.
    """
    if existing(path).is_file() and not Application(path, (), ()).is_blueprint:
        raise click.UsageError(f"`{path}` is not a blueprint: it has no section `blueprint`")
    return path


def blueprint_at(path: Path) -> Path:
    """Return the blueprint of a path: the file itself, or the one in the directory."""
    if not path.is_dir():
        return path
    from blueprint.model.blueprint_files import BLUEPRINT_NAMES

    files = [path / name for name in BLUEPRINT_NAMES if (path / name).exists()]
    return files[0] if files else path / BLUEPRINT_NAMES[0]
