"""From a class path and its settings to a descriptor: what the language may know of streamlets (`ProjectCatalog`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import load_contract
from blueprint.avro.spark_problems import spark_problems
from blueprint.catalog import (
    ChannelTraits,
    LoadFailure,
    LoadFailureKind,
    ParameterDescriptor,
    ParameterProblem,
    PortDescriptor,
    PortSetting,
    StreamletDescriptor,
    StreamletRequest,
    VolumeMountDescriptor,
    WrittenFolder,
)
from blueprint.diagnostics import Diagnostic, Span
from blueprint.diagnostics.codes import finding
from blueprint.hocon.values import ObjectValue, Value
from blueprint.settings.parameters import ParameterError, parameter_values, path_start
from streamlets.api.attributes import attributes
from streamlets.api.mounts import VolumeMount
from streamlets.api.parameters import Parameter
from streamlets.api.ports import AvroInlet, AvroOutlet
from streamlets.api.shape import StreamletShape
from streamlets.api.streamlet import SparkStreamlet
from streamlets.project.loading import found_at, load_streamlet, raised
from streamlets.project.modules import Project, project_at
from streamlets.project.paths import path_problems
from streamlets.project.scanning import streamlet_classes, unused_classes


class ProjectCatalog:
    """Answers the language's questions about the streamlets of a project, and about the channels there are.

    A class is described once, however many streamlets are of it.

    Arguments:
        writes: whether paths that streamlets write are held to this machine: not in tests, which write elsewhere.
    """

    def __init__(self, *, writes: bool = True) -> None:
        self._writes = writes
        self._described: dict[object, tuple[StreamletDescriptor | LoadFailure, SparkStreamlet | None]] = {}
        self._classes: dict[Project, tuple[str, ...]] = {}
        self._projects: dict[str, Project] = {}

    def describe(self, request: StreamletRequest) -> StreamletDescriptor | LoadFailure:
        """Describe the streamlet as configured; never raises for what a user did."""
        key = (request.folder, request.class_name, _frozen(request.inlets), _frozen(request.outlets))
        if key not in self._described:
            self._described[key] = self._describe(request)
        described, streamlet = self._described[key]
        if isinstance(described, LoadFailure) or streamlet is None:
            return described
        project = self._project(request.folder)
        problems = parameter_problems(streamlet, described, request, project, writes=self._writes)
        if isinstance(problems, LoadFailure):
            return problems
        if problems:
            return replace(described, parameter_problems=problems)
        folders = written_folders(streamlet, described, request, project)
        if isinstance(folders, LoadFailure):
            return folders
        return replace(described, folders=folders) if folders else described

    def classes(self, folder: str) -> tuple[str, ...]:
        """The class paths of all streamlets found in a project's folder, sorted; nothing is imported for it."""
        project = self._project(folder)
        if project not in self._classes:
            self._classes[project] = streamlet_classes(project)
        return self._classes[project]

    def unused(self, folder: str, used: Collection[str]) -> tuple[tuple[str, Span], ...]:
        """The class paths of streamlets of a project that are not used, and where they are; nothing is imported."""
        return unused_classes(self._project(folder), used)

    def channels(self) -> Mapping[str, ChannelTraits]:
        """The channels there are, by name."""
        return {"delta": ChannelTraits(name="delta", topic_keys={}, real_time=False, reserved=(".", "_"))}

    def _project(self, folder: str) -> Project:
        """The project in a folder; asking the file system once is enough."""
        if folder not in self._projects:
            self._projects[folder] = project_at(folder)
        return self._projects[folder]

    def _describe(self, request: StreamletRequest) -> tuple[StreamletDescriptor | LoadFailure, SparkStreamlet | None]:
        project = self._project(request.folder)
        loaded = load_streamlet(request.class_name, project, lambda: self.classes(request.folder))
        if isinstance(loaded, LoadFailure):
            return loaded, None
        return descriptor(loaded, request, project), loaded


