"""`ApplicationDescriptor`: an application as described in a file, to be compared with a later version of it.

The fields are the keys of the file; `codec.py` reads and writes them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from blueprint.avro.model import Contract
from blueprint.comparison.codec import key
from blueprint.diagnostics import Span
from blueprint.hocon.values import Json


@dataclass(frozen=True, slots=True)
class DescribedInlet:
    """An inlet: the id of the topic it reads, its schema, and its settings.

    `opening` has the settings that decide when its streamlet starts, without those that have their default.
    """

    topic: str
    contract: Contract
    starting: str = "earliest"
    max_records: int | None = None
    on_invalid: str = field(default="fail", metadata=key(sparse=True))
    opening: Mapping[str, Json] = field(default_factory=dict, metadata=key(sparse=True))


@dataclass(frozen=True, slots=True)
class DescribedOutlet:
    """An outlet: the id of the topic it writes, its schema, and its settings.

    `returns` is the condition under which its records return into a cycle, and `otherwise` the outlet of the others.
    `opening` is as for an inlet. `channel` has the settings that the channel of its topic adds.
    """

    topic: str
    contract: Contract
    partition_by: tuple[str, ...] = ()
    on_invalid: str = "fail"
    extra: str = "fail"
    returns: str | None = field(default=None, metadata=key(sparse=True))
    otherwise: str | None = field(default=None, metadata=key(sparse=True))
    opening: Mapping[str, Json] = field(default_factory=dict, metadata=key(sparse=True))
    channel: Mapping[str, Json] = field(default_factory=dict, metadata=key(sparse=True))


Port = DescribedInlet | DescribedOutlet


Type = str | dict[str, Json]
"""A Spark type in a state store: its name, or `{"struct": [[name, type], ...]}`, `{"array": type}` or
`{"map": [type, type]}`."""

Columns = tuple[tuple[str, Type], ...]


@dataclass(frozen=True, slots=True)
class DescribedStore:
    """A store of a stateful operator: the columns of its keys and of its values."""

    key: Columns
    value: Columns


@dataclass(frozen=True, slots=True)
class DescribedOperator:
    """A stateful operator: its name in Spark, and its stores by name; None when their columns are not known."""

    name: str = field(metadata=key("operator"))
    stores: Mapping[str, DescribedStore] | None = field(default=None, metadata=key(sparse=True))


@dataclass(frozen=True, slots=True)
class OperatorLogic:
    """What determines the content of the state of an operator.

    Arguments:
        name: its name in Spark, or `watermark`.
        parts: its keys, aggregate functions and other parts in their order, each as its role (`key`, `value`) and its
            text, in which columns are followed to the sources (`source.column`).
    """

    name: str = field(metadata=key("operator"))
    parts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DescribedLogic:
    """What determines the content of the state of a query, and which records are in it.

    Arguments:
        operators: the stateful operators and watermarks, from the sources upwards.
        rules: everything else that decides which records are in state, and how results are made of it: filters, joins
            with tables, delays of watermarks, the output mode, result columns.
        settings: the effective Spark settings that change what expressions mean.
        form: how the texts are written; texts of different forms are not comparable.
    """

    operators: tuple[OperatorLogic, ...] = ()
    rules: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    form: int = 0


@dataclass(frozen=True, slots=True)
class DescribedQuery:
    """A query as described by its checkpoint.

    Arguments:
        sources: the names of its sources, for inlets their own; None when sources are not named.
        operators: Spark's names of its stateful operators, sorted; () when there are none.
        state: its stateful operators in Spark's order, with the columns of their state; None when not known.
        windows: the time windows by which its rows are grouped, as `window <length> <slide> <start>` in microseconds or
            `gap <time>`; None when not known.
        aliases: the other names of a column in the query, by its name in `state`.
        logic: what determines the content of its state; None when not known, or without state.
    """

    sources: tuple[str, ...] | None = None
    operators: tuple[str, ...] = ()
    state: tuple[DescribedOperator, ...] | None = field(default=None, compare=False, metadata=key(sparse=True))
    windows: tuple[str, ...] | None = field(default=None, compare=False, metadata=key(sparse=True))
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False, metadata=key(sparse=True))
    logic: DescribedLogic | None = field(default=None, compare=False, metadata=key(sparse=True))

    def __post_init__(self) -> None:
        """Sort the operators: a plan does not have the order in which Spark numbers them."""
        object.__setattr__(self, "operators", tuple(sorted(self.operators)))


@dataclass(frozen=True, slots=True)
class BuiltQuery:
    """A query that logic returned: its description, and the place where the author creates it."""

    described: DescribedQuery
    place: Span | None = None


Queries = Mapping[str, Mapping[str, BuiltQuery]]
"""The queries of the streamlets whose logic could be built, by streamlet and name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedStreamlet:
    """A streamlet, with everything that decides whether its checkpoints stay valid.

    Arguments:
        class_name: the class path.
        inlets: the inlets by name.
        outlets: the outlets by name.
        parameters: the values by key as JSON, with `SECRET` in place of secrets.
        trigger: the trigger in the notation of a blueprint, None when the code decides.
        triggers: the triggers of single queries by name.
        retry: as in `StreamletPlan`, as JSON.
        spark: as in `StreamletPlan`, as JSON.
        volume_mounts: as in `StreamletPlan`.
        source_evolution: whether sources are named in the checkpoints.
        replicas: the number of tasks that work side by side; None if it is not set.
        supervision: the settings of `SUPERVISION` that do not have their default.
        group: the group that shares a driver process; None if it is not set. Its changes are not compared.
        queries: the queries by name; None when they are not known, because the streamlet has not run yet.
    """

    class_name: str = field(metadata=key("class"))
    inlets: Mapping[str, DescribedInlet] = field(default_factory=dict)
    outlets: Mapping[str, DescribedOutlet] = field(default_factory=dict)
    parameters: Mapping[str, Json] = field(default_factory=dict)
    trigger: str | None = None
    triggers: Mapping[str, str] = field(default_factory=dict)
    retry: dict[str, Json] = field(default_factory=dict)
    spark: Mapping[str, Json] = field(default_factory=dict)
    volume_mounts: Mapping[str, str] = field(default_factory=dict)
    source_evolution: bool = True
    replicas: int | None = field(default=None, metadata=key(sparse=True))
    supervision: Mapping[str, Json] = field(default_factory=dict, metadata=key(sparse=True))
    group: str | None = field(default=None, compare=False, metadata=key(sparse=True))
    queries: Mapping[str, DescribedQuery] | None = field(default=None, metadata=key(sparse=True))

    @property
    def stateful(self) -> bool | None:
        """Return whether one of its queries keeps state; None when not known."""
        return None if self.queries is None else any(query.operators for query in self.queries.values())


