"""`flow checkpoints` and `flow topics purge`: read and delete without Spark, and only after confirmation."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamlets.channels.base import TopicResource
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunEnded, RunStarted
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.status_file import StatusFile
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed
from streamlets.runner.state_directory.directory import StateDirectory
from tests.streamlets.channels.topics import add, ids_of, made
from tests.streamlets.runner.checkpoints.test_checkpoint import position, written

if TYPE_CHECKING:
    from streamlets.channels.delta.topic import DeltaTopic
    from tests.cli.conftest import Flow


@pytest.fixture
def topic(tmp_path: Path) -> DeltaTopic:
    """The topic `readings` of the application `app`, with three commits of ten records.

    `average.averages` has committed two of them and planned the third; `gone.q` has committed one.
    """
    topic = made(tmp_path / "app" / "topics")
    for number in range(3):
        add(topic, number, range(number * 10, number * 10 + 10))
    root = tmp_path / "app" / "checkpoints"
    written(
        root,
        "average.averages",
        {6: {"in": position(topic, 3)}, 7: {"in": position(topic, 4)}},
        6,
        watermark=1_700_000_000_000,
    )
    written(root, "gone.q", {0: {"in": position(topic, 2)}}, 0)
    (tmp_path / "app" / "status").mkdir()
    publisher = Publisher([StatusFile(tmp_path / "app" / "status" / "status.json")])
    unit = UnitId("average", "averages")
    publisher.publish(RunStarted(0.0, "app", ("average",)))
    publisher.publish(UnitChanged(0.0, unit, "running"))
    publisher.publish(UnitProgressed(1.0, unit, 6, 10, state_rows=42))
    publisher.publish(RunEnded(2.0, 0))
    return topic


@pytest.fixture
def state(topic: DeltaTopic, tmp_path: Path) -> tuple[str, str]:
    """The option that names the state directory."""
    return "--state-dir", str(tmp_path)


def test_checkpoints_as_a_table(flow: Flow, state: tuple[str, str]) -> None:
    """`flow checkpoints` lists the checkpoints with batch, backlog, watermark and size."""
    result = flow("checkpoints", *state)
    assert result.code == 0
    (line,) = (line for line in result.out.splitlines() if "average.averages" in line)
    assert line.split()[1] == "6"
    assert line.split()[4] == "10"
    assert "2023-11-14 22:13:20" in line
    assert any("gone.q" in line and " 20 " in line for line in result.out.splitlines())


def test_checkpoints_as_data(flow: Flow, state: tuple[str, str]) -> None:
    """`--format json` has complete positions, sizes in bytes and times in seconds."""
    result = flow("checkpoints", "list", *state, "--format", "json")
    first, second = json.loads(result.out)["app"]
    assert (first["streamlet"], first["query"], first["planned"]["number"]) == ("average", "averages", 7)
    assert (first["watermark"], first["state_rows"], first["damage"]) == (1_700_000_000.0, 42, [])
    (source,) = first["sources"]
    assert (source["name"], source["topic"], source["backlog"]) == ("in", "readings", 10)
    assert second["sources"][0]["position"]["tables"]


def test_a_checkpoint_is_shown_with_all_details(flow: Flow, state: tuple[str, str], tmp_path: Path) -> None:
    """`show` has the committed and the planned batch, the positions in the topics, and damage."""
    (tmp_path / "app" / "checkpoints" / "average" / "averages" / "commits" / "6").write_bytes(b"")
    result = flow("checkpoints", "show", "average", *state)
    assert result.code == 0
    for word in (
        "id-of-averages",
        "batch 6",
        "batch 7",
        "replayed at the next start",
        "readings",
        "/3#0",
        "commits/6 is empty",
    ):
        assert word in result.out
    assert "gone" not in result.out


def test_a_misspelt_query_gets_a_suggestion(flow: Flow, state: tuple[str, str]) -> None:
    """The nearest query, or the nearest command, is suggested; the exit code is 2."""
    assert "did you mean `average.averages`" in flow("checkpoints", "show", "average.averags", *state).err
    result = flow("checkpoints", "rest", "average", *state)
    assert (result.code, "did you mean `reset`?" in result.err) == (2, True)


def test_a_reset_needs_confirmation(flow: Flow, state: tuple[str, str], tmp_path: Path) -> None:
    """Without `--yes` and without a terminal nothing is deleted.

    With it, the checkpoint and the manifests of its batches are deleted, and no others.
    """
    directory = tmp_path / "app" / "checkpoints" / "average" / "averages"
    manifests = tmp_path / "app" / "topics" / "_staged" / "average.averages-id-of-averages"
    manifests.mkdir(parents=True)
    result = flow("checkpoints", "reset", "average.averages", *state)
    assert (result.code, directory.exists()) == (2, True)
    assert "average.averages: deletes the progress of 7 batches" in result.err
    assert "--yes" in result.err
    result = flow("checkpoints", "reset", "average", "--yes", *state)
    assert (result.code, directory.exists(), manifests.exists()) == (0, False, False)
    assert "average.averages: checkpoint deleted" in result.out
    assert (tmp_path / "app" / "checkpoints" / "gone" / "q").exists()


def test_a_reset_reports_the_checkpoints_as_data(flow: Flow, state: tuple[str, str]) -> None:
    """`--format json` has the names of the deleted checkpoints."""
    result = flow("checkpoints", "reset", "average", "--yes", *state, "--format", "json")
    assert json.loads(result.out) == {"reset": ["average.averages"]}


def test_a_running_application_is_not_reset(flow: Flow, state: tuple[str, str], tmp_path: Path) -> None:
    """The error has the process of the run, and nothing is deleted."""
    with StateDirectory(tmp_path, "app").locked():
        result = flow("checkpoints", "reset", "average", "--yes", *state)
    assert result.code == 1
    assert f"as process {os.getpid()}" in result.err
    assert (tmp_path / "app" / "checkpoints" / "average" / "averages").exists()


def test_a_purge_keeps_what_readers_have_not_committed(
    flow: Flow, state: tuple[str, str], topic: DeltaTopic, tmp_path: Path
) -> None:
    """Records that all readers have committed are deleted with their files; the readers of the others are named."""
    result = flow("topics", "purge", "readings", *state, "--all")
    assert (result.code, len(ids_of(topic.scan()))) == (2, 30)
    assert "--yes" in result.err
    result = flow("topics", "purge", "readings", *state, "--all", "--dry-run")
    assert "would delete 10 records" in result.out
    result = flow("topics", "purge", "readings", *state, "--all", "--yes")
    assert result.code == 1
    assert "deleted 10 records" in result.out
    assert "kept: average.averages (in) has not committed 10" in result.out
    assert "kept: gone.q (in) has not committed 20" in result.out
    assert ids_of(topic.scan()) == list(range(10, 30))
    assert len(list((tmp_path / "app" / "topics").rglob("*.parquet"))) == 2


def test_a_forced_purge_reports_missed_records(
    flow: Flow, state: tuple[str, str], topic: DeltaTopic, tmp_path: Path
) -> None:
    """All records are deleted; each reader that missed some is named. During a run the files are kept."""
    with StateDirectory(tmp_path, "app").locked():
        result = flow("topics", "purge", "readings", *state, "--all", "--force", "--yes", "--format", "json")
    assert result.code == 0
    report = json.loads(result.out)
    assert (report["records"], report["held"], report["done"]) == (30, {}, True)
    assert {missed["reader"]: missed["records"] for missed in report["missed"]} == {
        "average.averages (in)": 10,
        "gone.q (in)": 20,
    }
    assert ids_of(topic.scan()) == []
    assert len([p for p in (tmp_path / "app" / "topics").rglob("*.parquet") if "compacted" not in p.parts]) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("readings",), "--older-than AGE"),
        (("readings", "--older-than", "7 elephants"), "is not a unit"),
        (("reading", "--all"), "did you mean `readings`"),
    ],
)
def test_wrong_arguments_of_a_purge(
    flow: Flow, state: tuple[str, str], arguments: tuple[str, ...], message: str
) -> None:
    """It needs an age or `--all`, and an existing topic."""
    result = flow("topics", "purge", *arguments, *state)
    assert (result.code, message in result.err) == (2, True)


def test_a_purge_of_a_channel_that_cannot_delete_the_records_is_refused(
    flow: Flow, state: tuple[str, str], topic: DeltaTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message has the reason of the channel, such as that of Kafka for the records of a schema."""
    monkeypatch.setattr(type(topic), "purge", TopicResource.purge)
    result = flow("topics", "purge", "readings", *state, "--all", "--yes")
    assert (result.code, result.err) == (
        1,
        "error: the topic cannot be purged: the channel `delta` cannot delete records\n",
    )


def test_records_younger_than_the_age_are_kept(flow: Flow, state: tuple[str, str]) -> None:
    """The records of this topic are from 2023."""
    assert "deleted 0 records" in flow("topics", "purge", "readings", *state, "--older-than", "90000 days").out
