"""The descriptor of a class of streamlets: its ports, schemas, parameters and mounts, with its port settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import load_contract
from blueprint.avro.spark_problems import spark_problems
from blueprint.catalog import (
    Kind,
    LoadFailure,
    LoadFailureKind,
    ParameterDescriptor,
    PortDescriptor,
    PortSetting,
    StreamletDescriptor,
    StreamletRequest,
    VolumeMountDescriptor,
)
from blueprint.diagnostics import Diagnostic, Span
from blueprint.diagnostics.codes import finding
from streamlets.api.declaration import declarations
from streamlets.api.mounts import VolumeMount
from streamlets.api.parameters import Parameter
from streamlets.api.ports import AvroInlet, AvroOutlet
from streamlets.api.shape import StreamletShape
from streamlets.api.streamlet import Streamlet
from streamlets.project.loading import class_span, raised_failure
from streamlets.project.modules import Project


def takes_ports(streamlet: Streamlet) -> bool:
    """Return whether the ports of a streamlet depend on the blueprint."""
    return type(streamlet).declare_ports is not Streamlet.declare_ports


def descriptor(streamlet: Streamlet, request: StreamletRequest, project: Project) -> StreamletDescriptor | LoadFailure:
    """Return the descriptor of an instance as configured.

    Arguments:
        streamlet: the instance.
        request: its settings, and the class name for the descriptor.
        project: its project.
    """
    span = class_span(type(streamlet))
    try:
        shape = streamlet.shape
        description, labels = streamlet.description, tuple(streamlet.labels)
    except Exception as error:  # noqa: BLE001 - it is the author's code
        return raised_failure(LoadFailureKind.SHAPE_RAISES, error, project, span)
    problem = _shape_problem(streamlet, shape)
    if problem is not None:
        return LoadFailure(LoadFailureKind.SHAPE_DIFFERS, problem, declared=span)
    inlets = [_port(port, request.inlets.get(port.name), request.named_inlets, project) for port in shape.inlets]
    outlets = [
        replace(
            _port(port, request.outlets.get(port.name), request.named_outlets, project),
            partition_by=port.partition_by,
            extra=port.extra,
        )
        for port in shape.outlets
    ]
    parameters = [_parameter(parameter) for parameter in declarations(streamlet, Parameter)]
    mounts = [_mount(mount) for mount in declarations(streamlet, VolumeMount)]
    return StreamletDescriptor(
        class_name=request.class_name,
        description=description,
        labels=labels,
        inlets=tuple(sorted(inlets, key=lambda port: port.name)),
        outlets=tuple(sorted(outlets, key=lambda port: port.name)),
        parameters=tuple(sorted(parameters, key=lambda parameter: parameter.key)),
        volume_mounts=tuple(sorted(mounts, key=lambda mount: mount.name)),
        declared=span,
        kind=streamlet.kind,
    )


def _shape_problem(streamlet: Streamlet, shape: object) -> str | None:
    """Return how a shape differs from the ports that the class declares, or that its kind is not one."""
    owner = type(streamlet).__name__
    if not isinstance(streamlet.kind, Kind):
        return f"the kind of `{owner}` is a `{type(streamlet.kind).__name__}`, not a `Kind`"
    if not isinstance(shape, StreamletShape):
        return f"the shape of `{owner}` is a `{type(shape).__name__}`, not a `StreamletShape`"
    ports = (*declarations(streamlet, AvroInlet), *declarations(streamlet, AvroOutlet))
    unknown = [port for port in shape.ports if port not in ports]
    if unknown:
        return f"the shape of `{owner}` has {unknown[0]!r}, which is not an attribute of the class"
    missing = [port for port in ports if port not in shape.ports]
    if missing:
        return f"the shape of `{owner}` does not have `{missing[0].attribute}`, which the class declares"
    if len(set(shape.ports)) < len(shape.ports):
        return f"the shape of `{owner}` has a duplicate port"
    return None


def _port(
    port: AvroInlet | AvroOutlet, setting: PortSetting | None, named: Mapping[str, Span], project: Project
) -> PortDescriptor:
    contract, problems = _contract(port, setting, project)
    return PortDescriptor(
        name=port.name,
        attribute=None if port.from_blueprint else port.attribute,
        contract=contract,
        declared=_declared(port, named),
        on_invalid=port.on_invalid,
        problems=problems,
    )


def _declared(port: AvroInlet | AvroOutlet, named: Mapping[str, Span]) -> Span:
    """Return the place that declares a port: in its class, or in the blueprint."""
    return named.get(port.name, port.declared.span) if port.from_blueprint else port.declared.span


def _contract(
    port: AvroInlet | AvroOutlet, setting: PortSetting | None, project: Project
) -> tuple[Contract | None, tuple[Diagnostic, ...]]:
    span = port.declared.span
    if port.schema is not None and setting is not None:
        headline = f"the {port.kind} `{port.name}` has a schema in its class and in the configuration"
        return None, (finding("schema-given-twice", headline, setting.span, help=("remove the setting",)),)
    if setting is not None:
        directory = Path(setting.span.file).parent if _is_file(setting.span) else project.directory
        loaded = load_contract(setting.schema, base_directory=directory, declared=setting.span)
    elif port.schema is not None:
        source = dict(port.schema) if isinstance(port.schema, Mapping) else port.schema
        loaded = load_contract(source, base_directory=Path(port.declared.file).parent, declared=span)
    else:
        nowhere = "" if port.from_blueprint else ", neither in its class nor in the configuration"
        headline = f"the {port.kind} `{port.name}` has no schema{nowhere}"
        help = f"set one next to `class`, such as `{port.kind}s.{port.name} = schemas/Record.avsc`"
        return None, (finding("schema-missing", headline, span, help=(help,)),)
    problems = spark_problems(loaded.contract) if loaded.contract is not None else ()
    return loaded.contract, (*loaded.problems, *problems)


def _is_file(span: Span) -> bool:
    return not span.file.startswith("<")


def _parameter(parameter: Parameter[Any]) -> ParameterDescriptor:
    return ParameterDescriptor(
        key=parameter.key,
        description=parameter.description,
        type=parameter.kind,
        default=parameter.default,
        declared=parameter.declared.span,
        pattern=parameter.pattern,
        choices=parameter.choices,
        optional=parameter.optional,
        path=parameter.path,
    )


def _mount(mount: VolumeMount) -> VolumeMountDescriptor:
    return VolumeMountDescriptor(mount.name, mount.path, mount.access_mode, mount.declared.span)
