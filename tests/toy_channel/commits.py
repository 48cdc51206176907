"""The commits of a topic: Arrow files with consecutive numbers, each of which is created once."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract
from blueprint.catalog import ChannelTraits
from streamlets.channels.base import TopicLostError
from streamlets.channels.metadata import with_metadata
from streamlets.channels.records import conversion, fitted
from streamlets.contract.types import arrow_schema
from streamlets.storage import objects

TRAITS = ChannelTraits(name="toy", reserved=("_",), purges=True)
MARKER = "topic.json"


@dataclass(frozen=True, slots=True)
class Header:
    """The description of a commit, in the metadata of its file.

    Arguments:
        contract: the contract of its records, as JSON.
        writer: the id of the writer.
        sequence: the number of the writer's write; -1 before its first one.
        time: the time of the commit, in milliseconds since the epoch.
        records: the number of its records.
        epoch: the epoch of the writer.
        marker: the last marker of the writer, in Base64; None without one.
    """

    contract: str
    writer: str
    sequence: int
    time: int
    records: int
    epoch: int = 0
    marker: str | None = None

    @property
    def marker_bytes(self) -> bytes | None:
        """The last marker of the writer; None without one."""
        return base64.b64decode(self.marker) if self.marker is not None else None


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its file, its number and its header."""

    path: Path
    number: int
    header: Header

    def read(self, reader: Contract | None, *, metadata: bool) -> Iterator[pa.RecordBatch]:
        """Yield its records with the schema of a reader, or that of the writer."""
        convert = conversion(parse_contract(self.header.contract), reader)
        with pa.ipc.open_file(self.path) as file:
            done = 0
            for number in range(file.num_record_batches):
                batch = file.get_batch(number)
                records = convert(batch)
                yield with_metadata(records, str(self.number), done, self.header.time) if metadata else records
                done += batch.num_rows


def create_topic(topic: Path) -> None:
    """Create the directory of a topic, unless it exists."""
    topic.mkdir(parents=True, exist_ok=True)
    objects.put_if_absent(topic / MARKER, json.dumps({"id": str(uuid.uuid4())}).encode())


def topic_id(topic: Path) -> str:
    """Return the id of a topic.

    Raises:
        TopicLostError: the directory has no topic.
    """
    data = objects.read(topic / MARKER)
    if data is None:
        raise TopicLostError(f"the directory of topic `{topic.name}` does not exist ({topic})")
    return str(json.loads(data)["id"])


def end_of(topic: Path) -> int:
    """Return the number of the next commit.

    Raises:
        TopicLostError: the directory has no topic.
    """
    topic_id(topic)
    return max((int(path.stem) + 1 for path in topic.glob("*.arrow")), default=0)


def commits_of(topic: Path, start: int = 0, end: int | None = None) -> list[Commit]:
    """Return the commits with numbers from `start` until before `end`, which is that of the topic by default."""
    commits = []
    for number in range(start, end_of(topic) if end is None else end):
        path = _path(topic, number)
        with pa.ipc.open_file(path) as file:
            commits.append(Commit(path, number, Header(**json.loads(file.schema.metadata[b"header"]))))
    return commits


def add_commit(topic: Path, number: int, header: Header, batches: Iterable[pa.RecordBatch]) -> bool:
    """Create the file of a commit, unless its number is taken; return whether it was created."""
    return objects.put_if_absent(_path(topic, number), _encoded(header, batches))


def empty_commit(commit: Commit) -> None:
    """Drop the records of a commit. The commit itself stays, because readers have positions by its number."""
    objects.replace(commit.path, _encoded(replace(commit.header, records=0), []))


def _encoded(header: Header, batches: Iterable[pa.RecordBatch]) -> bytes:
    """Return the content of the file of a commit; its header has the number of its records."""
    schema = arrow_schema(parse_contract(header.contract))
    records = [fitted(batch, schema) for batch in batches]
    content = {name: getattr(header, name) for name in header.__slots__}
    content["records"] = sum(batch.num_rows for batch in records)
    described = schema.with_metadata({"header": json.dumps(content)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, described) as writer:
        for batch in records:
            writer.write_batch(batch.replace_schema_metadata(described.metadata))
    return bytes(sink.getvalue())


def _path(topic: Path, number: int) -> Path:
    return topic / f"{number:08}.arrow"
