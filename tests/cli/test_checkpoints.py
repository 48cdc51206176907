"""`flow checkpoints` and `flow topics purge`: looking and cutting without Spark, never silently."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamlets.runner.state_directory.directory import StateDirectory
from tests.streamlets.channels.topics import add, ids_of, made
from tests.streamlets.runner.checkpoints.test_checkpoint import position, written

if TYPE_CHECKING:
    from streamlets.channels.delta import DeltaTopic
    from tests.cli.conftest import Flow


@pytest.fixture
def topic(tmp_path: Path) -> DeltaTopic:
    """The topic `readings` of the application `app`: three commits of ten records; `average.averages` has committed
    two of them and begun the third, `gone.q` has committed one."""
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
    status = {"streamlets": [{"ref": "average", "units": [{"query": "averages", "batch": 6, "state_rows": 42}]}]}
    (tmp_path / "app" / "status").mkdir()
    (tmp_path / "app" / "status" / "status.json").write_text(json.dumps(status))
    return topic


@pytest.fixture
def state(topic: DeltaTopic, tmp_path: Path) -> tuple[str, str]:
    """The option that names the state folder."""
    return "--state-dir", str(tmp_path)


def test_checkpoints_as_a_table(flow: Flow, state: tuple[str, str]) -> None:
    """`flow checkpoints` alone lists them: batch, records behind, watermark, size."""
    said = flow("checkpoints", *state)
    assert said.code == 0
    (line,) = (line for line in said.out.splitlines() if "average.averages" in line)
    assert line.split()[1] == "6"
    assert line.split()[4] == "10"
    assert "2023-11-14 22:13:20" in line
    assert any("gone.q" in line and " 20 " in line for line in said.out.splitlines())


def test_checkpoints_as_data(flow: Flow, state: tuple[str, str]) -> None:
    """`--format json` has positions as they are, sizes in bytes, times in seconds."""
    said = flow("checkpoints", "list", *state, "--format", "json")
    first, second = json.loads(said.out)["app"]
    assert (first["streamlet"], first["query"], first["planned"]["number"]) == ("average", "averages", 7)
    assert (first["watermark"], first["state_rows"], first["damage"]) == (1_700_000_000.0, 42, [])
    (source,) = first["sources"]
    assert (source["name"], source["topic"], source["behind"]) == ("in", "readings", 10)
    assert second["sources"][0]["position"]["tables"]


def test_one_checkpoint_is_shown_whole(flow: Flow, state: tuple[str, str], tmp_path: Path) -> None:
    """`show` says what is committed, what a start replays, where it stands in its topics, and what is damaged."""
    (tmp_path / "app" / "checkpoints" / "average" / "averages" / "commits" / "6").write_bytes(b"")
    said = flow("checkpoints", "show", "average", *state)
    assert said.code == 0
    for word in (
        "id-of-averages",
        "batch 6",
        "batch 7",
        "a start replays it",
        "readings",
        "/3#0",
        "commits/6 is empty",
    ):
        assert word in said.out
    assert "gone" not in said.out


def test_a_misspelt_query_gets_a_suggestion(flow: Flow, state: tuple[str, str]) -> None:
    """What was meant is named, also among the commands; exit code 2."""
    assert "did you mean `average.averages`" in flow("checkpoints", "show", "average.averags", *state).err
    said = flow("checkpoints", "rest", "average", *state)
    assert (said.code, "did you mean `reset`?" in said.err) == (2, True)


def test_a_reset_is_never_silent(flow: Flow, state: tuple[str, str], tmp_path: Path) -> None:
    """Without `--yes` and without a terminal nothing happens; with it the checkpoint goes, and the manifests of its
    batches; others stay."""
    folder = tmp_path / "app" / "checkpoints" / "average" / "averages"
    manifests = tmp_path / "app" / "topics" / "_staged" / "average.averages-id-of-averages"
    manifests.mkdir(parents=True)
    said = flow("checkpoints", "reset", "average.averages", *state)
    assert (said.code, folder.exists()) == (2, True)
    assert "average.averages: forgets 7 batches" in said.err
    assert "--yes" in said.err
    said = flow("checkpoints", "reset", "average", "--yes", *state)
    assert (said.code, folder.exists(), manifests.exists()) == (0, False, False)
    assert "begins anew" in said.out
    assert (tmp_path / "app" / "checkpoints" / "gone" / "q").exists()


def test_a_running_application_is_not_reset(flow: Flow, state: tuple[str, str], tmp_path: Path) -> None:
    """Who runs it is said, and nothing is changed."""
    with StateDirectory(tmp_path, "app").locked():
        said = flow("checkpoints", "reset", "average", "--yes", *state)
    assert said.code == 1
    assert f"already running on {tmp_path / 'app'}, as process {os.getpid()}" in " ".join(said.err.split())
    assert (tmp_path / "app" / "checkpoints" / "average" / "averages").exists()


def test_a_purge_keeps_what_readers_have_not_committed(
    flow: Flow, state: tuple[str, str], topic: DeltaTopic, tmp_path: Path
) -> None:
    """What all readers have committed goes, with its files; what stays, for whom, and how to go on is said."""
    said = flow("topics", "purge", "readings", *state, "--all")
    assert (said.code, len(ids_of(topic.scan()))) == (2, 30)
    assert "--yes" in said.err
    said = flow("topics", "purge", "readings", *state, "--all", "--dry-run")
    assert "would drop 10 records" in said.out
    said = flow("topics", "purge", "readings", *state, "--all", "--yes")
    assert said.code == 1
    assert "dropped 10 records" in said.out
    assert "kept: average.averages (in) has not committed 10" in said.out
    assert "kept: gone.q (in) has not committed 20" in said.out
    assert ids_of(topic.scan()) == list(range(10, 30))
    assert len(list((tmp_path / "app" / "topics").rglob("*.parquet"))) == 2


def test_a_forced_purge_names_what_is_missed(
    flow: Flow, state: tuple[str, str], topic: DeltaTopic, tmp_path: Path
) -> None:
    """Everything goes; each reader overtaken is named with what it missed. While it runs the files stay."""
    with StateDirectory(tmp_path, "app").locked():
        said = flow("topics", "purge", "readings", *state, "--all", "--force", "--yes", "--format", "json")
    assert said.code == 0
    told = json.loads(said.out)
    assert (told["records"], told["held"], told["done"]) == (30, {}, True)
    assert {missed["reader"]: missed["records"] for missed in told["missed"]} == {
        "average.averages (in)": 10,
        "gone.q (in)": 20,
    }
    assert ids_of(topic.scan()) == []
    assert len([p for p in (tmp_path / "app" / "topics").rglob("*.parquet") if "compacted" not in p.parts]) == 3


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (("readings",), "--older-than AGE"),
        (("readings", "--older-than", "7 elephants"), "is not a unit"),
        (("reading", "--all"), "did you mean `readings`"),
    ],
)
def test_a_purge_says_what_it_needs(flow: Flow, state: tuple[str, str], given: tuple[str, ...], word: str) -> None:
    """An age, or `--all`; and a topic that is there."""
    said = flow("topics", "purge", *given, *state)
    assert (said.code, word in said.err) == (2, True)


def test_a_young_topic_loses_nothing_to_an_age(flow: Flow, state: tuple[str, str]) -> None:
    """Records younger than the age stay; those of this topic are of 2023."""
    assert "dropped 0 records" in flow("topics", "purge", "readings", *state, "--older-than", "90000 days").out
