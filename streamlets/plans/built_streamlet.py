"""`BuiltStreamlet`: the queries of a logic that was built on empty streams, for readers of their plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blueprint.diagnostics import Span
from blueprint.plan import StreamletPlan
from streamlets.api.source_location import SourceLocation
from streamlets.plans.places import Places
from streamlets.plans.queries import CheckedQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class BuiltStreamlet:
    """The queries of a streamlet, in its session.

    Arguments:
        plan: the streamlet.
        queries: its queries, in the order of its code.
        frames: the rows of each outlet, by query and outlet.
        directory_of: returns the directory of the empty stream of an inlet, which plans contain.
        places: the locations in the project.
        statements: the location of each text that was executed as SQL, by the text.
        in_file: returns a place in the text of a config parameter as a place in the file that sets it.
    """

    plan: StreamletPlan
    queries: tuple[CheckedQuery, ...]
    frames: Mapping[str, Mapping[str, DataFrame]]
    directory_of: Callable[[str], str]
    places: Places
    statements: Mapping[str, SourceLocation]
    in_file: Callable[[Span], Span]
