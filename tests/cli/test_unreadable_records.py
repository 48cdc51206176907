"""Records whose writer's schema a reader cannot read: the reader fails, and the help in its message works."""

from __future__ import annotations

import traceback
from pathlib import Path

import pyarrow as pa
import pytest

from blueprint.avro.sources.loading import load_contract
from blueprint.diagnostics import Span
from streamlets.channels.delta.inspection import contracts
from streamlets.channels.delta.offsets import Offset
from streamlets.channels.delta.planning import Reading
from streamlets.channels.delta.source import Part, TopicReader
from streamlets.channels.delta.topic import DeltaTopic, _declared
from streamlets.channels.unreadable import UnreadableRecordsError
from streamlets.contract.types import arrow_schema, spark_schema
from streamlets.spark.failure import failure_of_text
from tests.cli.conftest import Flow
from tests.streamlets.channels.topics import READING, add, append, contract, ids_of, made

OTHER = contract(("id", "string"), ("src", ["null", "string"]))


@pytest.fixture
def topic(tmp_path: Path) -> DeltaTopic:
    """A topic with two records that the reader can read and, after them, two that it cannot."""
    topic = made(tmp_path / "app" / "topics")
    add(topic, 0, [1, 2])
    append(topic, [_strings("3", "4")], OTHER, 1)
    return topic


def _strings(*ids: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"id": id, "src": None} for id in ids], schema=arrow_schema(OTHER))


def read(topic: DeltaTopic) -> list[int]:
    """Return the ids that a reader with the schema `READING` reads in one batch, as a Spark task does."""
    reading = Reading(str(topic.path), READING.json, "earliest", 0, 1, False, "archive.in", "shop/archive.py:7")
    reader = TopicReader(reading, spark_schema(READING))
    end = Offset.from_position(topic.end()).to_dict()
    parts = reader.partitions(reader.initialOffset(), end)
    return ids_of(batch for part in parts for batch in reader.read(Part(part.slices)))


def test_the_failure_names_topic_schema_place_and_help(topic: DeltaTopic) -> None:
    """The message is extracted from the text of a failed worker, and the failure is fatal."""
    with pytest.raises(UnreadableRecordsError) as caught:
        read(topic)
    text = "".join(traceback.format_exception(caught.value))
    failure = failure_of_text(f"org.apache.spark.api.python.PythonException: {text}", building=False)
    for part in (
        f"the topic `readings` has records written with the schema {OTHER.fingerprint}",
        "`archive.in` (schema at shop/archive.py:7) cannot read: id: ",
        f"`flow topics purge readings --schema {OTHER.fingerprint} --force`",
    ):
        assert part in failure.cause
    assert failure.fatal


def test_the_place_is_that_of_the_schema() -> None:
    """The reader knows the file and line of its schema, if it was declared in code."""
    loaded = load_contract("id long", base_directory=".", declared=Span("shop/archive.py", 7, 5, 7, 20))
    assert loaded.contract is not None
    assert _declared(loaded.contract) == "shop/archive.py:7"
    assert _declared(READING) == ""


def test_the_reader_continues_after_the_purge(topic: DeltaTopic, flow: Flow, tmp_path: Path) -> None:
    """The records with that schema are deleted, all others are kept, and the schema is no longer checked."""
    purge = ("topics", "purge", "readings", str(tmp_path), "--state-dir", str(tmp_path), "--force", "--yes", "--schema")
    result = flow(*purge, OTHER.fingerprint)
    assert result.code == 0, result.err
    assert result.out.startswith("readings: deleted 2 records")
    assert read(topic) == [1, 2]
    assert contracts(topic.path) == (READING,)
    add(topic, 2, [5])
    assert read(topic) == [1, 2, 5]
    result = flow(*purge, OTHER.fingerprint)
    assert result.code == 2
    assert f"its schemas are {READING.fingerprint}" in result.err


def test_a_purge_by_schema_and_age(topic: DeltaTopic, flow: Flow, tmp_path: Path) -> None:
    """Younger records are kept; `--all` cannot be combined with `--schema`."""
    purge = ("topics", "purge", "readings", str(tmp_path), "--state-dir", str(tmp_path), "--yes", "--schema")
    result = flow(*purge, OTHER.fingerprint, "--older-than", "9000 days")
    assert result.out.startswith("readings: deleted 0 records")
    assert flow(*purge, OTHER.fingerprint, "--all").code == 2
