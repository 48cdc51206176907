"""The application as it last ran: the descriptor in its state directory, completed from checkpoints and topics.

A run stores its descriptor when it starts. The queries, their sources and their state operators are read from the
checkpoints, the schemas of written records from the tables of the topics. Neither needs Spark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from blueprint.avro.model import Contract
from blueprint.comparison import (
    ApplicationDescriptor,
    Change,
    Described,
    DescribedQuery,
    compare,
    describe_plan,
    read_descriptor,
    to_json,
)
from blueprint.comparison.codec import DescriptorError
from blueprint.comparison.descriptor import DescribedInlet, DescribedOutlet
from blueprint.hocon import shown_name
from blueprint.plan import ApplicationPlan, TopicPlan
from streamlets.channels.base import TopicLostError, TopicResource
from streamlets.runner.checkpoints.checkpoint import checkpoints_in, latest
from streamlets.runner.checkpoints.state_columns import recorded_logic, state_of, windows_of
from streamlets.runner.events.status_file import read_status
from streamlets.runner.state_directory.directory import StateDirectory, StateError
from streamlets.runner.topics import stored_topics, topics_without_channel
from streamlets.storage.files import write_atomically

_VERSION_DIGITS = 12


def store_descriptor(state: StateDirectory, plan: ApplicationPlan) -> None:
    """Store an application's descriptor, to compare the next version with. To be called by the directory's owner.

    The descriptor of the version before is kept, so that people can see what has changed.

    Raises:
        StateError: the file cannot be written.
    """
    file, text = state.descriptor_file, to_json(describe_plan(plan))
    try:
        before = file.read_bytes() if file.is_file() else b""
        if before not in (b"", text.encode()):
            write_atomically(state.previous_descriptor_file, before.decode(errors="replace"), durable=True)
        write_atomically(file, text, durable=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StateError(f"cannot write {file}: {reason}", "free disk space or correct the permissions") from error


def with_version(plan: ApplicationPlan) -> ApplicationPlan:
    """Return a plan whose streamlets have the version of the application: the beginning of the SHA-256 of its stored
    descriptor."""
    version = hashlib.sha256(to_json(describe_plan(plan)).encode()).hexdigest()[:_VERSION_DIGITS]
    return replace(plan, streamlets=tuple(replace(streamlet, version=version) for streamlet in plan.streamlets))


def descriptor_text(state: StateDirectory) -> str | None:
    """Return the descriptor in a state directory as text; None without one.

    Raises:
        OSError, UnicodeDecodeError: it cannot be read.
    """
    file = state.descriptor_file
    return file.read_text(encoding="utf-8") if file.is_file() else None


def deployed(state: StateDirectory, plans: Sequence[TopicPlan] = ()) -> Described | None:
    """Return the application as it last ran, with its queries and the schemas of all records; None if it never ran.

    Arguments:
        state: its state directory.
        plans: the topics of the current version, whose settings have the secrets that a channel does not store.

    Raises:
        DescriptorError: the descriptor in the state directory is invalid.
        OSError, UnicodeDecodeError: it cannot be read.
    """
    text = descriptor_text(state)
    if text is None:
        return None
    read = read_descriptor(text, shown_name(state.descriptor_file))
    return replace(read, descriptor=as_run(read.descriptor, state, plans))


def running(state: StateDirectory) -> ApplicationDescriptor | None:
    """Return the running version of an application, as its run has described it; None when it is not running.

    Raises:
        DescriptorError: the descriptor in the state directory is invalid.
        OSError, UnicodeDecodeError: it cannot be read.
    """
    return described(state) if state.owner() is not None else None


def described(state: StateDirectory) -> ApplicationDescriptor | None:
    """Return the version of an application that last ran, as its run has described it; None if it never ran.

    Raises:
        DescriptorError: the descriptor in the state directory is invalid.
        OSError, UnicodeDecodeError: it cannot be read.
    """
    text = descriptor_text(state)
    return None if text is None else read_descriptor(text, shown_name(state.descriptor_file)).descriptor


def last_run(state: StateDirectory) -> ApplicationDescriptor | None:
    """Return the version of an application whose status is stored, also after its topics and checkpoints were deleted.

    Raises:
        DescriptorError: its descriptor is invalid.
        OSError, UnicodeDecodeError: it cannot be read.
    """
    current, file = described(state), state.last_run_file
    if (current is not None and current.streamlets) or not file.is_file():
        return current
    return read_descriptor(file.read_text(encoding="utf-8"), shown_name(file)).descriptor


def keep_last_run(state: StateDirectory) -> None:
    """Keep the descriptor of the last run beside its status, before it is deleted. To be called by the owner.

    Raises:
        OSError: it cannot be written.
    """
    try:
        text, current = descriptor_text(state), described(state)
    except (DescriptorError, UnicodeDecodeError):
        return
    if text is not None and current is not None and current.streamlets:  # it was not replaced before a kill
        write_atomically(state.last_run_file, text, durable=True)


@dataclass(frozen=True, slots=True)
class VersionChange:
    """What a new version of an application has changed.

    Arguments:
        since: when it ran first, in seconds since the epoch.
        changes: its changes, the strongest first.
    """

    since: float
    changes: tuple[Change, ...]


def last_change(state: StateDirectory) -> VersionChange | None:
    """Return the changes between the version that ran last and the one before; None if there was only one.

    The queries of both versions are those with a checkpoint.

    Raises:
        DescriptorError: a descriptor in the state directory is invalid.
        OSError, UnicodeDecodeError: one cannot be read.
    """
    file, current = state.previous_descriptor_file, described(state)
    if current is None or not file.is_file():
        return None
    before = read_descriptor(file.read_text(encoding="utf-8"), shown_name(file)).descriptor
    changes = compare(_with_queries(before, state), _with_queries(current, state))
    return VersionChange(file.stat().st_mtime, changes)


def holds_state(state: StateDirectory, plans: Sequence[TopicPlan] = ()) -> bool:
    """Return whether a state directory has a checkpoint of a query, or records, which a change could lose.

    Topics whose channel is not installed may have records. For the arguments see `deployed`.
    """
    if checkpoints_in(state.checkpoints) or topics_without_channel(state):
        return True
    return any(_written(topic) for topic in stored_topics(state, plans))


def as_run(
    descriptor: ApplicationDescriptor, state: StateDirectory, plans: Sequence[TopicPlan] = ()
) -> ApplicationDescriptor:
    """Return a descriptor completed with the queries and the schemas of written records from a state directory.

    A streamlet has the queries of the descriptor if there are any, otherwise the queries of the last run. Checkpoints
    of earlier queries stay in the state directory and are ignored.
    """
    descriptor = _with_queries(descriptor, state)
    resources = {(topic.plan.channel, topic.plan.name): topic for topic in stored_topics(state, plans)}
    topics = {}
    for id, topic in descriptor.topics.items():
        current = {outlet.contract.fingerprint for outlet in descriptor.outlets_of(id).values()}
        resource = resources.get((topic.channel, topic.name))
        written = _written(resource) if resource is not None else None
        earlier = tuple(contract for contract in written or () if contract.fingerprint not in current)
        topics[id] = replace(topic, written=earlier, empty=written == () and state.owner() is None)
    return replace(descriptor, topics=topics)


def _with_queries(descriptor: ApplicationDescriptor, state: StateDirectory) -> ApplicationDescriptor:
    """Return a descriptor with the queries of a state directory, see `as_run`."""
    last_run = _queries_of_last_run(state)
    streamlets = {}
    for described_ref, streamlet in descriptor.streamlets.items():
        queries_before = last_run.get(described_ref, set())
        ref = _moved(described_ref, queries_before, set(descriptor.streamlets), state)
        stored = _queries_with_checkpoint(state.checkpoints / ref)
        names = streamlet.queries if streamlet.queries is not None else _moved_queries(queries_before, stored) or stored
        merged = {name: stored.get(name, (streamlet.queries or {}).get(name)) for name in names}
        queries = {name: query for name, query in merged.items() if query is not None}
        known = bool(stored) or streamlet.queries is not None
        streamlets[ref] = replace(streamlet, queries=queries) if known else streamlet
    return replace(descriptor, streamlets=streamlets)


def _moved(ref: str, queries: set[str], known: set[str], state: StateDirectory) -> str:
    """Return the name under which a streamlet's checkpoints are found: a rename of their directory renames it.

    Arguments:
        queries: the queries of its last run.
        known: all streamlets of the last run.
    """
    if not queries or (state.checkpoints / ref).exists():
        return ref
    directories = [path for path in state.checkpoints.glob("*") if path.name not in known and path.is_dir()]
    moved = [path.name for path in directories if set(_queries_with_checkpoint(path)) == queries]
    return moved[0] if len(moved) == 1 else ref


def _moved_queries(queries: set[str], stored: Mapping[str, DescribedQuery]) -> set[str]:
    """Return the queries of a last run; a rename of the directory of one renames it."""
    missing, others = queries - set(stored), set(stored) - queries
    return queries - missing | others if len(missing) == len(others) == 1 else queries


def _queries_of_last_run(state: StateDirectory) -> dict[str, set[str]]:
    """Return the names of the last run's queries by streamlet, from its status file."""
    written = read_status(state.status_file)
    queries: dict[str, set[str]] = {}
    for unit in written.status.units if written is not None else ():
        if unit.part:
            queries.setdefault(unit.streamlet, set()).add(unit.part)
    return queries


