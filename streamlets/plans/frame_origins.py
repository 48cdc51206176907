"""Records for each DataFrame which call of the author created it, and from which other DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from streamlets.api.source_location import SourceLocation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ORIGIN = "_streamlets_origin"


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a frame.

    Arguments:
        place: the author's call; None if other code created the frame.
        parents: the frames among the receiver and the arguments of the call.
    """

    place: SourceLocation | None
    parents: tuple[Any, ...]


def traced(method: Callable[..., Any], here: Callable[[], SourceLocation | None], frames: tuple[type, ...]) -> Any:
    """Wrap a method of a frame so that the frame it returns has its origin.

    Arguments:
        method: the method.
        here: returns the location of the author's call.
        frames: the classes of frames.
    """

    @wraps(method)
    def call(*args: Any, **named: Any) -> Any:
        result = method(*args, **named)
        if isinstance(result, frames) and _ORIGIN not in vars(result):
            parents = tuple(value for value in (*args, *named.values()) if isinstance(value, frames))
            if all(result is not parent for parent in parents):
                vars(result)[_ORIGIN] = Origin(here(), parents)
        return result

    return call


def origin(frame: object) -> Origin | None:
    """Return the origin of a frame; None if it is unknown."""
    return vars(frame).get(_ORIGIN)


def earliest_ancestor(frame: DataFrame, predicate: Callable[[DataFrame], bool]) -> DataFrame:
    """Return the earliest ancestor of a frame for which a predicate is true; the frame itself if there is none."""
    for parent in _parents(frame):
        if predicate(parent):
            return earliest_ancestor(parent, predicate)
    return frame


def ancestors(frame: DataFrame) -> Iterator[DataFrame]:
    """Yield a frame and the frames from which it was created, each once, nearest first."""
    known: set[int] = set()
    waiting = [frame]
    while waiting:
        current = waiting.pop(0)
        if id(current) not in known:
            known.add(id(current))
            yield current
            waiting.extend(_parents(current))


def grouping_before(frame: object) -> Origin | None:
    """Return the origin of the grouping from which a frame was created; None without one."""
    from pyspark.sql import DataFrame

    created = origin(frame)
    parents = [parent for parent in created.parents if not isinstance(parent, DataFrame)] if created is not None else []
    return next((own for parent in parents if (own := origin(parent)) is not None), None)


def _parents(frame: object) -> Iterator[DataFrame]:
    """Yield the nearest DataFrames from which a frame was created; groupings between them do not have a plan."""
    from pyspark.sql import DataFrame

    created = origin(frame)
    for parent in created.parents if created is not None else ():
        if isinstance(parent, DataFrame):
            yield parent
        else:
            yield from _parents(parent)
