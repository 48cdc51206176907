"""The configured parameters of a streamlet: their problems, and what it reads and writes outside of its topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from blueprint.avro.sources.places import value_at
from blueprint.catalog import (
    ExternalResources,
    LoadFailure,
    LoadFailureKind,
    ParameterProblem,
    ParameterType,
    StreamletDescriptor,
    StreamletRequest,
    WrittenDirectory,
)
from blueprint.hocon.values import ObjectValue, Value
from blueprint.settings.parameters import ParameterError, parameter_default, parameter_values, path_start
from streamlets.api.streamlet import Configuration, Streamlet
from streamlets.project.loading import class_span, raised_failure
from streamlets.project.modules import Project
from streamlets.project.paths import path_problems


def configured(
    streamlet: Streamlet,
    described: StreamletDescriptor,
    request: StreamletRequest,
    project: Project,
    *,
    writes: bool = True,
) -> StreamletDescriptor | LoadFailure:
    """Return an instance's descriptor with the problems of its parameters or, without any, its external resources.

    If a value is invalid by itself, which verification reports, the descriptor stays as it is.

    Arguments:
        streamlet: the instance.
        described: its descriptor without these.
        request: its settings.
        project: its project.
        writes: whether to check paths on this machine that the streamlet writes.
    """
    configuration = _configuration(described, request, project)
    if configuration is None:
        return described
    paths = (own for own in described.parameters if own.path is not None and (writes or not own.path.writable))
    problems = tuple(path_problems(paths, configuration.values))
    external = ExternalResources()
    project.enter()  # a check may import a module that a value names
    try:
        problems = problems or _checked(streamlet.check_parameters(configuration.values), "check_parameters")
        if not problems:
            external = streamlet.external_resources(configuration)
            _check_type(external, ExternalResources, "`external_resources` must return")
            problems = _checked(external.problems, "external_resources")
        if problems:
            return replace(described, parameter_problems=problems)
        if external == described.external:
            return described
        return replace(described, external=_absolute(external, request, project))
    except _InvalidAnswerError as error:
        return LoadFailure(LoadFailureKind.CHECK_RAISES, str(error), declared=class_span(type(streamlet)))
    except Exception as error:  # noqa: BLE001 - it is the author's code
        return raised_failure(LoadFailureKind.CHECK_RAISES, error, project, class_span(type(streamlet)))


def with_defaults(described: StreamletDescriptor, request: StreamletRequest) -> dict[str, Value]:
    """Return the values of all parameters with their places; the place of a default is its declaration."""
    defaults = {
        parameter.key: value_at(
            parameter_default(parameter) if parameter.type is ParameterType.OBJECT else parameter.default,
            parameter.declared,
        )
        for parameter in described.parameters
        if parameter.default is not None
    }
    return defaults | dict(request.parameters)


def _configuration(described: StreamletDescriptor, request: StreamletRequest, project: Project) -> Configuration | None:
    """Return the values of all parameters; None if one is invalid, unknown or missing."""
    keys = {parameter.key for parameter in described.parameters}
    required = {parameter.key for parameter in described.parameters if not parameter.optional}
    if not keys.issuperset(request.parameters):
        return None
    try:
        values = parameter_values(described.parameters, request.parameters, Path(request.directory))
    except ParameterError:
        return None
    if required - set(values):
        return None
    return Configuration(values, with_defaults(described, request), project.directory.absolute())


class _InvalidAnswerError(Exception):
    """The author's code has returned something that it must not return."""


def _checked(problems: Iterable[ParameterProblem], method: str) -> tuple[ParameterProblem, ...]:
    """Return the problems that a method of the author has returned.

    Raises:
        _InvalidAnswerError: an item is not a valid problem.
    """
    problems = tuple(problems)
    for problem in problems:
        _check_type(problem, ParameterProblem, f"`{method}` must return items of type")
        path: object = problem.path
        if not (isinstance(path, tuple) and path and all(isinstance(key, str) for key in path)):
            raise _InvalidAnswerError(f"the path of a `ParameterProblem` must be a tuple of keys, found {path!r:.60}")
    return problems


def _check_type(answer: object, expected: type, requirement: str) -> None:
    if not isinstance(answer, expected):
        raise _InvalidAnswerError(f"{requirement} `{expected.__name__}`, found `{type(answer).__name__}`")


def _absolute(external: ExternalResources, request: StreamletRequest, project: Project) -> ExternalResources:
    """Return the resources with absolute paths."""
    start = project.directory.absolute()

    def directories() -> Iterator[WrittenDirectory]:
        for written in external.directories:
            base = start if written.place is not None else _base_directory(request, written.parameter, project)
            yield replace(written, directory=str(base / Path(written.directory).expanduser()))

    reads = (replace(read, path=str(start / Path(read.path).expanduser())) for read in external.reads)
    return replace(external, directories=tuple(directories()), reads=tuple(reads))


def _base_directory(request: StreamletRequest, path: tuple[str, ...], project: Project) -> Path:
    """Return the directory of the file that sets the value at a path of keys, or else the project's directory."""
    value: Value | None = request.parameters.get(path[0])
    for name in path[1:]:
        value = value.fields.get(name) if isinstance(value, ObjectValue) else None
    return path_start(value, project.directory) if value is not None else project.directory.absolute()
