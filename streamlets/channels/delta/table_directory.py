"""The directory of a table: its name within the topic, its creation, and its end."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.avro.spark_types import spark_json
from streamlets.channels.base import TopicLostError
from streamlets.channels.delta import actions
from streamlets.channels.delta.integrity import LOG, commit_path, damaged_commit, has_commits
from streamlets.storage import objects

if TYPE_CHECKING:
    from blueprint.avro.model import Contract


def tables_in(topic: Path) -> Iterator[Path]:
    """Yield the directories of the tables of a topic, sorted. Names of its other directories begin with `_`."""
    for path in sorted(topic.iterdir()):
        if not path.name.startswith("_") and path.is_dir() and has_first_commit(path):
            yield path


def has_first_commit(table: Path) -> bool:
    """Return whether a table has its first commit, which is created after its directory.

    Raises:
        TopicDamagedError: the first commit is missing, but the table has others.
    """
    first = commit_path(table, 0)
    if first.exists():
        return True
    if has_commits(table) and not first.exists():  # it may have been created in the meantime
        raise damaged_commit(table, 0, "it does not exist")
    return first.exists()


def create_table(path: Path, contract: Contract, partition_by: tuple[str, ...], clock: Callable[[], float]) -> None:
    """Create the table of a contract, unless it exists.

    Arguments:
        path: the directory of the table.
        contract: the contract of its records.
        partition_by: its partition columns.
        clock: returns the time in seconds since the epoch.

    Raises:
        TopicLostError: the directory of the topic does not exist.
        TopicDamagedError: the first commit is missing, but the table has others.
    """
    if has_first_commit(path):
        return
    try:
        path.mkdir(exist_ok=True)
        (path / LOG).mkdir(exist_ok=True)
    except FileNotFoundError:
        raise lost(path) from None
    schema = _schema_string(contract)
    zoneless = '"timestamp_ntz"' in schema  # the protocol requires a table feature for this type
    features = {"readerFeatures": ["timestampNtz"], "writerFeatures": ["timestampNtz"]} if zoneless else {}
    time = int(clock() * 1000)
    metadata = {
        "id": str(uuid.uuid4()),
        "name": path.parent.name,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema,
        "partitionColumns": list(partition_by),
        "configuration": {actions.CONTRACT: contract.json},
        "createdTime": time,
    }
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7} if zoneless else _PLAIN_PROTOCOL
    info = {"timestamp": time, "operation": "CREATE TABLE", "engineInfo": "streamlets"}
    entries = [{"commitInfo": info}, {"protocol": {**protocol, **features}}, {"metaData": metadata}]
    objects.put_if_absent(commit_path(path, 0), actions.encode(entries))


def _schema_string(contract: Contract) -> str:
    """Return the contract as a Delta schema. Delta has no type for fields that are always null, so they are omitted."""
    struct = spark_json(contract)
    struct["fields"] = [field for field in struct["fields"] if field["type"] != "void"]
    return json.dumps(struct, separators=(",", ":"), sort_keys=True)


_PLAIN_PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}


def table_name(contract: Contract, partition_by: tuple[str, ...]) -> str:
    """Return the name of the table for a contract and partition columns.

    It is the fingerprint of the contract, followed by a hash of the columns if there are any, because all files of a
    Delta table have the same partition columns.
    """
    if not partition_by:
        return contract.fingerprint
    return f"{contract.fingerprint}-{hashlib.sha256(json.dumps(partition_by).encode()).hexdigest()[:8]}"


REMEDY = (
    "restore the directory, reset the checkpoints of its readers with `flow checkpoints reset STREAMLET`, or delete "
    "all topics and checkpoints with `flow run --fresh`"
)
"""What to do about a topic that was deleted, starting with what loses least."""


def lost(table: Path) -> TopicLostError:
    """Return the error for a table that was deleted or replaced."""
    return TopicLostError(
        f"the table `{table.name}` of topic `{table.parent.name}` was deleted or replaced ({table}); {REMEDY}"
    )
