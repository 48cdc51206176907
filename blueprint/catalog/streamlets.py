"""A streamlet as configured: what is known without running it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from blueprint.avro.model import Contract
from blueprint.catalog.external import ExternalResources
from blueprint.catalog.kinds import SPARK, Kind
from blueprint.catalog.parameters import ParameterDescriptor, ParameterProblem
from blueprint.diagnostics import Diagnostic, Span


@dataclass(frozen=True, slots=True)
class PortDescriptor:
    """An inlet or outlet of a streamlet as configured.

    Arguments:
        name: the name in the blueprint.
        attribute: the Python attribute of the port, None for a port declared by configuration.
        contract: the schema of its records; None when it cannot be determined, see `problems`.
        declared: the place of the declaration.
        partition_by: the columns, or SQL expressions over columns, by which the records of an outlet are partitioned.
        on_invalid: the handling of rows that violate the contract of an outlet, and of what an inlet cannot decode.
        extra: for outlets, the handling of columns that are not in the contract.
        problems: findings about the schema.
    """

    name: str
    attribute: str | None
    contract: Contract | None
    declared: Span
    partition_by: tuple[str, ...] = ()
    on_invalid: Literal["fail", "dead-letters"] = "fail"
    extra: Literal["fail", "drop"] = "fail"
    problems: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class VolumeMountDescriptor:
    """A directory that the streamlet requires as a mount."""

    name: str
    path: str
    access_mode: Literal["ReadWriteMany", "ReadOnlyMany"]
    declared: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamletDescriptor:
    """A streamlet as configured: everything known without running it. Ports and parameters are sorted by name.

    `parameter_problems` are the problems that the streamlet reports about the values of the request. If there are none,
    `external` has what it reads, writes and requires outside of its topics.
    """

    class_name: str
    description: str
    labels: tuple[str, ...]
    inlets: tuple[PortDescriptor, ...]
    outlets: tuple[PortDescriptor, ...]
    parameters: tuple[ParameterDescriptor, ...]
    volume_mounts: tuple[VolumeMountDescriptor, ...]
    declared: Span
    parameter_problems: tuple[ParameterProblem, ...] = ()
    external: ExternalResources = field(default_factory=ExternalResources)
    kind: Kind = SPARK
