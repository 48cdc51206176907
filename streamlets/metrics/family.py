"""`Family`: a metric with its labels, and how its values follow from the status of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from streamlets.runner.events.health import StreamletHealth, health_of
from streamlets.runner.events.status import RunStatus, StreamletStatus, UnitStatus

Value = tuple[tuple[str, ...], float]
"""The values of the labels, and the value of the metric."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often a quantity had which value.

    Arguments:
        buckets: for each bound, the number of values up to it; `+Inf` has all values.
        sum: the sum of the values.
    """

    buckets: tuple[tuple[str, float], ...]
    sum: float


@dataclass(frozen=True, slots=True)
class Scene:
    """What the metrics of one scrape are computed from.

    Arguments:
        status: the status of the run.
        now: the current time, in seconds since the epoch.
        topic_bytes: the sizes of the topics, where known.
    """

    status: RunStatus
    now: float
    topic_bytes: Mapping[str, int] = field(default_factory=dict)

    @property
    def health(self) -> tuple[StreamletHealth, ...]:
        """The health of each streamlet, as `flow health` reports it."""
        return health_of(self.status, self.now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A metric.

    Arguments:
        name: its name, with its unit; the name of a counter ends with `_total`.
        kind: a counter begins at 0 with each run.
        labels: the names of its labels.
        help: its meaning, in one sentence.
        values: returns its values.
        histograms: returns the values of a histogram instead.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    help: str
    values: Callable[[Scene], Iterable[Value]] = lambda _: ()
    histograms: Callable[[Scene], Iterable[tuple[tuple[str, ...], Histogram]]] = lambda _: ()


UNIT = ("streamlet", "query")
"""The labels of a unit."""


def of_units(value: Callable[[UnitStatus, float], float | None]) -> Callable[[Scene], Iterator[Value]]:
    """Return a function that computes one value for each unit that has one.

    Arguments:
        value: is called with a unit and the current time; returns None without a value.
    """

    def values(scene: Scene) -> Iterator[Value]:
        for unit in scene.status.units.values():
            if (number := value(unit, scene.now)) is not None:
                yield (unit.unit.streamlet, unit.unit.part), number

    return values


def of_streamlets(value: Callable[[StreamletStatus], float | None]) -> Callable[[Scene], Iterator[Value]]:
    """Return a function that computes one value for each streamlet that has one."""

    def values(scene: Scene) -> Iterator[Value]:
        for streamlet in scene.status.streamlets:
            if (number := value(streamlet)) is not None:
                yield (streamlet.ref,), number

    return values


def by_name(numbers: Callable[[UnitStatus, float], Mapping[str, float]]) -> Callable[[Scene], Iterator[Value]]:
    """Return a function that computes several values for each unit, with a further label.

    Arguments:
        numbers: is called with a unit and the current time, and returns the values by that label.
    """

    def values(scene: Scene) -> Iterator[Value]:
        for unit in scene.status.units.values():
            for name, number in numbers(unit, scene.now).items():
                yield (unit.unit.streamlet, unit.unit.part, name), number

    return values
