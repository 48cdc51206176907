"""What a change of a stateful query is, for `benchmarks/state_changes.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Build = Callable[["DataFrame", "DataFrame", Mapping[str, Any]], "DataFrame"]
"""Returns the result from events, other events, and the values of parameters."""


@dataclass(frozen=True)
class Version:
    """A query.

    Arguments:
        build: its logic.
        mode: the output mode.
        keys: how many of its first columns identify a row, which a later row with the same values replaces; 0 if every
            row stays.
        settings: Spark settings of its session.
        parameters: the values of parameters.
    """

    build: Build
    mode: str = "append"
    keys: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A change of a query.

    Arguments:
        family: the name of the query.
        what: the changed part: the new alternative.
        old: the version that has run.
        new: the changed version.
    """

    family: str
    what: str
    old: Version
    new: Version
