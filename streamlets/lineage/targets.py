"""Columns by the names that users write, with nested fields.

They are `COLUMN`, `TOPIC.COLUMN`, `STREAMLET.PORT.COLUMN` and, for what a query writes to a sink,
`STREAMLET.QUERY.COLUMN`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from blueprint.avro.model import Contract
from blueprint.spelling import alternatives, did_you_mean, listing
from blueprint.spelling import near as near_names
from streamlets.lineage.application import ApplicationLineage, field_at
from streamlets.lineage.model import ColumnPath


@dataclass(frozen=True, slots=True)
class Target:
    """A column of a topic, or of what a query writes to a sink.

    Arguments:
        topic: the topic; "" for a sink.
        path: the column, followed by the names of nested fields.
        writers: the streamlets whose records are meant; None for all that write the topic.
        query: the name of the query that writes to a sink, with its streamlet; None for a topic.
    """

    topic: str
    path: ColumnPath
    writers: frozenset[str] | None = None
    query: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        """Its name for users."""
        return ".".join((*(self.query or (self.topic,)), *self.path))


class UnknownColumnError(Exception):
    """No column has the name.

    Arguments:
        message: the name.
        help: the names that may have been meant.
    """

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


def targets_of(lineage: ApplicationLineage, name: str) -> tuple[Target, ...]:
    """Return the columns that a name means; the name of a topic means all of its columns.

    Arguments:
        lineage: the application; its streamlets need not be built.
        name: the name.

    Raises:
        UnknownColumnError: no column has the name.
    """
    named = dict.fromkeys([*_in_topics(lineage, name), *_at_ports(lineage, name), *_at_sinks(lineage, name)])
    found = tuple(named) or tuple(_alone(lineage, name))
    if not found and any(topic.id == name for topic in lineage.plan.topics):
        found = tuple(Target(name, (column,)) for column in lineage.columns(name))
    if found:
        return found
    raise UnknownColumnError(f"there is no column or topic `{name}`", _help(lineage, name))


def all_targets(lineage: ApplicationLineage) -> Iterator[Target]:
    """Yield the columns of all topics, then the columns that queries write to sinks."""
    for topic in lineage.plan.topics:
        yield from (Target(topic.id, (column,)) for column in lineage.columns(topic.id))
    yield from _sink_columns(lineage)


def may_be_of_sink(lineage: ApplicationLineage, name: str) -> bool:
    """Return whether a name may be a column that a query writes to a sink, which is known once its logic is built."""
    columns = any(lineage.columns(topic.id) for topic in lineage.plan.topics)
    streamlets = [streamlet.ref for streamlet in lineage.plan.streamlets if streamlet.kind.on_spark]
    if not columns:  # the streamlets of a SQL job have sinks only
        return bool(streamlets)
    of_topic = any(name.startswith(f"{topic.id}.") for topic in lineage.plan.topics)
    return any(
        (name == ref or name.startswith(f"{ref}.")) and ("." in name[len(ref) + 1 :] or not of_topic)
        for ref in streamlets
    )


def _sink_columns(lineage: ApplicationLineage) -> Iterator[Target]:
    for ref, known in lineage.streamlets.items():
        for output in known.outputs:
            if not output.outlet:
                yield from (Target("", path, None, (ref, output.query)) for path in output.columns if len(path) == 1)


def _at_sinks(lineage: ApplicationLineage, name: str) -> Iterator[Target]:
    for target in _sink_columns(lineage):
        if name in (target.name, target.query and target.query[0], target.query and ".".join(target.query)):
            yield target
        elif name.startswith(f"{target.name}."):
            yield replace(target, path=(*target.path, *name[len(target.name) + 1 :].split(".")))


def _help(lineage: ApplicationLineage, name: str) -> str:
    """Return the names that may have been meant."""
    columns = {topic.id: list(lineage.columns(topic.id)) for topic in lineage.plan.topics}
    topic = next((topic for topic in columns if name.startswith(f"{topic}.")), None)
    if topic is not None:
        near = near_names(name[len(topic) + 1 :], columns[topic])
        if near:
            return f"did you mean {alternatives(f'{topic}.{column}' for column in near)}?"
        return f"the columns of `{topic}` are {listing(columns[topic])}"
    whole = [target.name for target in all_targets(lineage)]
    alone = dict.fromkeys([*columns, *(column for own in columns.values() for column in own)])
    near = did_you_mean(name, whole) or did_you_mean(name, alone)
    return near[0] if near else f"the topics are {listing(columns)}" if columns else "the application has no topics"


def _in_topics(lineage: ApplicationLineage, name: str) -> Iterator[Target]:
    for topic in lineage.plan.topics:
        if name.startswith(f"{topic.id}."):
            yield from _target(lineage, topic.id, name[len(topic.id) + 1 :])


def _at_ports(lineage: ApplicationLineage, name: str) -> Iterator[Target]:
    for streamlet in lineage.plan.streamlets:
        for outlet in streamlet.outlets:
            path = _path_at(outlet.contract, f"{streamlet.ref}.{outlet.name}.", name)
            if path is not None:
                yield Target(outlet.topic, path, frozenset({streamlet.ref}))
        for inlet in streamlet.inlets:
            path = _path_at(inlet.contract, f"{streamlet.ref}.{inlet.name}.", name)
            written = lineage.path_in_topic(inlet, path) if path is not None else None
            if written is not None:
                yield Target(inlet.topic, written)


def _path_at(contract: Contract, start: str, name: str) -> ColumnPath | None:
    """Return the path of a name that begins with a port; None if it does not, or the contract does not have it."""
    path = tuple(name.removeprefix(start).split("."))
    return path if name.startswith(start) and field_at(contract, path) is not None else None


def _alone(lineage: ApplicationLineage, name: str) -> Iterator[Target]:
    in_topics = [target for topic in lineage.plan.topics for target in _target(lineage, topic.id, name)]
    yield from in_topics or (target for target in _sink_columns(lineage) if ".".join(target.path) == name)


def _target(lineage: ApplicationLineage, topic: str, name: str) -> Iterator[Target]:
    path = tuple(name.split("."))
    for contract in lineage.contracts(topic):
        if field_at(contract, path) is not None:
            yield Target(topic, path)
            return
