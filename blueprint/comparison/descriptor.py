"""`ApplicationDescriptor`: an application as it is described in a file, to be compared with what it becomes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from blueprint.avro.model import Contract
from blueprint.diagnostics import Span
from blueprint.hocon.values import Json


@dataclass(frozen=True, slots=True)
class DescribedInlet:
    """An inlet: the id of the topic it reads, its schema, and its settings."""

    topic: str
    contract: Contract
    starting: str = "earliest"
    max_records: int | None = None


@dataclass(frozen=True, slots=True)
class DescribedOutlet:
    """An outlet: the id of the topic it writes, its schema, and what it does with rows."""

    topic: str
    contract: Contract
    partition_by: tuple[str, ...] = ()
    on_invalid: str = "fail"
    extra: str = "fail"


Port = DescribedInlet | DescribedOutlet


Type = str | dict[str, Json]
"""A type of Spark's in a store of state: its name, or `{"struct": [[name, type], ...]}`, `{"array": type}` or
`{"map": [type, type]}`."""

Columns = tuple[tuple[str, Type], ...]


@dataclass(frozen=True, slots=True)
class DescribedStore:
    """A store of a stateful operator: the columns of its keys and of its values."""

    key: Columns
    value: Columns


@dataclass(frozen=True, slots=True)
class DescribedOperator:
    """A stateful operator: Spark's name of it, and its stores by name; None when their columns are not known."""

    name: str
    stores: Mapping[str, DescribedStore] | None = None


@dataclass(frozen=True, slots=True)
class DescribedQuery:
    """A query as its checkpoint tells.

    Arguments:
        sources: names of its sources, an inlet's being its own; None when they are not named.
        operators: Spark's names of the operators that keep state, sorted; () when none does.
        state: those operators in Spark's order, with the columns of their state; None when that is not known.
        windows: what its rows are grouped by in time: `window <length> <slide> <start>` in microseconds, `gap <time>`;
            None when that is not known.
        aliases: other names that a column has in the query, by its name in `state`.
    """

    sources: tuple[str, ...] | None = None
    operators: tuple[str, ...] = ()
    state: tuple[DescribedOperator, ...] | None = field(default=None, compare=False)
    windows: tuple[str, ...] | None = field(default=None, compare=False)
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        """Sort the operators: a plan does not tell the order in which Spark numbers them."""
        object.__setattr__(self, "operators", tuple(sorted(self.operators)))


@dataclass(frozen=True, slots=True)
class BuiltQuery:
    """A query that logic gave: what a description says of it, and where the author asks for it."""

    described: DescribedQuery
    place: Span | None = None


Queries = Mapping[str, Mapping[str, BuiltQuery]]
"""Queries by streamlet and name, of those streamlets whose logic could be built."""


@dataclass(frozen=True, slots=True)
class DescribedStreamlet:
    """A streamlet with what decides whether its checkpoints stay of use.

    Arguments:
        class_name: the class path.
        inlets, outlets: by name.
        parameters: values by key as JSON; those of secrets are `SECRET`.
        trigger: as one writes it in a blueprint, None when the code decides.
        triggers: by query.
        retry, spark, volume_mounts: as in `StreamletPlan`, as text.
        source_evolution: whether sources are named in the checkpoints.
        queries: by name; None when they are not known, because nothing has run yet.
    """

    class_name: str
    inlets: Mapping[str, DescribedInlet] = field(default_factory=dict)
    outlets: Mapping[str, DescribedOutlet] = field(default_factory=dict)
    parameters: Mapping[str, Json] = field(default_factory=dict)
    trigger: str | None = None
    triggers: Mapping[str, str] = field(default_factory=dict)
    retry: Mapping[str, Json] = field(default_factory=dict)
    spark: Mapping[str, Json] = field(default_factory=dict)
    volume_mounts: Mapping[str, str] = field(default_factory=dict)
    source_evolution: bool = True
    queries: Mapping[str, DescribedQuery] | None = None

    @property
    def stateful(self) -> bool | None:
        """Return whether one of its queries keeps state; None when that is not known."""
        return None if self.queries is None else any(query.operators for query in self.queries.values())


@dataclass(frozen=True, slots=True)
class DescribedTopic:
    """A topic.

    Arguments:
        name: on its channel; channel, cluster: where that is.
        managed: whether the application makes it.
        settings: what its channel is told, by dotted keys; those of secrets are `SECRET`.
        written: schemas that records in it were written with, beside those of the present writers.
        empty: whether it is known to have no records, and no writer runs.
    """

    name: str
    channel: str = "delta"
    cluster: str = ""
    managed: bool = True
    settings: Mapping[str, Json] = field(default_factory=dict)
    written: tuple[Contract, ...] = ()
    empty: bool = field(default=False, compare=False)

    @property
    def place(self) -> tuple[str, str, str]:
        """Return what a position in it holds for: another channel, cluster or name is another topic."""
        return self.channel, self.cluster, self.name


@dataclass(frozen=True, slots=True)
class ApplicationDescriptor:
    """An application: streamlets by name, topics by id, and Spark's settings for the whole of it."""

    application: str
    streamlets: Mapping[str, DescribedStreamlet]
    topics: Mapping[str, DescribedTopic]
    spark: Mapping[str, Json] = field(default_factory=dict)
    _inlets: dict[str, dict[tuple[str, str], DescribedInlet]] = field(init=False, repr=False, compare=False)
    _outlets: dict[str, dict[tuple[str, str], DescribedOutlet]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Sort the ports by their topics once: they are asked for by topic, of thousands."""
        inlets: dict[str, dict[tuple[str, str], DescribedInlet]] = defaultdict(dict)
        outlets: dict[str, dict[tuple[str, str], DescribedOutlet]] = defaultdict(dict)
        for ref, streamlet in self.streamlets.items():
            for name, inlet in streamlet.inlets.items():
                inlets[inlet.topic][ref, name] = inlet
            for name, outlet in streamlet.outlets.items():
                outlets[outlet.topic][ref, name] = outlet
        object.__setattr__(self, "_inlets", dict(inlets))
        object.__setattr__(self, "_outlets", dict(outlets))

    def inlets_of(self, topic: str) -> Mapping[tuple[str, str], DescribedInlet]:
        """Return the inlets that read a topic, by streamlet and name."""
        return self._inlets.get(topic, {})

    def outlets_of(self, topic: str) -> Mapping[tuple[str, str], DescribedOutlet]:
        """Return the outlets that write a topic, by streamlet and name."""
        return self._outlets.get(topic, {})
