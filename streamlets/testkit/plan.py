"""The plan of a single streamlet under test: each port has its own topic."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from blueprint.avro.sources.places import value_at
from blueprint.catalog import (
    LoadFailure,
    ParameterType,
    PortDescriptor,
    PortSetting,
    StreamletDescriptor,
    StreamletRequest,
)
from blueprint.core_settings import InletSettings, Retry, StreamletSettings
from blueprint.plan import InletPlan, OutletPlan, StreamletPlan, TopicPlan
from blueprint.settings.parameters import ParameterError, parameter_default, parameter_text
from blueprint.spelling import suggestion
from streamlets.api.parameters import as_text
from streamlets.api.source_location import SourceLocation
from streamlets.api.streamlet import Streamlet
from streamlets.channels.registry import DEFAULT
from streamlets.project.configuration import configured
from streamlets.project.descriptors import descriptor, takes_ports
from streamlets.project.modules import project_at
from streamlets.testkit.failures import TestkitError, error_with_findings

DEAD_LETTERS = "dead-letters"


def plan_of(
    streamlet: Streamlet,
    *,
    ref: str,
    place: SourceLocation,
    parameters: Mapping[str, object],
    schemas: Mapping[str, str],
    volume_mounts: Mapping[str, str | Path],
    max_records: Mapping[str, int],
    spark: Mapping[str, str],
) -> tuple[StreamletPlan, tuple[TopicPlan, ...]]:
    """Return the plan and its topics: one for each port, and one for dead letters if an outlet uses them.

    Arguments:
        streamlet: the streamlet.
        ref: its name.
        place: the location of the test's call; relative paths start in the directory of its file.
        parameters: as for `Testkit.streamlet`.
        schemas: as for `Testkit.streamlet`.
        volume_mounts: as for `Testkit.streamlet`.
        max_records: as for `Testkit.streamlet`.
        spark: as for `Testkit.streamlet`.

    Raises:
        TestkitError: the streamlet, a schema or the value of a parameter is invalid.
    """
    request = _request(streamlet, ref, place, schemas)
    described = _described(streamlet, request)
    _check_names("parameter", parameters, (parameter.key for parameter in described.parameters))
    _check_names("volume mount", volume_mounts, (mount.name for mount in described.volume_mounts))
    _check_names("inlet", max_records, (port.name for port in described.inlets))
    values = _values(described, parameters, Path(place.file).absolute().parent)
    described = _configured(streamlet, request, described, parameters, place)
    outlets = tuple(_outlet(ref, port) for port in described.outlets)
    letters = any(port.on_invalid == "dead-letters" for port in (*described.outlets, *described.inlets))
    plan = StreamletPlan(
        ref=ref,
        class_name=described.class_name,
        descriptor=described,
        parameters=values,
        inlets=tuple(_inlet(ref, port, max_records.get(port.name)) for port in described.inlets),
        outlets=outlets,
        settings=StreamletSettings(retry=Retry(enabled=False), spark=spark),
        volume_mounts={name: str(directory) for name, directory in volume_mounts.items()},
        dead_letters=DEAD_LETTERS if letters else None,
        directory=str(Path(place.file).absolute().parent),
    )
    topics = [_topic(inlet.topic, (), (f"{ref}.{inlet.name}",)) for inlet in plan.inlets]
    topics += [_topic(outlet.topic, (f"{ref}.{outlet.name}",), ()) for outlet in plan.outlets]
    return plan, (*topics, *((_topic(DEAD_LETTERS, (ref,), ()),) if letters else ()))


def _request(streamlet: Streamlet, ref: str, place: SourceLocation, schemas: Mapping[str, str]) -> StreamletRequest:
    own = type(streamlet)
    settings = {name: PortSetting(schema, place.span) for name, schema in schemas.items()}
    inlets = {inlet.name for inlet in streamlet.shape.inlets}
    names = [port.name for port in streamlet.shape.ports]
    if takes_ports(streamlet) and (missing := next((name for name in schemas if name not in names), None)) is not None:
        raise TestkitError(f"there is no port `{missing}`; name it in `inlets` or `outlets`")
    _check_names("port", schemas, names)
    return StreamletRequest(
        ref=ref,
        class_name=f"{own.__module__}.{own.__qualname__}",
        directory=str(Path(place.file).parent),
        inlets={name: setting for name, setting in settings.items() if name in inlets},
        outlets={name: setting for name, setting in settings.items() if name not in inlets},
    )


def _described(streamlet: Streamlet, request: StreamletRequest) -> StreamletDescriptor:
    own = type(streamlet)
    described = descriptor(streamlet, request, project_at(request.directory))
    if isinstance(described, LoadFailure):
        raise TestkitError(f"`{own.__name__}` cannot run: {described.message}")
    problems = [p for port in (*described.inlets, *described.outlets) if port.contract is None for p in port.problems]
    if problems:
        raise error_with_findings(f"`{own.__name__}` cannot run:", problems)
    return described


def _values(described: StreamletDescriptor, configured: Mapping[str, object], start: Path) -> dict[str, object]:
    values: dict[str, object] = {}
    for parameter in described.parameters:
        try:
            if parameter.key in configured:
                values[parameter.key] = parameter_text(parameter, as_text(configured[parameter.key]), start)
            elif parameter.default is not None:
                values[parameter.key] = parameter_default(parameter)
        except ParameterError as error:
            raise TestkitError(f"invalid value of the parameter `{parameter.key}`: {error}") from None
        if parameter.key not in values and not parameter.optional:
            raise TestkitError(
                f"the parameter `{parameter.key}` has no value: pass it with `parameters={{{parameter.key!r}: ...}}`"
            )
    return values


def _configured(
    streamlet: Streamlet,
    request: StreamletRequest,
    described: StreamletDescriptor,
    parameters: Mapping[str, object],
    place: SourceLocation,
) -> StreamletDescriptor:
    """Return the descriptor with what the streamlet touches outside of its topics, if it accepts its parameters."""
    texts = {key: as_text(value) for key, value in parameters.items()}
    json_keys = {own.key for own in described.parameters if own.type in (ParameterType.OBJECT, ParameterType.LIST)}
    values = {key: value_at(json.loads(text) if key in json_keys else text, place.span) for key, text in texts.items()}
    project = project_at(request.directory)
    answer = configured(streamlet, described, replace(request, parameters=values), project, writes=False)
    if isinstance(answer, LoadFailure):
        raise TestkitError(f"`{type(streamlet).__name__}` cannot check its parameters: {answer.message}")
    if problems := answer.parameter_problems:
        lines = [line for problem in problems for line in (f"  {problem.message}", *(f"    {h}" for h in problem.help))]
        raise TestkitError("\n".join((f"`{type(streamlet).__name__}` rejects these parameters:", *lines)))
    return answer


def _inlet(ref: str, port: PortDescriptor, max_records: int | None) -> InletPlan:
    assert port.contract is not None
    topic = f"inlet-{port.name}"
    settings = InletSettings(max_records=max_records)
    return InletPlan(ref, port.name, port.attribute, port.contract, topic, settings, on_invalid=port.on_invalid)


def _outlet(ref: str, port: PortDescriptor) -> OutletPlan:
    assert port.contract is not None
    return OutletPlan(
        streamlet=ref,
        name=port.name,
        attribute=port.attribute,
        contract=port.contract,
        topic=f"outlet-{port.name}",
        partition_by=port.partition_by,
        on_invalid=port.on_invalid,
        extra=port.extra,
    )


def _topic(name: str, producers: tuple[str, ...], consumers: tuple[str, ...]) -> TopicPlan:
    return TopicPlan(name, name, DEFAULT, True, producers, consumers, {})


def topic_plan(name: str) -> TopicPlan:
    """Return the plan of a further topic of a streamlet under test."""
    return _topic(name, (), ())


def _check_names(noun: str, values: Mapping[str, object], known: Iterable[str]) -> None:
    names = sorted(known)
    for name in values:
        if name not in names:
            raise TestkitError(f"there is no {noun} `{name}`; {suggestion(name, names)}")
