"""`flow streamlets`: the streamlet classes of a project, with ports, schemas and parameters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.application import SUFFIXES, blueprint_at, existing
from cli.groups import imports_modules
from cli.options import format_option

if TYPE_CHECKING:
    from blueprint.catalog import LoadFailure, PortDescriptor, StreamletDescriptor
    from blueprint.diagnostics import Diagnostic


@imports_modules()
@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=Path())
@click.option(
    "--module", "modules", multiple=True, metavar="NAME",
    help="List only the classes of module NAME, as Python imports it from PATH; may be repeated. "
    "`streamlets` has the classes of the framework.",
)  # fmt: skip
@format_option()
def streamlets(path: Path, modules: tuple[str, ...], form: str) -> None:
    """List the streamlet classes of a project, without any configuration.

    PATH is the project's blueprint or its directory (default: the working directory). Without a blueprint, name the
    modules with --module. The modules that define streamlets are imported: their code runs.

    The exit code is 1 when a class cannot be described, and 2 when PATH is not a project, or has no such module.
    """
    import os

    from blueprint.catalog import LoadFailure, StreamletRequest
    from streamlets.project.catalog import ProjectCatalog
    from streamlets.project.loading import FRAMEWORK, framework_classes
    from streamlets.project.modules import project_at
    from streamlets.project.scanning import streamlet_classes_of

    directory = os.fspath(_project_directory(path, named=bool(modules)).absolute())
    catalog = ProjectCatalog()
    if modules:
        project = project_at(directory)
        for module in modules:
            if module != FRAMEWORK and project.find(module) is None:
                raise click.UsageError(f"there is no module `{module}` in `{directory}` or its `src`")
        names = streamlet_classes_of(project, [module for module in modules if module != FRAMEWORK])
        if FRAMEWORK in modules:
            names = (*framework_classes(), *names)
    else:
        names = catalog.classes(directory)
    descriptions = {
        name: catalog.describe(StreamletRequest(ref=name, class_name=name, directory=directory)) for name in names
    }
    if form == "json":
        import json

        click.echo(json.dumps([_data(*item) for item in descriptions.items()], indent=2, ensure_ascii=False))
    elif not descriptions:
        click.echo(
            f"no streamlets in {', '.join(modules) or directory} (modules are searched in {directory} and its `src`)"
        )
    else:
        click.echo("\n\n".join("\n".join(_text(*item)) for item in descriptions.items()))
    raise SystemExit(1 if any(isinstance(description, LoadFailure) for description in descriptions.values()) else 0)


def _project_directory(path: Path, *, named: bool) -> Path:
    """Return the directory of a project.

    Arguments:
        path: its blueprint or the directory.
        named: whether modules are named, so that no blueprint is needed.

    Raises:
        click.UsageError: there is no blueprint; other directories may have many modules, which are not searched.
    """
    blueprint = blueprint_at(existing(path))
    if not named and not (blueprint.is_file() and blueprint.suffix in SUFFIXES):
        what = f"`{path}` is not a blueprint" if path.is_file() else f"there is no blueprint in `{path.absolute()}`"
        raise click.UsageError(f"{what}: name a blueprint, its directory, or modules (--module NAME)")
    return blueprint.parent


def _text(name: str, description: StreamletDescriptor | LoadFailure) -> Iterator[str]:
    from blueprint.catalog import LoadFailure
    from blueprint.settings.secrets import shown_default

    if isinstance(description, LoadFailure):
        yield f"{name}  cannot be described: {description.message}"
        yield from (f"    {frame.span.file}:{frame.span.line} in {frame.function}" for frame in description.frames)
        return
    yield f"{name}  ({_role(description)})"
    if description.description:
        yield f"    {description.description}"
    for kind, ports in (("inlet", description.inlets), ("outlet", description.outlets)):
        for port in ports:
            yield f"    {kind:9} {port.name}: {_schema(port)}"
            yield from textwrap.wrap(_columns(port), 100, initial_indent=" " * 14, subsequent_indent=" " * 14)
            yield from (f"              {problem.headline}" for problem in _problems(port))
    for parameter in description.parameters:
        default = "(optional)" * parameter.optional
        if parameter.default is not None:
            default = "= " + (shown_default(parameter.key, parameter.default) or '""')
        yield f"    parameter {parameter.key}: {parameter.type} {default or '(required)'}  {parameter.description}"
    for mount in description.volume_mounts:
        yield f"    mount     {mount.name}: {mount.path} ({mount.access_mode})"


def _role(description: StreamletDescriptor) -> str:
    if description.inlets and description.outlets:
        return "processor"
    return "ingress" if description.outlets else "egress" if description.inlets else "no ports"


def _problems(port: PortDescriptor) -> list[Diagnostic]:
    """Return the problems of a port's schema; that it has none is not one, without any configuration."""
    return [problem for problem in port.problems if problem.code != "schema-missing"]


def _schema(port: PortDescriptor) -> str:
    """Return the name of a port's record."""
    if port.contract is None:
        return "no schema" if _problems(port) else "schema set by the configuration"
    return port.contract.record.name


def _columns(port: PortDescriptor) -> str:
    """Return a port's fields as Spark DDL; empty when there is no valid schema."""
    from blueprint.avro.spark_types import spark_ddl

    return spark_ddl(port.contract) if port.contract is not None and not port.problems else ""


def _data(name: str, description: StreamletDescriptor | LoadFailure) -> dict[str, Any]:
    import json

    from blueprint.catalog import LoadFailure
    from blueprint.settings.secrets import shown_default

    if isinstance(description, LoadFailure):
        return {"class": name, "failure": {"kind": description.kind.value, "message": description.message}}
    return {
        "class": name,
        "description": description.description,
        "labels": list(description.labels),
        "role": _role(description),
        "declared": {"file": description.declared.file, "line": description.declared.line},
        **{
            kind: [
                {
                    "name": port.name,
                    "schema": json.loads(port.contract.json) if port.contract else None,
                    "fingerprint": port.contract.fingerprint if port.contract else None,
                    "problems": [problem.headline for problem in _problems(port)],
                }
                for port in ports
            ]
            for kind, ports in (("inlets", description.inlets), ("outlets", description.outlets))
        },
        "parameters": [
            {
                "key": parameter.key,
                "type": parameter.type.value,
                "default": None if parameter.default is None else shown_default(parameter.key, parameter.default),
                "optional": parameter.optional,
                "description": parameter.description,
            }
            for parameter in description.parameters
        ],
        "volume_mounts": [
            {"name": mount.name, "path": mount.path, "access_mode": mount.access_mode}
            for mount in description.volume_mounts
        ],
    }