def descriptor(
    streamlet: SparkStreamlet, request: StreamletRequest, project: Project
) -> StreamletDescriptor | LoadFailure:
    """The descriptor of an instance as configured.

    Arguments:
        request: its settings; its class name is what the descriptor carries.
    """
    own = type(streamlet)
    try:
        shape = streamlet.shape
        description, labels = streamlet.description, tuple(streamlet.labels)
    except Exception as error:  # noqa: BLE001 - it is the author's code
        return raised(LoadFailureKind.SHAPE_RAISES, error, project, found_at(own))
    differs = _differs(streamlet, shape)
    if differs is not None:
        return LoadFailure(LoadFailureKind.SHAPE_DIFFERS, differs, declared=found_at(own))
    inlets = [_inlet(inlet, request.inlets.get(inlet.name), project) for inlet in shape.inlets]
    outlets = [_outlet(outlet, request.outlets.get(outlet.name), project) for outlet in shape.outlets]
    parameters = [_parameter(parameter) for parameter in attributes(streamlet, Parameter)]
    mounts = [_mount(mount) for mount in attributes(streamlet, VolumeMount)]
    return StreamletDescriptor(
        class_name=request.class_name,
        description=description,
        labels=labels,
        inlets=tuple(sorted(inlets, key=lambda port: port.name)),
        outlets=tuple(sorted(outlets, key=lambda port: port.name)),
        parameters=tuple(sorted(parameters, key=lambda parameter: parameter.key)),
        volume_mounts=tuple(sorted(mounts, key=lambda mount: mount.name)),
        declared=found_at(own),
    )


def parameter_problems(
    streamlet: SparkStreamlet,
    described: StreamletDescriptor,
    request: StreamletRequest,
    project: Project,
    *,
    writes: bool = True,
) -> tuple[ParameterProblem, ...] | LoadFailure:
    """What is wrong with paths on this machine, else what the streamlet says of the values of its parameters; nothing
    while one of them is wrong for itself."""
    values = _values(described, request)
    if values is None:
        return ()
    checked = [one for one in described.parameters if one.path is not None and (writes or not one.path.writable)]
    return tuple(path_problems(checked, values)) or problems_of(streamlet, values, project)


def written_folders(
    streamlet: SparkStreamlet, described: StreamletDescriptor, request: StreamletRequest, project: Project
) -> tuple[WrittenFolder, ...] | LoadFailure:
    """The folders that the streamlet says it writes."""
    if type(streamlet).written_folders is SparkStreamlet.written_folders:
        return ()
    values = _values(described, request)
    try:
        found = dict(streamlet.written_folders(values)) if values is not None else {}
        folders = [
            WrittenFolder(tuple(path), str(_start(request, tuple(path), project) / Path(folder).expanduser()))
            for path, folder in found.items()
        ]
    except Exception as error:  # noqa: BLE001 - it is the author's code
        return raised(LoadFailureKind.CHECK_RAISES, error, project, found_at(type(streamlet)))
    return tuple(folders)


def _start(request: StreamletRequest, path: tuple[str, ...], project: Project) -> Path:
    """Where a relative directory begins that the keys lead to: beside the file that sets it, else in the project's."""
    value: Value | None = request.parameters.get(path[0])
    for name in path[1:]:
        value = value.fields.get(name) if isinstance(value, ObjectValue) else None
    return path_start(value, project.folder) if value is not None else project.folder.absolute()


def _values(described: StreamletDescriptor, request: StreamletRequest) -> dict[str, object] | None:
    """The values of all parameters, typed; None while one is wrong, unknown or missing."""
    required = {one.key for one in described.parameters if not one.optional}
    if not set(request.parameters) <= {parameter.key for parameter in described.parameters}:
        return None
    try:
        values = parameter_values(described.parameters, request.parameters, Path(request.folder))
    except ParameterError:
        return None
    return None if required - set(values) else values