def _queries_with_checkpoint(directory: Path) -> dict[str, DescribedQuery]:
    """Return the queries that have a checkpoint, by name."""
    entries = sorted(directory.iterdir()) if directory.is_dir() else []
    return {entry.name: _query(entry) for entry in entries if (entry / "metadata").is_file()}


def _query(checkpoint: Path) -> DescribedQuery:
    state = state_of(checkpoint)
    operators = tuple(operator.name for operator in state)
    logic = recorded_logic(checkpoint) if operators else None
    return DescribedQuery(_sources(checkpoint), operators, state, windows_of(checkpoint), logic=logic)


def _sources(checkpoint: Path) -> tuple[str, ...] | None:
    """Return the names of a query's sources, read from the last batch that it planned; None if they have no names."""
    offsets = checkpoint / "offsets"
    batch = latest(offsets)
    if batch is None:
        return None
    version, *lines = (offsets / str(batch)).read_text(encoding="utf-8").splitlines() or [""]
    if version != "v2":  # older versions list the sources by their order, without names
        return None
    return tuple(sorted(line.partition(":")[0] for line in lines[1:] if line))  # the first line describes the batch


def _written(topic: TopicResource) -> tuple[Contract, ...] | None:
    """Return the schemas of the records in a topic; None if they cannot be read."""
    try:
        return topic.contracts()
    except (TopicLostError, OSError):  # nothing has been written yet, or the topic was deleted
        return None


def schema_of(state: StateDirectory, topic: str, *, written: bool = False) -> Contract | None:
    """Return the schema that an inlet, or else an outlet, had for a topic in the last run; None if there is none.

    Arguments:
        state: the state directory of the application.
        topic: the id of the topic.
        written: whether an outlet comes first: its schema has all fields, while an inlet may read some of them.
    """
    text = descriptor_text(state)
    if text is None:
        return None
    try:
        descriptor = read_descriptor(text, str(state.descriptor_file)).descriptor
    except DescriptorError:
        return None
    streamlets = descriptor.streamlets.values()
    inlets = (inlet for streamlet in streamlets for inlet in streamlet.inlets.values())
    outlets = (outlet for streamlet in streamlets for outlet in streamlet.outlets.values())
    ports = chain[DescribedInlet | DescribedOutlet](*((outlets, inlets) if written else (inlets, outlets)))
    return next((port.contract for port in ports if port.topic == topic), None)
