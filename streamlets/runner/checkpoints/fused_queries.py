"""Which queries are fused into the query of a checkpoint: recorded in it, and changed only between complete batches.

A fused query has the checkpoint of its first streamlet. Its sources stay the same when topics are fused or
stored again; what changes is where a batch is written. A batch that was written must be finished as it was begun.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamlets.api.errors import StreamletError
from streamlets.channels.base import Position, TopicResource
from streamlets.runner.checkpoints.checkpoint import Checkpoint, read_checkpoint
from streamlets.storage.damage import read_whole
from streamlets.storage.files import write_atomically

_FILE = "fused.json"


@dataclass(frozen=True, slots=True)
class FusedQuery:
    """What is fused into a query.

    Arguments:
        queries: the queries of the other streamlets, as `streamlet.query`, in the order of the records.
        topics: the names of the topics between them.
    """

    queries: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


def fused_query(checkpoint: Path) -> FusedQuery:
    """Return the queries that are fused into the query of a checkpoint; none in general.

    Raises:
        DamagedFileError: the record is damaged.
    """
    what, remedy = "the record of fused queries", "restore it from a backup, or reset the checkpoint"
    return read_whole(checkpoint / _FILE, _parsed, what, remedy) or FusedQuery()


def fused_topics(checkpoints: Path) -> Iterator[tuple[str, str]]:
    """Yield the name of each topic that is fused, with the query that its records pass, as `streamlet.query`.

    Arguments:
        checkpoints: the directory of the checkpoints of an application.
    """
    for file in sorted(checkpoints.glob(f"*/*/{_FILE}")):
        query = f"{file.parent.parent.name}.{file.parent.name}"
        for topic in fused_query(file.parent).topics:
            yield topic, query


def require_topology(
    checkpoint: Checkpoint, fused: FusedQuery, may_have_written: Callable[[Checkpoint, int], bool]
) -> None:
    """Require that a query may run with what is fused into it now, and record it in the checkpoint.

    Arguments:
        checkpoint: the checkpoint of the query.
        fused: what is fused into it now.
        may_have_written: returns whether a batch of it may have been written.

    Raises:
        StreamletError: its last batch was begun with other queries, and may have been written.
        OSError: it cannot be recorded.
    """
    recorded = fused_query(checkpoint.directory)
    if recorded == fused:
        return
    if checkpoint.planned is not None and may_have_written(checkpoint, checkpoint.planned.number):
        was = ", ".join(recorded.queries) or "no other query"
        raise StreamletError(
            f"the batch {checkpoint.planned.number} of `{checkpoint.name}` is not finished, and was begun with {was} "
            "fused into it: run it once with the earlier settings and code to finish the batch (`flow run "
            "--available-now`), then change which topics are fused"
        )
    file = checkpoint.directory / _FILE
    if not fused.queries:
        file.unlink(missing_ok=True)
        return
    checkpoint.directory.mkdir(parents=True, exist_ok=True)
    content = {"queries": list(fused.queries), "topics": list(fused.topics)}
    write_atomically(file, json.dumps(content) + "\n", durable=True)


def unread(readers: Sequence[tuple[Path, TopicResource]]) -> str:
    """Return why records of topics would be lost if they were fused now; "" if all were read.

    Arguments:
        readers: the checkpoint of the reader of each topic, and the topic.
    """
    for directory, topic in readers:
        checkpoint = read_checkpoint(directory)
        if checkpoint.planned is not None:
            return f"the batch {checkpoint.planned.number} of `{checkpoint.name}` is not finished yet"
        if not topic.exists():
            continue
        positions = checkpoint.committed.positions.values() if checkpoint.committed is not None else ()
        position = next((at for at in map(Position, positions) if topic.owns(at)), None)
        records = topic.count(position, topic.end())
        if records:
            return f"`{checkpoint.name}` has not read {records:,} records of the topic `{topic.plan.id}` yet"
    return ""


def _parsed(data: bytes) -> FusedQuery:
    content = json.loads(data)
    return FusedQuery(tuple(map(str, content["queries"])), tuple(map(str, content["topics"])))
