"""Events as plain lines and as JSON. Pure."""

from __future__ import annotations

import dataclasses
import json
import re

from streamlets.runner.events import (
    CheckpointMended,
    Event,
    RecordsMissed,
    RunEnded,
    RunStarted,
    RunStopping,
    UnitChanged,
    UnitHeld,
    UnitProgressed,
)


def line(event: Event) -> str:
    """One event in one line, without time."""
    match event:
        case RunStarted(application=application, streamlets=streamlets):
            return f"{application}: started with {_count(len(streamlets), 'streamlet')}"
        case RunEnded(exit_code=code, reason=reason):
            return f"ended: {reason or 'all done'} (exit code {code})"
        case RunStopping(cause=cause, at_once=at_once, within=within):
            if at_once:
                return f"stopping at once: {cause}"
            limit = "" if within is None else f", within {within:g} s"
            return f"draining{limit}: {cause}"
        case UnitChanged(unit=unit, state=state, cause=cause, retry_in=wait):
            told = f"{unit}: {state}"
            if wait is not None:
                told += f", restart in {wait:.1f} s"
            return f"{told}: {cause}" if cause else told
        case UnitProgressed():
            return _batch(event)
        case UnitHeld(unit=unit, operator=operator, rows=rows, note=note):
            return f"{unit}: {operator} still holds {_count(rows, 'row')}{f' ({note})' if note else ''}"
        case RecordsMissed(topic=topic, reader=reader, first=first, last=last, records=records, cause=cause):
            told = f"{reader}: missed {_count(records, 'record')} of the topic {topic}, from {first} to {last}"
            return f"{told}, dropped by {cause} before it had committed them"
        case CheckpointMended(unit=unit, what=what):
            return f"{unit}: {what}"


def json_line(event: Event) -> str:
    """One event as one line of JSON: `event` is its kind in kebab case, the rest its fields."""
    kind = re.sub(r"(?<!^)(?=[A-Z])", "-", type(event).__name__).lower()
    return json.dumps({"event": kind} | _plain(event), separators=(",", ":"))


def _plain(event: Event) -> dict[str, object]:
    fields = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
    unit = fields.pop("unit", None)
    if unit is not None:
        fields = {"streamlet": unit.streamlet, "query": unit.query} | fields
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}


def _batch(event: UnitProgressed) -> str:
    told = f"{event.unit}: batch {event.batch}, {event.rows_in} in"
    told += "".join(f", {rows} to {outlet}" for outlet, rows in sorted(event.rows_out.items()))
    for count, what in ((event.dead_letters, "dead letters"), (event.late, "too late"), (event.held, "held")):
        told += f", {count} {what}" if count else ""
    backlog = sum(event.backlog.values())
    return f"{told}, {event.seconds:.1f} s" + (f", {backlog} behind" if backlog else "")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
