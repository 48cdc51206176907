"""What an application was when it last ran: the descriptor in its state folder, and what only a run can tell.

A run stores its descriptor as it begins. Which queries there are, what they read and which keep state, is read from
their checkpoints; which schemas records were written with, from the tables of the topics. Both need no Spark.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from blueprint.avro.model import Contract
from blueprint.comparison import (
    ApplicationDescriptor,
    Described,
    DescribedQuery,
    describe_plan,
    read_descriptor,
    to_json,
)
from blueprint.hocon import shown_name
from blueprint.plan import ApplicationPlan
from streamlets.channels.base import TopicLostError
from streamlets.channels.delta.inspection import contracts, topics_in
from streamlets.runner.checkpoints.reading import checkpoints_in, latest
from streamlets.runner.checkpoints.state_columns import state_of, windows_of
from streamlets.runner.state_directory.directory import StateDirectory, StateError, read_status, write_atomically


def store_descriptor(state: StateDirectory, plan: ApplicationPlan) -> None:
    """Keep what the application is, for whoever upgrades it; to be called by the owner of the folder.

    Raises:
        StateError: the folder cannot be written.
    """
    file = state.descriptor_file
    try:
        write_atomically(file, to_json(describe_plan(plan)), durable=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StateError(f"{file} cannot be written: {reason}", "free space or correct the permissions") from error


def descriptor_text(state: StateDirectory) -> str | None:
    """Return the descriptor in a state directory, as text; None when there is none.

    Raises:
        OSError, UnicodeDecodeError: it cannot be read.
    """
    file = state.descriptor_file
    return file.read_text(encoding="utf-8") if file.is_file() else None


def deployed(state: StateDirectory) -> Described | None:
    """The application as it last ran, with its queries and all schemas that its topics hold; None when none ran.

    Raises:
        DescriptorError: the descriptor in the folder is none.
        OSError, UnicodeDecodeError: it cannot be read.
    """
    text = descriptor_text(state)
    if text is None:
        return None
    read = read_descriptor(text, shown_name(state.descriptor_file))
    return replace(read, descriptor=as_run(read.descriptor, state))


def holds_state(state: StateDirectory) -> bool:
    """Whether a state directory has anything that a change could lose: a checkpoint of a query, or records."""
    return bool(checkpoints_in(state.checkpoints)) or any(_written(topic) for topic in topics_in(state.topics))


def as_run(descriptor: ApplicationDescriptor, state: StateDirectory) -> ApplicationDescriptor:
    """A descriptor with what a state folder knows: queries as their checkpoints tell, the schemas of written records.

    Queries that the descriptor has are all there are; else those of the last run are, and the checkpoints of earlier
    ones, which stay in the folder, are not.
    """
    ran = _ran(state)
    streamlets = {}
    for ref, one in descriptor.streamlets.items():
        found = _queries(state.checkpoints / ref)
        present = one.queries if one.queries is not None else ran.get(ref) or found
        told = {name: found.get(name, (one.queries or {}).get(name)) for name in present}
        known = {name: query for name, query in told.items() if query is not None}
        streamlets[ref] = replace(one, queries=known) if found or one.queries is not None else one
    topics = {}
    for id, topic in descriptor.topics.items():
        present = {outlet.contract.fingerprint for outlet in descriptor.outlets_of(id).values()}
        written = _written(state.topics / topic.name) if topic.channel == "delta" else ()
        topics[id] = replace(topic, written=tuple(one for one in written if one.fingerprint not in present))
    return replace(descriptor, streamlets=streamlets, topics=topics)


def _ran(state: StateDirectory) -> dict[str, set[str]]:
    """The queries of the last run by streamlet, as far as its status tells."""
    told: Any = read_status(state) or {}
    try:
        queries = {each["ref"]: {unit["query"] for unit in each["units"]} - {""} for each in told["streamlets"]}
    except (KeyError, TypeError):  # no run has told any, or one of another release
        return {}
    return {ref: names for ref, names in queries.items() if names}


def _queries(folder: Path) -> dict[str, DescribedQuery]:
    """The queries that have a checkpoint, by name."""
    checkpoints = sorted(one for one in folder.iterdir() if (one / "metadata").is_file()) if folder.is_dir() else []
    return {one.name: _query(one) for one in checkpoints}


def _query(checkpoint: Path) -> DescribedQuery:
    state = state_of(checkpoint)
    operators = tuple(operator.name for operator in state)
    return DescribedQuery(_sources(checkpoint), operators, state, windows_of(checkpoint))


def _sources(checkpoint: Path) -> tuple[str, ...] | None:
    """The names of a query's sources, read from the last batch that it planned; None when they have none."""
    offsets = checkpoint / "offsets"
    batch = latest(offsets)
    if batch is None:
        return None
    version, *lines = (offsets / str(batch)).read_text(encoding="utf-8").splitlines() or [""]
    if version != "v2":  # by their order, without names
        return None
    return tuple(sorted(line.partition(":")[0] for line in lines[1:] if line))  # the first is about the batch


def _written(topic: Path) -> tuple[Contract, ...]:
    try:
        return contracts(topic)
    except (TopicLostError, OSError):  # nothing has been written yet, or the topic is gone
        return ()
