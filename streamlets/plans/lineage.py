"""Remembers of each DataFrame which call of the author's made it, and of which others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from streamlets.api.declared import Declared

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MADE = "_streamlets_made"


@dataclass(frozen=True, slots=True)
class Made:
    """How a frame came to be: the author's call, None when no code of the author's made it, and what it took."""

    place: Declared | None
    parents: tuple[Any, ...]


def traced(method: Callable[..., Any], here: Callable[[], Declared | None], frames: tuple[type, ...]) -> Any:
    """A method of a frame that notes on the frame it gives how that was made."""

    @wraps(method)
    def call(*args: Any, **named: Any) -> Any:
        result = method(*args, **named)
        if isinstance(result, frames) and _MADE not in vars(result):
            parents = tuple(each for each in (*args, *named.values()) if isinstance(each, frames))
            if all(result is not parent for parent in parents):
                vars(result)[_MADE] = Made(here(), parents)
        return result

    return call


def made(frame: object) -> Made | None:
    """How a frame was made, when that is known."""
    return vars(frame).get(_MADE)


def first_with(frame: DataFrame, holds: Callable[[DataFrame], bool]) -> DataFrame:
    """The earliest frame on the way to `frame` of which something holds that holds of `frame`."""
    for parent in _frames_before(frame):
        if holds(parent):
            return first_with(parent, holds)
    return frame


def _frames_before(frame: object) -> Iterator[DataFrame]:
    """The nearest DataFrames that a frame was made of; groupings in between have no plan of their own."""
    from pyspark.sql import DataFrame

    how = made(frame)
    for parent in how.parents if how is not None else ():
        if isinstance(parent, DataFrame):
            yield parent
        else:
            yield from _frames_before(parent)
