"""Checkpoints outside of the state directory: linked once, never shared, and deleted with a reset. Without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamlets.api.errors import StreamletError
from streamlets.runner.checkpoints.checkpoint import checkpoints_in
from streamlets.runner.checkpoints.reset import reset
from streamlets.runner.state_directory.checkpoint_links import OWNER, link_checkpoint
from streamlets.runner.state_directory.directory import StateDirectory


@pytest.fixture
def state(tmp_path: Path) -> StateDirectory:
    """Return a state directory with its directories."""
    state = StateDirectory(tmp_path / ".flow", "app")
    with state.locked():
        pass
    return state


def link(state: StateDirectory, location: Path, query: str = "hot") -> Path:
    """Link the checkpoint of a query to a location, as a run does, and return the link."""
    directory = state.checkpoints / "job" / query
    link_checkpoint(directory, location, f"job.{query}")
    return directory


def checkpoint(location: Path) -> None:
    """Write files of Spark into a checkpoint."""
    (location / "offsets").mkdir(parents=True)
    (location / "metadata").write_text(json.dumps({"id": "8d03b1f6"}))


def test_a_checkpoint_is_linked_and_stays(state: StateDirectory, tmp_path: Path) -> None:
    """Everything that reads the state directory finds it; linking again changes nothing."""
    location = tmp_path / "wal" / "hot"
    checkpoint(location)
    for _ in range(2):
        assert link(state, location).readlink() == location
    (found,) = checkpoints_in(state.checkpoints)
    assert (found.name, found.id, found.damage) == ("job.hot", "8d03b1f6", ())


def test_a_location_has_one_query(state: StateDirectory, tmp_path: Path) -> None:
    """A second query of the application, or of another, is refused."""
    link(state, tmp_path / "wal")
    with pytest.raises(StreamletError, match=r"belongs to the query `job.hot` of the application in .*\.flow/app: "):
        link(state, tmp_path / "wal", "cold")
    other = StateDirectory(tmp_path / "elsewhere", "app")
    with pytest.raises(StreamletError, match="choose another directory"):
        link(other, tmp_path / "wal")
    assert not (other.checkpoints / "job" / "hot").exists()


def test_a_change_of_the_location_does_not_start_from_scratch(state: StateDirectory, tmp_path: Path) -> None:
    """A query that has a checkpoint elsewhere is refused, until the checkpoint is moved or reset."""
    checkpoint(state.checkpoints / "job" / "hot")
    with pytest.raises(StreamletError, match=r"is in .*/checkpoints/job/hot, but `checkpointLocation` is .*/wal: "):
        link(state, tmp_path / "wal")
    (state.checkpoints / "job" / "hot").rename(tmp_path / "wal")
    link(state, tmp_path / "wal")
    with pytest.raises(StreamletError, match=r"is in .*/wal, but `checkpointLocation` is .*/other: "):
        link(state, tmp_path / "other")


def test_a_lost_location_is_not_created_again(state: StateDirectory, tmp_path: Path) -> None:
    """A directory that is not mounted would look like a new checkpoint; until it is back, it may be a reader."""
    link(state, tmp_path / "wal")
    (tmp_path / "wal").rename(tmp_path / "unmounted")
    with pytest.raises(StreamletError, match="mount or restore the directory"):
        link(state, tmp_path / "wal")
    (found,) = checkpoints_in(state.checkpoints)
    assert found.damage == (f"its directory {tmp_path / 'wal'} does not exist",)
    (tmp_path / "wal").mkdir()
    with pytest.raises(StreamletError, match="mount or restore the directory"):
        link(state, tmp_path / "wal")


def test_other_files_are_not_taken_for_a_checkpoint(state: StateDirectory, tmp_path: Path) -> None:
    """A directory with other files, or one that cannot be written, is refused and unchanged."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "part-0.parquet").touch()
    with pytest.raises(StreamletError, match="has files that are not a checkpoint"):
        link(state, tmp_path / "data")
    (tmp_path / "file").touch()
    with pytest.raises(StreamletError, match="correct the permissions, or choose another"):
        link(state, tmp_path / "file" / "wal")
    assert not (tmp_path / "data" / OWNER).exists()


@pytest.mark.parametrize("fresh", [False, True])
def test_a_reset_deletes_the_checkpoint_outside(state: StateDirectory, tmp_path: Path, fresh: bool) -> None:
    """`flow checkpoints reset` and `flow run --fresh` delete it, and nothing next to it."""
    checkpoint(tmp_path / "wals" / "hot")
    (tmp_path / "wals" / "other").mkdir()
    link(state, tmp_path / "wals" / "hot")
    with state.locked():
        if fresh:
            state.clear()
        else:
            reset(state, checkpoints_in(state.checkpoints), ())
    assert [path.name for path in (tmp_path / "wals").iterdir()] == ["other"]
    assert checkpoints_in(state.checkpoints) == ()
    link(state, tmp_path / "wals" / "hot")
    assert [path.name for path in (tmp_path / "wals" / "hot").iterdir()] == [OWNER]
