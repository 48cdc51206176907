"""The positions of a backfill in the topics of its inlets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from blueprint.wording import span
from streamlets.backfills.model import BackfillError, Bound, InletRange, Request
from streamlets.backfills.warm_up import WarmUp
from streamlets.channels.base import Position, TopicResource


def ranges_of(
    request: Request, topics: Mapping[str, TopicResource], warm_up: WarmUp, now: float
) -> tuple[dict[str, InletRange], str]:
    """Return the range of each inlet, and what to say about the warm-up.

    Arguments:
        request: what was asked for.
        topics: the topics by inlet.
        warm_up: what the state of the streamlet needs.
        now: the current time, in seconds since the epoch.

    Raises:
        BackfillError: the range is not possible, or a part of it was deleted.
        TopicLostError: a topic does not exist.
    """
    _check(request, topics, now)
    begins: dict[str, Position | None] = {}
    ends: dict[str, Position] = {}
    for inlet, topic in topics.items():
        begins[inlet] = None
        if request.begin is not None:
            begins[inlet] = begin = _position(topic, request.begin)
            _require_records(inlet, topic, begin if request.begin.time is None else request.begin.time)
        ends[inlet] = _position(topic, request.end) if request.end is not None else topic.end()
    starts, short = _starts(topics, begins, warm_up)
    ranges = {
        inlet: InletRange(
            start=_json(starts[inlet]),
            begin=_json(begin),
            end=ends[inlet].json,
            records=topics[inlet].count(begin, ends[inlet]),
            warm_up_records=topics[inlet].count(starts[inlet], begin) if begin is not None else 0,
        )
        for inlet, begin in begins.items()
    }
    if not any(own.warm_up_records for own in ranges.values()):
        return {inlet: replace(own, start=own.begin) for inlet, own in ranges.items()}, ""
    length = "all earlier records" if warm_up.seconds is None else f"the {span(warm_up.seconds)} before the range"
    return ranges, f"{length}, because of {warm_up.reason}{short}"


def shown_time(time: float) -> str:
    """Return a time for people and for `--from`, in UTC."""
    moment = datetime.fromtimestamp(time, UTC).replace(tzinfo=None)
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")


def _check(request: Request, topics: Mapping[str, TopicResource], now: float) -> None:
    """Check the bounds without reading topics.

    Raises:
        BackfillError: they are not possible.
    """
    for bound in (request.begin, request.end):
        if bound is not None and bound.time is None and len(topics) > 1:
            raise BackfillError(
                f"`{bound.text}` is a position in one topic, but `{request.streamlet}` has several inlets: "
                f"{', '.join(topics)}",
                "give a time, which holds for all of them",
            )
    begin = request.begin.time if request.begin is not None else None
    end = request.end.time if request.end is not None else None
    if end is not None and end > now:
        raise BackfillError(f"the range of `{request.streamlet}` ends at {shown_time(end)}, which is in the future")
    if begin is not None and begin >= (now if end is None else end):
        raise BackfillError(
            f"the range of `{request.streamlet}` begins at {shown_time(begin)}, which is not before its end"
        )


def _position(topic: TopicResource, bound: Bound) -> Position:
    """Return the position of a bound.

    Raises:
        BackfillError: it is not a position in the topic.
    """
    if bound.time is not None:
        return topic.position_at(bound.time)
    try:
        return topic.position_of(bound.text)
    except ValueError as error:
        raise BackfillError(str(error), "`flow checkpoints show` shows positions of readers") from None


def _require_records(inlet: str, topic: TopicResource, start: float | Position) -> None:
    """Require that no record from a start on was deleted.

    Raises:
        BackfillError: one was, or may have been.
    """
    left = topic.deleted_since(start)
    if left is None:
        return
    raise BackfillError(
        f"a part of the range was deleted: retention or `flow topics purge` has dropped records of `{topic.plan.id}`, "
        f"which `{inlet}` reads; the oldest record that is left is of {shown_time(left)}",
        f"begin with what is left: `--from {shown_time(left)}`, or omit `--from`",
        refused=False,
    )


def _starts(
    topics: Mapping[str, TopicResource], begins: Mapping[str, Position | None], warm_up: WarmUp
) -> tuple[dict[str, Position | None], str]:
    """Return where the warm-up begins by inlet, and what to say if it should begin before the oldest record.

    A watermark moves with records only, and with the slowest inlet. So the time before the range counts from the last
    record before it, of the inlet that had its last one first.
    """
    befores = {inlet: begin for inlet, begin in begins.items() if begin is not None}
    if warm_up.seconds == 0 or not befores:
        return dict(begins), ""
    lasts = [topics[inlet].time_before(begin) for inlet, begin in befores.items()]
    known = [last for last in lasts if last is not None]
    since = min(known) - warm_up.seconds if warm_up.seconds is not None and len(known) == len(lasts) else None
    starts: dict[str, Position | None] = {}
    short = ""
    for inlet, topic in topics.items():
        starts[inlet] = topic.position_at(since) if since is not None else None
        left = topic.deleted_since(since if since is not None else 0.0)
        if left is not None:
            short = f"; the oldest record that is left in `{topic.plan.id}` is of {shown_time(left)}"
    return starts, short


def _json(position: Position | None) -> str | None:
    return position.json if position is not None else None
