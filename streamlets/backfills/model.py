"""`Backfill`: what was asked for, the range that it stands for, and how far it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Phase = Literal["warm-up", "range", "results", "done"]
"""What a backfill does next: read the records before the range, then its own ones, hand the results over, nothing."""


class BackfillError(Exception):
    """A backfill is not possible.

    Arguments:
        message: why.
        help: what to do, in the imperative; "" for nothing.
        refused: whether the command or the streamlet is wrong, not the state of the topics.
    """

    def __init__(self, message: str, help: str = "", *, refused: bool = True) -> None:
        super().__init__(message)
        self.help = help
        self.refused = refused


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")
"""A name becomes the name of a directory, and of a log with a suffix."""


def is_name(name: str) -> bool:
    """Return whether a backfill may have a name."""
    return _NAME.fullmatch(name) is not None


def require_name(name: str) -> None:
    """Require that a backfill may have a name.

    Raises:
        BackfillError: it may not.
    """
    if not is_name(name):
        raise BackfillError(
            f"invalid name of a backfill `{name}`: use letters, digits, `-`, `_` and `.`, a letter or digit first, "
            "and at most 200 characters"
        )


@dataclass(frozen=True, slots=True)
class Bound:
    """Where a range begins or ends, as it was given.

    Arguments:
        text: the text: a time, an age, or a position.
        time: the time in seconds since the epoch; None for a position.
    """

    text: str
    time: float | None = field(default=None, compare=False)

    @property
    def is_fixed(self) -> bool:
        """Whether it means the same later, which an age does not, and needs no topic."""
        return self.time is not None and self.text[:1].isdigit() and "-" in self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked for. Two requests are equal if their texts are: an age is another time later.

    Arguments:
        streamlet: the streamlet.
        begin: where the range begins; None for the oldest records that are left.
        end: where it ends; None for the ends of the topics when the backfill begins.
        into: the directory for files with the results; "" for none.
        topic: the new topic for the results; "" for none.
        warm_up: the seconds before the range that are read first; None to compute them.
    """

    streamlet: str
    begin: Bound | None = None
    end: Bound | None = None
    into: str = ""
    topic: str = ""
    warm_up: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InletRange:
    """The positions of a backfill in the topic of an inlet, as JSON.

    Arguments:
        start: where reading begins, with the warm-up; None for the beginning of the topic.
        begin: where the range begins; None for the beginning of the topic.
        end: where the range ends.
        records: the number of the records in the range.
        warm_up_records: the number of the records before it that are read.
    """

    start: str | None
    begin: str | None
    end: str
    records: int = 0
    warm_up_records: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The results in a topic that the streamlet writes.

    Arguments:
        after: the position of the first result, as JSON; earlier records belong to the warm-up. None for all.
        records: the number of results; None while they are not complete.
    """

    after: str | None = None
    records: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """A backfill.

    Arguments:
        name: its name, unique in the application.
        request: what was asked for.
        version: the version of the application whose logic it has.
        created: when it began, in seconds since the epoch.
        ranges: the positions by inlet.
        warm_up: why as much is read before the range, for people.
        phase: what it does next.
        results: the results by id of their topic.
        ended: when it was done, in seconds since the epoch.
    """

    name: str
    request: Request
    version: str
    created: float
    ranges: Mapping[str, InletRange]
    warm_up: str = ""
    phase: Phase = "range"
    results: Mapping[str, Result] = field(default_factory=dict)
    ended: float | None = None

    @property
    def records(self) -> int:
        """The number of the records in the range of all inlets."""
        return sum(own.records for own in self.ranges.values())

    def to_json(self) -> str:
        """Return the backfill as its file has it."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Backfill:
        """Return the backfill from what `to_json` returned.

        Raises:
            ValueError: it is something else.
        """
        try:
            data: dict[str, Any] = json.loads(text)
            request = data["request"]
            bounds = {key: Bound(**request[key]) if request[key] else None for key in ("begin", "end")}
            return cls(
                **data
                | {
                    "request": Request(**request | bounds),
                    "ranges": {name: InletRange(**own) for name, own in data["ranges"].items()},
                    "results": {name: Result(**own) for name, own in data["results"].items()},
                }
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a backfill: {error}") from None
