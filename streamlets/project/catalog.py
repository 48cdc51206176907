"""`ProjectCatalog`: descriptors of streamlets and channels, for everything in `blueprint`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import load_contract
from blueprint.avro.sources.places import value_at
from blueprint.avro.spark_problems import spark_problems
from blueprint.catalog import (
    ChannelTraits,
    Connector,
    ListeningPort,
    LoadFailure,
    LoadFailureKind,
    ParameterDescriptor,
    ParameterProblem,
    ParameterType,
    PortDescriptor,
    PortSetting,
    ReadPath,
    SavedInlet,
    StreamletDescriptor,
    StreamletRequest,
    VolumeMountDescriptor,
    WrittenDirectory,
)
from blueprint.diagnostics import Diagnostic, Span
from blueprint.diagnostics.codes import finding
from blueprint.hocon.values import ObjectValue, Value, plain
from blueprint.known_keys import KnownKey
from blueprint.settings.parameters import ParameterError, parameter_default, parameter_values, path_start
from streamlets.api.declaration import declarations
from streamlets.api.mounts import VolumeMount
from streamlets.api.parameters import Parameter
from streamlets.api.ports import AvroInlet, AvroOutlet
from streamlets.api.shape import StreamletShape
from streamlets.api.streamlet import Streamlet
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.plugins import Traits
from streamlets.project.loading import class_span, load_streamlet, raised_failure
from streamlets.project.modules import Project, project_at
from streamlets.project.paths import path_problems
from streamlets.project.scanning import streamlet_classes, unused_classes


class ProjectCatalog:
    """The `Catalog` of a project's streamlets, and of the available channels.

    A class is described once, even if several streamlets are instances of it.

    Arguments:
        writes: whether to check paths that streamlets write on this machine; tests write elsewhere.
    """

    def __init__(self, *, writes: bool = True) -> None:
        self._writes = writes
        self._described: dict[object, tuple[StreamletDescriptor | LoadFailure, Streamlet | None]] = {}
        self._with_own_ports: set[tuple[str, str]] = set()  # classes whose ports do not depend on the blueprint
        self._classes: dict[Project, tuple[str, ...]] = {}
        self._projects: dict[str, Project] = {}

    def describe(self, request: StreamletRequest) -> StreamletDescriptor | LoadFailure:
        """Describe a streamlet as configured; mistakes of users are returned as a failure, not raised."""
        described, streamlet = self._described_class(request)
        if isinstance(described, LoadFailure) or streamlet is None:
            return described
        project = self._project(request.directory)
        problems = parameter_problems(streamlet, described, request, project, writes=self._writes)
        if isinstance(problems, LoadFailure):
            return problems
        if problems:
            return replace(described, parameter_problems=problems)
        findings = text_findings(streamlet, described, request, project)
        if isinstance(findings, LoadFailure):
            return findings
        if findings:
            return replace(described, problems=findings)
        directories = written_directories(streamlet, described, request, project)
        if isinstance(directories, LoadFailure):
            return directories
        outside = outside_topics(streamlet, described, request, project)
        if isinstance(outside, LoadFailure):
            return outside
        connectors = required_connectors(streamlet, described, request, project)
        if isinstance(connectors, LoadFailure):
            return connectors
        listening = listening_ports(streamlet, described, request, project)
        if isinstance(listening, LoadFailure):
            return listening
        reads, saves = outside
        if not directories and not reads and not saves and not connectors and not listening:
            return described
        return replace(
            described, directories=directories, reads=reads, saves=saves, connectors=connectors, listening=listening
        )

    def known_keys(self, request: StreamletRequest, columns: Mapping[str, Mapping[str, str]]) -> tuple[KnownKey, ...]:
        """Return the keys and values that the parameters of a streamlet may have, beyond their declarations.

        Arguments:
            request: its class and settings, which may have mistakes.
            columns: as for `Streamlet.known_keys`.
        """
        described, streamlet = self._described_class(request)
        if isinstance(described, LoadFailure) or streamlet is None:
            return ()
        parameters = {key: plain(value) for key, value in _with_defaults(described, request).items()}
        try:
            return tuple(streamlet.known_keys(parameters, columns))
        except Exception:  # noqa: BLE001 - it is the author's code, and an editor asks while values are incomplete
            return ()

    def classes(self, directory: str) -> tuple[str, ...]:
        """Return the sorted class paths of all streamlets in a project's directory, without importing them."""
        project = self._project(directory)
        if project not in self._classes:
            self._classes[project] = streamlet_classes(project)
        return self._classes[project]

    def unused(self, directory: str, used: Collection[str]) -> tuple[tuple[str, Span], ...]:
        """Return the class paths and spans of a project's streamlets that are not in `used`, without importing them."""
        return unused_classes(self._project(directory), used)

    def channels(self) -> Mapping[str, ChannelTraits]:
        """Return the available channels by name."""
        return Traits(CHANNEL_TYPES)

    def _described_class(self, request: StreamletRequest) -> tuple[StreamletDescriptor | LoadFailure, Streamlet | None]:
        """Return the description of a class with the ports of a request, and its instance."""
        key = self._key(request)
        if key not in self._described:
            answer = self._describe(request)
            if answer[1] is not None and not takes_ports(answer[1]):
                self._with_own_ports.add((request.directory, request.class_name))
            key = self._key(request)
            self._described[key] = answer
        return self._described[key]

    def _key(self, request: StreamletRequest) -> object:
        """Return what the description of a class depends on."""
        places = (*request.named_inlets.items(), None, *request.named_outlets.items())
        named = () if (request.directory, request.class_name) in self._with_own_ports else places
        return request.directory, request.class_name, _frozen(request.inlets), _frozen(request.outlets), named

    def _project(self, directory: str) -> Project:
        """Return the project in a directory; it is looked up in the file system once."""
        if directory not in self._projects:
            self._projects[directory] = project_at(directory)
        return self._projects[directory]

    def _describe(self, request: StreamletRequest) -> tuple[StreamletDescriptor | LoadFailure, Streamlet | None]:
        project = self._project(request.directory)
        loaded = load_streamlet(request.class_name, project, lambda: self.classes(request.directory))
        if isinstance(loaded, LoadFailure):
            return loaded, None
        loaded.declare_ports(request.named_inlets, request.named_outlets)
        return descriptor(loaded, request, project), loaded


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
    inlets = [_inlet(inlet, request, project) for inlet in shape.inlets]
    outlets = [_outlet(outlet, request, project) for outlet in shape.outlets]
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