@dataclass(frozen=True, slots=True)
class DescribedTopic:
    """A topic.

    Arguments:
        name: the name on its channel.
        channel: the channel.
        cluster: the cluster of the channel, "" for none.
        managed: whether the application creates the topic.
        settings: the settings of the topic by dotted keys, with `SECRET` in place of secrets.
        written: the schemas of its records, without the current writers' schemas, in the order of their fingerprints.
        empty: whether it is known to have no records and no running writer.
    """

    name: str
    channel: str = field(default="delta", metadata=key(required=True))
    cluster: str = ""
    managed: bool = True
    settings: Mapping[str, Json] = field(default_factory=dict)
    written: tuple[Contract, ...] = field(default=(), metadata=key(sparse=True))
    empty: bool = field(default=False, compare=False, metadata=key(written=False))

    def __post_init__(self) -> None:
        """Sort the schemas, so that equal topics give equal files."""
        object.__setattr__(self, "written", tuple(sorted(self.written, key=lambda contract: contract.fingerprint)))

    @property
    def place(self) -> tuple[str, str, str]:
        """Return the identity of the topic: positions are not valid for another channel, cluster or name."""
        return self.channel, self.cluster, self.name


@dataclass(frozen=True, slots=True)
class ApplicationDescriptor:
    """An application: streamlets by name, topics by id, and the Spark settings of the whole application."""

    application: str = field(metadata=key(default=""))
    streamlets: Mapping[str, DescribedStreamlet]
    topics: Mapping[str, DescribedTopic]
    spark: Mapping[str, Json] = field(default_factory=dict)
    _inlets: dict[str, dict[tuple[str, str], DescribedInlet]] = field(init=False, repr=False, compare=False)
    _outlets: dict[str, dict[tuple[str, str], DescribedOutlet]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the ports by topic once, because an application may have thousands."""
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
