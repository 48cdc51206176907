"""The status of a run as JSON data, and back. Keys are the names of fields, unless users know another name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from streamlets.runner.events.executors import Executors
from streamlets.runner.events.port_counts import PortCounts
from streamlets.runner.events.status import (
    Hang,
    OpenTasks,
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

_KEYS = {field.name: _RENAMED.get(field.name, field.name) for field in fields(UnitStatus) if field.name != "unit"}
_COUNTS = tuple(field.name for field in fields(PortCounts))


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
        "executors": [asdict(executors) for executors in status.executors],
        "streamlets": [_streamlet_to_json(streamlet, now) for streamlet in status.streamlets],
    }


def from_json(data: Mapping[str, Any]) -> RunStatus:
    """Return the status from what `to_json` returned, also in an earlier release, which had fewer fields.

    Raises:
        KeyError, TypeError, ValueError: the data is not a status.
    """
    units = [_unit_from_json(unit, streamlet["ref"]) for streamlet in data["streamlets"] for unit in streamlet["units"]]
    derived: dict[str, Any] = {
        "order": tuple(streamlet["ref"] for streamlet in data["streamlets"]),
        "units": {unit.unit: unit for unit in units},
        "without_spark": frozenset(data["without_spark"]),
        "fused": tuple(map(tuple, data.get("fused", ()))),
        "executors": tuple(_executors_from_json(executors) for executors in data.get("executors", ())),
    }
    return RunStatus(**_present(RunStatus, data) | derived)


def _streamlet_to_json(streamlet: StreamletStatus, now: float) -> dict[str, object]:
    own = {name: getattr(streamlet, name) for name in ("ref", "state", "cause", "waiting", "replicas")}
    return own | {"units": [_unit_to_json(unit, now) for unit in streamlet.units]}


def _unit_to_json(unit: UnitStatus, now: float) -> dict[str, object]:
    data = {key: getattr(unit, name) for name, key in _KEYS.items()}  # `asdict` would copy all values, which takes long
    data["ports"] = {port: {name: getattr(counts, name) for name in _COUNTS} for port, counts in unit.ports.items()}
    data |= {name: asdict(value) for name in ("hang", "tasks") if (value := getattr(unit, name)) is not None}
    if unit.running is not None:
        seconds = round(max(0.0, now - unit.running.since), 1)
        data["running_batch"] = {**asdict(unit.running), "seconds": seconds}
    derived = {"rate": unit.rate(now), "busy": unit.busy(now)}
    ages = {
        "watermark_delay": unit.watermark_delay(now),
        "backlog_age": unit.backlog_age(now),
        "record_age": None if unit.last_record is None else max(0.0, now - unit.last_record),
    }
    digits = {"busy": 3}
    rounded = {name: value and round(value, digits.get(name, 1)) for name, value in (derived | ages).items()}
    return {"query": unit.unit.part, **data, **rounded}


def _unit_from_json(data: Mapping[str, Any], streamlet: str) -> UnitStatus:
    values = _present(UnitStatus, data)
    if batch := values.get("running"):
        values["running"] = RunningBatch(batch["number"], batch["since"], batch["stuck"], tuple(batch["where"]))
    values["ports"] = {port: PortCounts(**counts) for port, counts in data.get("ports", {}).items()}
    if hang := values.get("hang"):
        values["hang"] = Hang(hang["what"], hang["since"], tuple(hang["where"]))
    if tasks := values.get("tasks"):
        values["tasks"] = OpenTasks(**tasks)
    values |= {name: tuple(data.get(name, ())) for name in ("frames", "durations")}
    values |= {name: tuple(map(tuple, data.get(name, ()))) for name in ("recent", "spells")}
    return UnitStatus(unit=UnitId(streamlet, data["query"]), **values)


def _executors_from_json(data: Mapping[str, Any]) -> Executors:
    return Executors(**{**data, "streamlets": tuple(data["streamlets"])})


def _present(status: type[RunStatus | UnitStatus], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the fields that the data has; the others keep their defaults."""
    keys = {field.name: _RENAMED.get(field.name, field.name) for field in fields(status)}
    return {name: data[key] for name, key in keys.items() if key in data}
