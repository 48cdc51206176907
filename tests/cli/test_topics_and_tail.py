"""`flow topics` and `flow tail`: looking into topics without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from blueprint.avro.sources.loading import parse_contract
from blueprint.plan import TopicPlan
from streamlets.channels.base import Txn
from streamlets.channels.delta import DeltaChannel

if TYPE_CHECKING:
    from tests.cli.conftest import Flow


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder of the application `app` whose topic `records` holds 25 records in 5 commits."""
    contract = parse_contract(
        '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}, '
        '{"name": "name", "type": ["null", "string"]}]}'
    )
    channel = DeltaChannel(tmp_path / "app" / "topics")
    topic = channel.topic(TopicPlan("records", "records", "delta", True, (), (), {}))
    topic.create([contract])
    for number in range(5):
        ids = list(range(number * 5, number * 5 + 5))
        batch = pa.table({"id": ids, "name": [f"r{each}" if each % 2 else None for each in ids]}).to_batches()
        topic.append(batch, contract, Txn("source/out", number))
    channel.topic(TopicPlan("empty", "empty", "delta", True, (), (), {})).create([contract])
    return tmp_path


def test_topics_as_a_table(flow: Flow, state: Path) -> None:
    """Every topic is a line with its records."""
    said = flow("topics", "--state-dir", str(state))
    assert said.code == 0
    assert any("records" in line and "25" in line for line in said.out.splitlines())
    assert any("empty" in line and " 0 " in line for line in said.out.splitlines())


def test_topics_as_data(flow: Flow, state: Path) -> None:
    """`--format json` gives records, bytes and writers by application."""
    said = flow("topics", "--state-dir", str(state), "--format", "json")
    found = {topic["name"]: topic for topic in json.loads(said.out)["app"]}
    assert found["records"]["records"] == 25
    assert found["records"]["bytes"] > 0
    assert found["records"]["writers"][0]["queries"] == ["source/out"]
    assert found["empty"]["records"] == 0


@pytest.mark.parametrize("count", [0, 1, 3, 7, 25, 100])
def test_tail_shows_the_last_records_in_order(flow: Flow, state: Path, count: int) -> None:
    """`-n` of them, oldest first, across files."""
    said = flow("tail", "records", "--state-dir", str(state), "-n", str(count), "--format", "jsonl")
    assert said.code == 0
    ids = [json.loads(line)["id"] for line in said.out.splitlines()]
    assert ids == list(range(25))[max(0, 25 - count) :]


def test_tail_as_a_table(flow: Flow, state: Path) -> None:
    """Columns have headings, nulls are dashes."""
    said = flow("tail", "records", "--state-dir", str(state), "-n", "2")
    assert "name" in said.out
    assert "r23" in said.out
    assert "24" in said.out


def test_a_misspelt_topic_gets_a_suggestion(flow: Flow, state: Path) -> None:
    """The topic that was meant is named; exit code 2."""
    said = flow("tail", "record", "--state-dir", str(state))
    assert said.code == 2
    assert "did you mean `records`?" in said.err


def test_without_state_there_is_nothing_to_show(flow: Flow, tmp_path: Path) -> None:
    """Before the first run the answer says what makes the state."""
    said = flow("topics", str(tmp_path))
    assert said.code == 2
    assert "flow run" in said.err
