"""Events as plain lines and as JSON; pure functions."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import replace

from streamlets.channels.administration import Difference
from streamlets.runner.events.model import (
    BatchStuck,
    CheckpointRepaired,
    Event,
    RecordsLate,
    RecordsMissed,
    RowsInState,
    RowsLate,
    RunEnded,
    RunStarted,
    RunStopping,
    SparkStarting,
    SparkUp,
    TopicDiffers,
    UnitChanged,
    UnitId,
    UnitMeasured,
    UnitProgressed,
    UnitSplit,
    UnitWarned,
)


def line(event: Event) -> str:
    """Return an event as a line without its time; several lines if its cause has several."""
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
        case SparkStarting(streamlets=streamlets):
            return f"starting Spark for {', '.join(streamlets)}"
        case SparkUp(streamlets=streamlets):
            return f"Spark is up for {', '.join(streamlets)}"
        case UnitChanged(unit=unit, state=state, cause=cause, retry_in=wait, waiting=waiting):
            text = f"{unit}: {state}{f', {waiting}' if waiting else ''}"
            if wait is not None:
                text += f", restart in {wait:.1f} s"
            return f"{text}: {cause}" if cause else text
        case UnitSplit(unit=unit, parts=parts):
            return f"{unit}: consists of {', '.join(parts)}"
        case UnitProgressed():
            return _progress(event)
        case UnitMeasured(unit=unit, backlog=backlog):
            return f"{unit}: backlog {sum(records or 0 for records in backlog.values()):,}"
        case BatchStuck(unit=unit, batch=batch, seconds=seconds):
            return f"{unit}: stuck: batch {batch} has been running for {span(seconds)}"
        case RowsInState(unit=unit, operator=operator, rows=rows, note=note):
            remain = "remains" if rows == 1 else "remain"
            return f"{unit}: {_count(rows, 'row')} {remain} in state: {operator}{f' ({note})' if note else ''}"
        case RowsLate(unit=unit, rows=rows, watermark=watermark):
            passed = f" {watermark}" if watermark else ""
            dropped = f"{unit}: the watermark{passed} dropped at least {_count(rows, 'late row')} since the start"
            return f"{dropped} (Spark counts them after partial aggregation)"
        case RecordsLate(unit=unit, batch=batch, inlet=inlet, records=records, watermark=watermark):
            where = f"at the inlet `{inlet}` " if inlet else ""
            text = f"{unit}: batch {batch}: deduplication {where}dropped {_count(records, 'late record')} (watermark "
            text += f"{watermark}); records other than doubles are lost: set `deduplicate.within` to at least the time "
            return f"{text}by which partitions of the topic may lag behind each other"
        case RecordsMissed(topic=topic, reader=reader, first=first, last=last, records=records, cause=cause):
            text = f"{reader}: missed {_count(records, 'record')} of the topic {topic}, from {first} to {last}"
            return f"{text}, dropped by {cause} before they were committed"
        case TopicDiffers(topic=topic, help=help):
            difference = Difference(event.setting, event.planned, event.existing)
            return f"the topic {topic} differs from the blueprint: {difference}; {help}"
        case CheckpointRepaired(unit=unit, what=what) | UnitWarned(unit=unit, what=what):
            return f"{unit}: {what}"


def lines(event: Event) -> list[str]:
    """Return an event as lines for a terminal or a log; the user's frames of a failure precede its cause, innermost
    last."""
    if isinstance(event, UnitChanged) and event.frames:
        frames = (f"at {frame}" for frame in event.frames)
        return [line(replace(event, cause="")), *frames, *event.cause.splitlines()]
    if isinstance(event, BatchStuck):
        if event.frames or not event.stack:
            return [line(event), *(f"at {frame}" for frame in event.frames)]
        stack = (f"at {frame}" for frame in event.stack)
        return [line(event), "none of your code is running in this process; Spark is", *stack]
    return line(event).splitlines()


def json_line(event: Event) -> str:
    """Return an event as a line of JSON: `event` is its kind in kebab case, the rest are its fields."""
    return _dumped({"event": _kind(event)} | _plain(event))


def log_record(event: Event, stamp: str, application: str) -> str:
    """Return an event as a log record in JSON: `timestamp`, `level`, `event`, `application`, and its fields."""
    fields = {name: value for name, value in _plain(event).items() if name not in ("time", "application")}
    head = {"timestamp": stamp, "level": _level(event), "event": _kind(event), "application": application}
    return _dumped(head | fields)


def log_failure(unit: UnitId, text: str, stamp: str, application: str) -> str:
    """Return the full text of a failure as a log record in JSON."""
    head = {"timestamp": stamp, "level": "error", "event": "failure", "application": application}
    return _dumped(head | {"streamlet": unit.streamlet, "query": unit.part, "text": text})


def _level(event: Event) -> str:
    match event:
        case UnitChanged(state="failed") | RecordsMissed():
            return "error"
        case RunEnded(exit_code=code) if code:
            return "error"
        case (
            UnitChanged(state="backing-off") | BatchStuck() | RowsLate() | RecordsLate() | TopicDiffers() | UnitWarned()
        ):
            return "warning"
    return "info"


def _kind(event: Event) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", type(event).__name__).lower()


def _dumped(fields: Mapping[str, object]) -> str:
    return json.dumps(fields, separators=(",", ":"))


def _plain(event: Event) -> dict[str, object]:
    fields = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
    unit = fields.pop("unit", None)
    if unit is not None:
        fields = {"streamlet": unit.streamlet, "query": unit.part} | fields
    if isinstance(event, UnitMeasured) and event.tasks is not None:
        fields["tasks"] = dataclasses.asdict(event.tasks)
    if isinstance(event, UnitProgressed):
        fields["held"] = event.pending_rows  # its earlier name
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}


def _progress(event: UnitProgressed) -> str:
    batch = "" if event.batch is None else f"batch {event.batch}, "
    text = f"{event.unit}: {batch}{event.rows_in} in"
    text += "".join(f", {rows} to {outlet}" for outlet, rows in sorted(event.rows_out.items()))
    text += f", {_count(event.dead_letters, 'dead letter')}" if event.dead_letters else ""
    text += f", {event.late:,} late" if event.late else ""
    text += f", {event.pending_rows:,} pending in state" if event.pending_rows else ""
    backlog = sum(event.backlog.values())
    text += f", {event.seconds:.1f} s" if batch else ""
    return text + (f", backlog {backlog}" if backlog else "")


def span(seconds: float) -> str:
    """Return a duration in its two largest units, such as `2 min 5 s`."""
    whole = max(0, round(seconds))
    for name, size, lesser, part in (("d", 86_400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {name}" + (f" {rest} {lesser}" if rest else "")
    return f"{whole} s"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
