"""`Dependencies`: what streamlets require of each other at their start and at their end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from streamlets.runner.supervision.gate import Opening


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies between the streamlets of a run, by the names of the streamlets.

    Arguments:
        producers: for each streamlet, the streamlets that write the topics it reads.
        openings: what its inlets require before it starts; without requirements it starts at once.
        ending: the streamlets that end when their producers have ended, after they have read all that these wrote.
        cycles: for each cycle, its streamlets with the outlets whose topics a streamlet of the cycle reads.
        outlets: the topics whose channels a streamlet waits for before it starts, with the limit of each in seconds.
    """

    producers: Mapping[str, Iterable[str]] = field(default_factory=dict)
    openings: Mapping[str, Iterable[Opening]] = field(default_factory=dict)
    ending: Iterable[str] = ()
    cycles: Iterable[Mapping[str, frozenset[str]]] = ()
    outlets: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
