"""The status of a run as JSON data, and back. Keys are the names of fields, unless users know another name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from streamlets.runner.events.status import (
    OpenTasks,
    PortCounts,
    RunningBatch,
    RunStatus,
    StreamletStatus,
    UnitId,
    UnitStatus,
)

VERSION = 1
"""Grows when the meaning of a field changes."""

_RENAMED = {"seconds": "batch_seconds", "running": "running_batch"}
"""The keys of the fields of `UnitStatus` that have other names."""


def to_json(status: RunStatus, now: float) -> dict[str, object]:
    """Return a status as data for JSON.

    Arguments:
        now: the current time in seconds since the epoch, to which rates and durations are computed.
    """
    own = {field.name: getattr(status, field.name) for field in fields(status) if field.name not in ("order", "units")}
    return {
        "version": VERSION,
        "written": now,
        "health": status.health,
        **own,
        "without_spark": sorted(status.without_spark),
        "streamlets": [_streamlet_to_json(streamlet, now) for streamlet in status.streamlets],
    }


def from_json(data: Mapping[str, Any]) -> RunStatus:
    """Return the status from what `to_json` returned.

    Raises:
        KeyError, TypeError, ValueError: the data is not a status.
    """
    units = [_unit_from_json(unit, streamlet["ref"]) for streamlet in data["streamlets"] for unit in streamlet["units"]]
    derived: dict[str, Any] = {
        "order": tuple(streamlet["ref"] for streamlet in data["streamlets"]),
        "units": {unit.unit: unit for unit in units},
        "without_spark": frozenset(data["without_spark"]),
    }
    return RunStatus(
        **{field.name: data[field.name] for field in fields(RunStatus) if field.name not in derived}, **derived
    )


def _streamlet_to_json(streamlet: StreamletStatus, now: float) -> dict[str, object]:
    own = {name: getattr(streamlet, name) for name in ("ref", "state", "cause", "waiting", "replicas")}
    return own | {"units": [_unit_to_json(unit, now) for unit in streamlet.units]}


def _unit_to_json(unit: UnitStatus, now: float) -> dict[str, object]:
    data = {_RENAMED.get(name, name): value for name, value in asdict(unit).items() if name != "unit"}
    if unit.running is not None:
        data["running_batch"]["seconds"] = round(max(0.0, now - unit.running.since), 1)
    return {"query": unit.unit.part, **data, "rate": round(unit.rate(now), 1)}


def _unit_from_json(data: Mapping[str, Any], streamlet: str) -> UnitStatus:
    values = {field.name: data[_RENAMED.get(field.name, field.name)] for field in fields(UnitStatus)[1:]}
    if batch := values["running"]:
        values["running"] = RunningBatch(batch["number"], batch["since"], batch["stuck"], tuple(batch["where"]))
    values["ports"] = {port: PortCounts(**counts) for port, counts in values["ports"].items()}
    if tasks := values["tasks"]:
        values["tasks"] = OpenTasks(**tasks)
    values |= {"frames": tuple(data["frames"]), "recent": tuple(map(tuple, data["recent"]))}
    return UnitStatus(unit=UnitId(streamlet, data["query"]), **values)