def problems_of(
    streamlet: SparkStreamlet, values: Mapping[str, object], project: Project
) -> tuple[ParameterProblem, ...] | LoadFailure:
    """What `check_parameters` gives for typed values."""
    try:
        found = tuple(streamlet.check_parameters(values))
    except Exception as error:  # noqa: BLE001 - it is the author's code
        return raised(LoadFailureKind.CHECK_RAISES, error, project, found_at(type(streamlet)))
    message = next((wrong for one in found if (wrong := _no_problem(one))), None)
    if message is not None:
        return LoadFailure(LoadFailureKind.CHECK_RAISES, message, declared=found_at(type(streamlet)))
    return found


def _no_problem(given: object) -> str | None:
    """Why what `check_parameters` gives is no problem that can be told."""
    if not isinstance(given, ParameterProblem):
        return f"`check_parameters` gives a `{type(given).__name__}`, which is no `ParameterProblem`"
    path: object = given.path
    if not (isinstance(path, tuple) and path and all(isinstance(key, str) for key in path)):
        return f"`check_parameters` gives a problem of {path!r:.60}, where a tuple of keys should be"
    return None


def _differs(streamlet: SparkStreamlet, shape: object) -> str | None:
    owner = type(streamlet).__name__
    if not isinstance(shape, StreamletShape):
        return f"the shape of `{owner}` is a `{type(shape).__name__}`, not a `StreamletShape`"
    ports = (*attributes(streamlet, AvroInlet), *attributes(streamlet, AvroOutlet))
    unknown = [port for port in shape.ports if port not in ports]
    if unknown:
        return f"the shape of `{owner}` holds {unknown[0]!r}, which is no attribute of the class"
    left_out = [port for port in ports if port not in shape.ports]
    if left_out:
        return f"the shape of `{owner}` leaves out `{left_out[0].attribute}`, which the class declares"
    if len(set(shape.ports)) < len(shape.ports):
        return f"the shape of `{owner}` holds a port twice"
    return None


def _inlet(inlet: AvroInlet, setting: PortSetting | None, project: Project) -> PortDescriptor:
    contract, problems = _contract(inlet, setting, project)
    return PortDescriptor(
        name=inlet.name,
        attribute=inlet.attribute,
        contract=contract,
        declared=inlet.declared.span,
        problems=problems,
    )


def _outlet(outlet: AvroOutlet, setting: PortSetting | None, project: Project) -> PortDescriptor:
    contract, problems = _contract(outlet, setting, project)
    return PortDescriptor(
        name=outlet.name,
        attribute=outlet.attribute,
        contract=contract,
        declared=outlet.declared.span,
        partition_by=outlet.partition_by,
        on_invalid=outlet.on_invalid,
        extra=outlet.extra,
        problems=problems,
    )


def _contract(
    port: AvroInlet | AvroOutlet, setting: PortSetting | None, project: Project
) -> tuple[Contract | None, tuple[Diagnostic, ...]]:
    span = port.declared.span
    if port.schema is not None and setting is not None:
        headline = f"the schema of the {port.kind} `{port.name}` is set, but its class gives it one already"
        return None, (finding("schema-given-twice", headline, setting.span, help=("take the setting out",)),)
    if setting is not None:
        folder = Path(setting.span.file).parent if _is_file(setting.span) else project.folder
        loaded = load_contract(setting.schema, base_folder=folder, declared=setting.span)
    elif port.schema is not None:
        source = dict(port.schema) if isinstance(port.schema, Mapping) else port.schema
        loaded = load_contract(source, base_folder=Path(port.declared.file).parent, declared=span)
    else:
        headline = f"the {port.kind} `{port.name}` has no schema: its class leaves it to the configuration"
        remedy = f"give one beside `class`, such as `{port.kind}s.{port.name} = schemas/Record.avsc`"
        return None, (finding("schema-missing", headline, span, help=(remedy,)),)
    carried = spark_problems(loaded.contract) if loaded.contract is not None else ()
    return loaded.contract, (*loaded.problems, *carried)


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


def _frozen(settings: Mapping[str, PortSetting]) -> frozenset[tuple[str, PortSetting]]:
    return frozenset(settings.items())
