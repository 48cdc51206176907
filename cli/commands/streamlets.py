"""`flow streamlets`: the streamlet classes of a project, with ports, schemas and parameters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.application import SUFFIXES, blueprint_at, existing
from cli.output.formats import format_option

if TYPE_CHECKING:
    from blueprint.catalog import LoadFailure, PortDescriptor, StreamletDescriptor


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=Path())
@click.option(
    "--module", "modules", multiple=True, metavar="NAME",
    help="List the classes of this module only, as Python imports it from PATH; may be repeated.",
)  # fmt: skip
@format_option("text")
def streamlets(path: Path, modules: tuple[str, ...], form: str) -> None:
    """List the streamlet classes of a project, without any configuration.

    PATH is the project's blueprint or its directory (default: the working directory). Without a blueprint, name the
    modules with --module. The modules that define streamlets are imported: their code runs.

    The exit code is 1 when a class cannot be described, and 2 when PATH is not a project, or has no such module.
    """
    import os

    from blueprint.catalog import LoadFailure, StreamletRequest
    from streamlets.project.catalog import ProjectCatalog
    from streamlets.project.modules import project_at
    from streamlets.project.scanning import streamlet_classes_of

    folder = os.fspath(_project_folder(path, named=bool(modules)).absolute())
    catalog = ProjectCatalog()
    if modules:
        project = project_at(folder)
        for module in modules:
            if project.find(module) is None:
                raise click.UsageError(f"there is no module `{module}` in `{folder}` or its `src`")
        names = streamlet_classes_of(project, modules)
    else:
        names = catalog.classes(folder)
    found = {name: catalog.describe(StreamletRequest(ref=name, class_name=name, folder=folder)) for name in names}
    if form == "json":
        import json

        click.echo(json.dumps([_data(name, each) for name, each in found.items()], indent=2, ensure_ascii=False))
    elif not found:
        click.echo(f"no streamlets in {', '.join(modules) or folder} (modules are searched in {folder} and its `src`)")
    else:
        click.echo("\n\n".join("\n".join(_text(name, each)) for name, each in found.items()))
    raise SystemExit(1 if any(isinstance(each, LoadFailure) for each in found.values()) else 0)


def _project_folder(path: Path, *, named: bool) -> Path:
    """The directory of a project.

    Arguments:
        path: its blueprint or the directory; named: whether modules are named, so that it needs no blueprint.

    Raises:
        click.UsageError: there is none; all modules below any other directory are not searched.
    """
    blueprint = blueprint_at(existing(path))
    if not named and not (blueprint.is_file() and blueprint.suffix in SUFFIXES):
        what = f"`{path}` is not a blueprint" if path.is_file() else f"there is no blueprint in `{path.absolute()}`"
        raise click.UsageError(f"{what}: name a blueprint, its directory, or modules (--module NAME)")
    return blueprint.parent


def _text(name: str, found: StreamletDescriptor | LoadFailure) -> Iterator[str]:
    from blueprint.catalog import LoadFailure

    if isinstance(found, LoadFailure):
        yield f"{name}  cannot be described: {found.message}"
        yield from (f"    {frame.span.file}:{frame.span.line} in {frame.function}" for frame in found.frames)
        return
    yield f"{name}  ({_role(found)})"
    if found.description:
        yield f"    {found.description}"
    for kind, ports in (("inlet", found.inlets), ("outlet", found.outlets)):
        for port in ports:
            yield f"    {kind:9} {port.name}: {_schema(port)}"
            yield from textwrap.wrap(_columns(port), 100, initial_indent=" " * 14, subsequent_indent=" " * 14)
            yield from (f"              {problem.headline}" for problem in port.problems)
    for parameter in found.parameters:
        default = f"= {parameter.default}" if parameter.default is not None else "(optional)" * parameter.optional
        yield f"    parameter {parameter.key}: {parameter.type} {default or '(required)'}  {parameter.description}"
    for mount in found.volume_mounts:
        yield f"    mount     {mount.name}: {mount.path} ({mount.access_mode})"


def _role(found: StreamletDescriptor) -> str:
    if found.inlets and found.outlets:
        return "processor"
    return "ingress" if found.outlets else "egress" if found.inlets else "no ports"


def _schema(port: PortDescriptor) -> str:
    """The name of a port's record."""
    if port.contract is None:
        return "no schema" if port.problems else "the configuration gives the schema"
    return port.contract.record.name


def _columns(port: PortDescriptor) -> str:
    """A port's fields in Spark's words."""
    from blueprint.avro.spark_types import spark_ddl

    return spark_ddl(port.contract) if port.contract is not None and not port.problems else ""


def _data(name: str, found: StreamletDescriptor | LoadFailure) -> dict[str, Any]:
    import json

    from blueprint.catalog import LoadFailure

    if isinstance(found, LoadFailure):
        return {"class": name, "failure": {"kind": found.kind.value, "message": found.message}}
    return {
        "class": name,
        "description": found.description,
        "labels": list(found.labels),
        "role": _role(found),
        "declared": {"file": found.declared.file, "line": found.declared.line},
        **{
            kind: [
                {
                    "name": port.name,
                    "schema": json.loads(port.contract.json) if port.contract else None,
                    "fingerprint": port.contract.fingerprint if port.contract else None,
                    "problems": [problem.headline for problem in port.problems],
                }
                for port in ports
            ]
            for kind, ports in (("inlets", found.inlets), ("outlets", found.outlets))
        },
        "parameters": [
            {
                "key": each.key,
                "type": each.type.value,
                "default": each.default,
                "optional": each.optional,
                "description": each.description,
            }
            for each in found.parameters
        ],
        "volume_mounts": [{"name": m.name, "path": m.path, "access_mode": m.access_mode} for m in found.volume_mounts],
    }
