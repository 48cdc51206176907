"""`flow streamlets`: the streamlet classes of a project, with ports, schemas and parameters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.application import blueprint_at, existing
from cli.formats import format_option

if TYPE_CHECKING:
    from blueprint.catalog import LoadFailure, PortDescriptor, StreamletDescriptor


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=Path())
@format_option("text")
def streamlets(path: Path, form: str) -> None:
    """List the streamlet classes found in a project, as they are without any configuration.

    PATH is the project's folder or its blueprint (left out: this folder). The exit code is 1 when a class cannot be
    described, and 2 when there is no such folder.
    """
    import os

    from blueprint.catalog import LoadFailure, StreamletRequest
    from streamlets.describe import ProjectCatalog

    folder = blueprint_at(existing(path)).parent
    catalog = ProjectCatalog()
    found = {
        name: catalog.describe(StreamletRequest(ref=name, class_name=name, folder=os.fspath(folder.absolute())))
        for name in catalog.classes(os.fspath(folder.absolute()))
    }
    if form == "json":
        import json

        click.echo(json.dumps([_data(name, each) for name, each in found.items()], indent=2, ensure_ascii=False))
    elif not found:
        click.echo(f"no streamlets in {folder} (modules are looked for there and in its `src`)")
    else:
        click.echo("\n\n".join("\n".join(_text(name, each)) for name, each in found.items()))
    raise SystemExit(1 if any(isinstance(each, LoadFailure) for each in found.values()) else 0)


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