def parameter_problems(
    streamlet: Streamlet,
    described: StreamletDescriptor,
    request: StreamletRequest,
    project: Project,
    *,
    writes: bool = True,
) -> tuple[ParameterProblem, ...] | LoadFailure:
    """Return the problems of paths on this machine, or else those that the streamlet's `check_parameters` returns.

    If a value is invalid by itself, which verification reports, there are no further problems.

    Arguments:
        streamlet: the instance.
        described: its descriptor.
        request: its settings.
        project: its project.
        writes: whether to check paths that the streamlet writes.
    """
    values = _values(described, request)
    if values is None:
        return ()
    paths = [
        parameter
        for parameter in described.parameters
        if parameter.path is not None and (writes or not parameter.path.writable)
    ]
    return tuple(path_problems(paths, values)) or check_parameters(streamlet, values, project)


def text_findings(
    streamlet: Streamlet, described: StreamletDescriptor, request: StreamletRequest, project: Project
) -> tuple[Diagnostic, ...] | LoadFailure:
    """Return the findings about texts in config parameters, if all values are valid by themselves."""
    own = type(streamlet)
    checks = (own.check_texts, own.check_texts_from)
    if checks == (Streamlet.check_texts, Streamlet.check_texts_from) or _values(described, request) is None:
        return ()
    try:
        return tuple(streamlet.check_texts_from(Path(request.directory), _with_defaults(described, request)))
    except Exception as error:  # noqa: BLE001 - it is the author's code
        return raised_failure(LoadFailureKind.CHECK_RAISES, error, project, class_span(type(streamlet)))


def _with_defaults(described: StreamletDescriptor, request: StreamletRequest) -> dict[str, Value]:
    """Return the values of all parameters with their places; that of a default is its declaration."""
    defaults = {
        parameter.key: value_at(
            parameter_default(parameter) if parameter.type is ParameterType.OBJECT else parameter.default,
            parameter.declared,
        )
        for parameter in described.parameters
        if parameter.default is not None
    }
    return defaults | dict(request.parameters)


def written_directories(
    streamlet: Streamlet, described: StreamletDescriptor, request: StreamletRequest, project: Project
) -> tuple[WrittenDirectory, ...] | LoadFailure:
    """Return the directories outside of topics that the streamlet writes."""
    own = type(streamlet)
    if (
        own.written_directories is Streamlet.written_directories
        and own.directories_in_texts is Streamlet.directories_in_texts
    ):
        return ()
    values = _values(described, request)
    if values is None:
        return ()
    try:
        directories = [
            WrittenDirectory(
                tuple(path), str(_base_directory(request, tuple(path), project) / Path(directory).expanduser())
            )
            for path, directory in streamlet.written_directories(values).items()
        ]
        start = project.directory.absolute()
        directories += [
            replace(written, directory=str(start / Path(written.directory).expanduser()))
            for written in streamlet.directories_in_texts(_with_defaults(described, request))
        ]
    except Exception as error:  # noqa: BLE001 - it is the author's code
        return raised_failure(LoadFailureKind.CHECK_RAISES, error, project, class_span(type(streamlet)))
    return tuple(directories)


def outside_topics(
    streamlet: Streamlet, described: StreamletDescriptor, request: StreamletRequest, project: Project
) -> tuple[tuple[ReadPath, ...], tuple[SavedInlet, ...]] | LoadFailure:
    """Return the paths whose files the streamlet reads as streams, and the inlets that it writes to sinks."""
    values = _values(described, request)
    if values is None:
        return (), ()
    start = project.directory.absolute()
    try:
        reads = [
            replace(read, path=str(start / Path(read.path).expanduser()))
            for read in streamlet.paths_read(_with_defaults(described, request))
        ]
        return tuple(reads), tuple(streamlet.saved_inlets(values))
    except Exception as error:  # noqa: BLE001 - it is the author's code
        return raised_failure(LoadFailureKind.CHECK_RAISES, error, project, class_span(type(streamlet)))


