"""The status of a run as JSON data, and back. The format is versioned, as readers may be of another release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamlets.runner.events.model import OpenTasks, UnitId
from streamlets.runner.events.status import RunningBatch, RunStatus, StreamletStatus, UnitStatus

VERSION = 2
"""Grows when the meaning of a field changes. 2: `draining` and `paused` are states."""


def to_json(status: RunStatus, now: float) -> dict[str, object]:
    """Return a status as data for JSON.

    Arguments:
        now: the current time in seconds since the epoch, to which rates and durations are computed.
    """
    return {
        "version": VERSION,
        "written": now,
        "told": now,  # the name of `written` in version 1
        "application": status.application,
        "health": status.health,
        "started": status.started,
        "updated": status.updated,
        "sequence": status.sequence,
        "stopping": status.stopping,
        "ended": status.ended,
        "exit_code": status.exit_code,
        "reason": status.reason,
        "without_spark": sorted(status.without_spark),
        "streamlets": [_streamlet_to_json(streamlet, now) for streamlet in status.streamlets],
    }


def from_json(data: Mapping[str, Any]) -> RunStatus:
    """Return the status from what `to_json` returned, in this release or an earlier one.

    Raises:
        KeyError, TypeError, ValueError: the data is not a status.
    """
    units = [_unit_from_json(unit, streamlet["ref"]) for streamlet in data["streamlets"] for unit in streamlet["units"]]
    return RunStatus(
        application=data["application"],
        started=data["started"],
        order=tuple(streamlet["ref"] for streamlet in data["streamlets"]),
        units={unit.unit: unit for unit in units},
        sequence=data["sequence"],
        updated=data["updated"],
        ended=data["ended"],
        exit_code=data["exit_code"],
        reason=data["reason"],
        stopping=data.get("stopping", ""),
        without_spark=frozenset(data.get("without_spark", ())),
    )


def _streamlet_to_json(streamlet: StreamletStatus, now: float) -> dict[str, object]:
    return {
        "ref": streamlet.ref,
        "state": streamlet.state,
        "cause": streamlet.cause,
        "waiting": streamlet.waiting,
        "paused": streamlet.state == "paused",
        "units": [_unit_to_json(unit, now) for unit in streamlet.units],
    }


def _unit_to_json(unit: UnitStatus, now: float) -> dict[str, object]:
    return {
        "query": unit.unit.part,
        "state": unit.state,
        "paused": unit.state == "paused",
        "since": unit.since,
        "cause": unit.cause,
        "waiting": unit.waiting,
        "frames": list(unit.frames),
        "restarts": unit.restarts,
        "retry_at": unit.retry_at,
        "rows_in": unit.rows_in,
        "rows_out": dict(unit.rows_out),
        "dead_letters": unit.dead_letters,
        "late": unit.late,
        "pending_rows": unit.pending_rows,
        "held": unit.pending_rows,  # the name of `pending_rows` in version 1
        "state_rows": unit.state_rows,
        "backlog": dict(unit.backlog),
        "batch": unit.batch,
        "batch_seconds": unit.seconds,
        "running_batch": _batch_to_json(unit.running, now) if unit.running else None,
        "watermark": unit.watermark,
        "rate": round(unit.rate(now), 1),
        "tasks": {"oldest": unit.tasks.oldest, "failed": unit.tasks.failed} if unit.tasks else None,
        "recent": [list(entry) for entry in unit.recent],
    }


def _batch_to_json(batch: RunningBatch, now: float) -> dict[str, object]:
    return {
        "number": batch.number,
        "since": batch.since,
        "seconds": round(max(0.0, now - batch.since), 1),
        "stuck": batch.stuck,
        "where": list(batch.where),
    }


def _unit_from_json(data: Mapping[str, Any], streamlet: str) -> UnitStatus:
    batch, tasks = data["running_batch"], data.get("tasks")
    return UnitStatus(
        unit=UnitId(streamlet, data["query"]),
        state="paused" if data["paused"] else data["state"],
        since=data["since"],
        cause=data["cause"],
        waiting=data.get("waiting", ""),
        frames=tuple(data["frames"]),
        restarts=data["restarts"],
        retry_at=data["retry_at"],
        rows_in=data["rows_in"],
        rows_out=data["rows_out"],
        dead_letters=data["dead_letters"],
        late=data["late"],
        pending_rows=data["held"],
        state_rows=data["state_rows"],
        backlog=data["backlog"],
        batch=data["batch"],
        seconds=data["batch_seconds"],
        running=RunningBatch(batch["number"], batch["since"], batch["stuck"], tuple(batch["where"])) if batch else None,
        watermark=data["watermark"],
        tasks=OpenTasks(oldest=tasks["oldest"], failed=tasks["failed"]) if tasks else None,
        recent=tuple((time, rows) for time, rows in data.get("recent", ())),
    )
