"""`flow topics` and `flow tail` read topics without Spark."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from blueprint.avro.sources.loading import parse_contract
from blueprint.plan import TopicPlan
from streamlets.channels.delta.channel import DeltaChannel
from tests.streamlets.channels.topics import append

if TYPE_CHECKING:
    from tests.cli.conftest import Flow


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state directory of the application `app`, whose topic `records` has 25 records in 5 commits."""
    contract = parse_contract(
        '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}, '
        '{"name": "name", "type": ["null", "string"]}]}'
    )
    channel = DeltaChannel(tmp_path / "app" / "topics")
    topic = channel.topic(TopicPlan("records", "records", "delta", True, (), (), {}))
    topic.create([contract])
    for number in range(5):
        ids = list(range(number * 5, number * 5 + 5))
        batch = pa.table({"id": ids, "name": [f"r{id}" if id % 2 else None for id in ids]}).to_batches()
        append(topic, batch, contract, number, writer="source/out")
    channel.topic(TopicPlan("empty", "empty", "delta", True, (), (), {})).create([contract])
    return tmp_path


def test_topics_as_a_table(flow: Flow, state: Path) -> None:
    """Each topic is a line with the number of its records."""
    result = flow("topics", "--state-dir", str(state))
    assert result.code == 0
    assert any("records" in line and "25" in line for line in result.out.splitlines())
    assert any("empty" in line and " 0 " in line for line in result.out.splitlines())


def test_topics_that_were_deleted_are_not_listed(flow: Flow, state: Path) -> None:
    """The descriptor of the last run still names them."""
    descriptor = {"topics": {"records": {"name": "records"}, "empty": {"name": "empty"}}}
    (state / "app" / "descriptor.json").write_text(json.dumps(descriptor))
    (state / "app" / "lock").touch()
    shutil.rmtree(state / "app" / "topics")
    result = flow("topics", "--state-dir", str(state))
    assert (result.code, result.out) == (0, "app: no topics yet\n")


def test_topics_of_a_channel_that_is_not_installed_are_named(flow: Flow, state: Path) -> None:
    """A package that was removed hides its topics; they are not missing."""
    descriptor = {"topics": {"moves": {"name": "shop-moves", "channel": "ledger"}}}
    (state / "app" / "descriptor.json").write_text(json.dumps(descriptor))
    (state / "app" / "lock").touch()
    line = "app: cannot read `shop-moves`: the channel `ledger` is not installed\n"
    result = flow("topics", "--state-dir", str(state))
    assert (result.code, result.err, "records" in result.out) == (0, line, True)
    shutil.rmtree(state / "app" / "topics")
    result = flow("topics", "--state-dir", str(state))
    assert (result.code, result.out, result.err) == (0, "", line)
    result = flow("dead-letters", "--state-dir", str(state))
    assert (result.code, result.out, result.err) == (0, "", line)
    for arguments in (["tail", "shop-moves"], ["topics", "purge", "shop-moves", "--all", "--yes"]):
        result = flow(*arguments, "--state-dir", str(state))
        assert result.code == 2
        assert "cannot read the topic `shop-moves`: the channel `ledger` is not installed" in result.err


def test_topics_as_data(flow: Flow, state: Path) -> None:
    """`--format json` has records, bytes and writers by application."""
    result = flow("topics", "--state-dir", str(state), "--format", "json")
    topics = {topic["name"]: topic for topic in json.loads(result.out)["app"]}
    assert topics["records"]["records"] == 25
    assert topics["records"]["bytes"] > 0
    assert (topics["records"]["files"], topics["empty"]["files"]) == (5, 0)
    assert topics["records"]["readers"] == []
    assert topics["records"]["writers"][0]["queries"] == ["source/out"]
    assert topics["empty"]["records"] == 0


@pytest.mark.parametrize("count", [0, 1, 3, 7, 25, 100])
def test_tail_shows_the_last_records_in_order(flow: Flow, state: Path, count: int) -> None:
    """The last `-n` records are shown, oldest first, across files."""
    result = flow("tail", "records", "--state-dir", str(state), "-n", str(count), "--format", "jsonl")
    assert result.code == 0
    ids = [json.loads(line)["id"] for line in result.out.splitlines()]
    assert ids == list(range(25))[max(0, 25 - count) :]


def test_tail_as_a_table(flow: Flow, state: Path) -> None:
    """Columns have headings, and nulls are dashes."""
    result = flow("tail", "records", "--state-dir", str(state), "-n", "2")
    assert "name" in result.out
    assert "r23" in result.out
    assert "24" in result.out


def test_a_misspelt_topic_gets_a_suggestion(flow: Flow, state: Path) -> None:
    """The nearest topic is suggested; the exit code is 2."""
    result = flow("tail", "record", "--state-dir", str(state))
    assert result.code == 2
    assert "did you mean `records`?" in result.err


def test_without_state_there_is_nothing_to_show(flow: Flow, tmp_path: Path) -> None:
    """Before the first run, the message names the command that creates the state."""
    result = flow("topics", str(tmp_path))
    assert result.code == 2
    assert "flow run" in result.err