def required_connectors(
    streamlet: Streamlet, described: StreamletDescriptor, request: StreamletRequest, project: Project
) -> tuple[Connector, ...] | LoadFailure:
    """Return what Spark needs for what the streamlet reads and writes outside of topics."""
    values = _values(described, request)
    try:
        return tuple(streamlet.connectors(values)) if values is not None else ()
    except Exception as error:  # noqa: BLE001 - it is the author's code
        return raised_failure(LoadFailureKind.CHECK_RAISES, error, project, class_span(type(streamlet)))


def listening_ports(
    streamlet: Streamlet, described: StreamletDescriptor, request: StreamletRequest, project: Project
) -> tuple[ListeningPort, ...] | LoadFailure:
    """Return the TCP ports that the streamlet listens on."""
    if type(streamlet).listening_ports is Streamlet.listening_ports:
        return ()
    values = _values(described, request)
    try:
        ports = dict(streamlet.listening_ports(values)) if values is not None else {}
    except Exception as error:  # noqa: BLE001 - it is the author's code
        return raised_failure(LoadFailureKind.CHECK_RAISES, error, project, class_span(type(streamlet)))
    return tuple(ListeningPort(tuple(path), port) for path, port in ports.items())


def _base_directory(request: StreamletRequest, path: tuple[str, ...], project: Project) -> Path:
    """Return the directory of the file that sets the value at a path of keys, or else the project's directory."""
    value: Value | None = request.parameters.get(path[0])
    for name in path[1:]:
        value = value.fields.get(name) if isinstance(value, ObjectValue) else None
    return path_start(value, project.directory) if value is not None else project.directory.absolute()


def _values(described: StreamletDescriptor, request: StreamletRequest) -> dict[str, object] | None:
    """Return the typed values of all parameters; None if one is invalid, unknown or missing."""
    if not described.parameters:
        return None if request.parameters else {}
    required = {parameter.key for parameter in described.parameters if not parameter.optional}
    if not set(request.parameters) <= {parameter.key for parameter in described.parameters}:
        return None
    try:
        values = parameter_values(described.parameters, request.parameters, Path(request.directory))
    except ParameterError:
        return None
    return None if required - set(values) else values


def check_parameters(
    streamlet: Streamlet, values: Mapping[str, object], project: Project
) -> tuple[ParameterProblem, ...] | LoadFailure:
    """Return the problems that the streamlet's `check_parameters` returns for typed values."""
    project.enter()  # it may import a module that a value names
    try:
        problems = tuple(streamlet.check_parameters_from(project.directory.absolute(), values))
    except Exception as error:  # noqa: BLE001 - it is the author's code
        return raised_failure(LoadFailureKind.CHECK_RAISES, error, project, class_span(type(streamlet)))
    message = next((text for problem in problems if (text := _invalid_problem(problem))), None)
    if message is not None:
        return LoadFailure(LoadFailureKind.CHECK_RAISES, message, declared=class_span(type(streamlet)))
    return problems


def _invalid_problem(problem: object) -> str | None:
    """Return why an item that `check_parameters` returns is not a valid `ParameterProblem`."""
    if not isinstance(problem, ParameterProblem):
        return f"`check_parameters` must return items of type `ParameterProblem`, found `{type(problem).__name__}`"
    path: object = problem.path
    if not (isinstance(path, tuple) and path and all(isinstance(key, str) for key in path)):
        return f"the path of a `ParameterProblem` must be a tuple of keys, found {path!r:.60}"
    return None


def _shape_problem(streamlet: Streamlet, shape: object) -> str | None:
    """Return how a shape differs from the ports that the class declares."""
    owner = type(streamlet).__name__
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


def _inlet(inlet: AvroInlet, request: StreamletRequest, project: Project) -> PortDescriptor:
    contract, problems = _contract(inlet, request.inlets.get(inlet.name), project)
    return PortDescriptor(
        name=inlet.name,
        attribute=None if inlet.from_blueprint else inlet.attribute,
        contract=contract,
        declared=_declared(inlet, request.named_inlets),
        on_invalid=inlet.on_invalid,
        problems=problems,
    )


def _outlet(outlet: AvroOutlet, request: StreamletRequest, project: Project) -> PortDescriptor:
    contract, problems = _contract(outlet, request.outlets.get(outlet.name), project)
    return PortDescriptor(
        name=outlet.name,
        attribute=None if outlet.from_blueprint else outlet.attribute,
        contract=contract,
        declared=_declared(outlet, request.named_outlets),
        partition_by=outlet.partition_by,
        on_invalid=outlet.on_invalid,
        extra=outlet.extra,
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


def _frozen(settings: Mapping[str, PortSetting]) -> frozenset[tuple[str, PortSetting]]:
    return frozenset(settings.items())
