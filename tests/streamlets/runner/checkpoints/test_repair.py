"""Damaged checkpoints are repaired if that is safe, otherwise refused with help."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.avro.model import Contract
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.delta.manifest import STAGED, Manifest, Manifests, writer_id
from streamlets.runner.checkpoints.checkpoint import Checkpoint, read_checkpoint
from streamlets.runner.checkpoints.repair import DamagedCheckpointError, repair, require_complete
from streamlets.spark.fatal import fatal
from tests.streamlets.channels.topics import READING, append, batch, made
from tests.streamlets.runner.checkpoints.test_checkpoint import written

BATCHES = {2: {"a": "{}"}, 3: {"a": "{}"}}


def never(_: Checkpoint, batch: int) -> bool:
    """Return that nothing of the batch was written."""
    assert batch == 3
    return False


def always(_: Checkpoint, __: int) -> bool:
    """Return that some of the batch was written."""
    return True


def test_an_intact_checkpoint_is_not_changed(tmp_path: Path) -> None:
    """Neither is a checkpoint that does not exist yet."""
    directory = written(tmp_path, "s.q", BATCHES, 2)
    before = sorted(directory.rglob("*"))
    assert list(repair(directory, always)) == []
    assert sorted(directory.rglob("*")) == before
    assert list(repair(tmp_path / "s" / "none", always)) == []


def test_a_damaged_commit_is_moved_away(tmp_path: Path) -> None:
    """Its batch counts as not committed, so it is replayed; topics accept it once."""
    directory = written(tmp_path, "s.q", BATCHES, 3)
    (directory / "commits" / "3").write_bytes(b"")
    (directory / "commits" / ".3.crc").write_bytes(b"crc")
    (effect,) = repair(directory, always)
    assert effect == "commits/3 of its checkpoint was damaged: batch 3 is replayed"
    repaired = read_checkpoint(directory)
    assert repaired.committed is not None
    assert repaired.planned is not None
    assert (repaired.committed.number, repaired.planned.number) == (2, 3)
    assert not (directory / "commits" / ".3.crc").exists()
    assert list(repair(directory, always)) == []


def test_a_damaged_plan_of_a_batch_that_was_not_written_is_moved_away(tmp_path: Path) -> None:
    """The batch is planned again."""
    directory = written(tmp_path, "s.q", BATCHES, 2)
    (directory / "offsets" / "3").write_bytes(b"v2\n{")
    (effect,) = repair(directory, never)
    assert effect == ("offsets/3 of its checkpoint was damaged: batch 3 is planned again, nothing of it was written")
    repaired = read_checkpoint(directory)
    assert (repaired.planned, repaired.damage) == (None, ())


@pytest.mark.parametrize(
    ("file", "committed", "why"),
    [
        ("offsets/3", 2, "batch 3 was written, but the records that it read are unknown"),
        ("offsets/3", 3, "batch 3 was written, but the records that it read are unknown"),
        ("metadata", 2, "by the id in that file"),
        ("offsets/2", 2, "the records that the query has read are unknown"),
    ],
)
def test_an_unsafe_repair_is_refused(tmp_path: Path, file: str, committed: int, why: str) -> None:
    """The error has the damage, why that matters, and help; nothing is changed, and no restart is tried."""
    directory = written(tmp_path, "s.q", BATCHES, committed)
    (directory / file).write_bytes(b"")
    before = sorted(directory.rglob("*"))
    with pytest.raises(DamagedCheckpointError, match=why) as error:
        list(repair(directory, always))
    assert f"{file} is empty" in str(error.value)
    assert "flow checkpoints reset s.q" in str(error.value)
    assert sorted(directory.rglob("*")) == before
    assert fatal({"DamagedCheckpointError"}, building=False)


def test_what_spark_was_writing_when_it_was_killed_is_deleted(tmp_path: Path) -> None:
    """Its files of other names stay."""
    directory = written(tmp_path, "s.q", BATCHES, 3)
    before = sorted(directory.rglob("*"))
    for name in ("offsets/.4.a-b.tmp", "offsets/..4.a-b.tmp.crc", "commits/.4.c-d.tmp", ".metadata.e-f.tmp"):
        (directory / name).touch()
    assert list(repair(directory, always)) == []
    assert sorted(directory.rglob("*")) == before


def test_the_state_of_an_unplanned_first_batch_is_moved_away(tmp_path: Path) -> None:
    """Spark begins no batch 0 with state. The state of other batches stays."""
    directory = tmp_path / "s" / "q"
    for name in ("offsets", "state/0"):
        (directory / name).mkdir(parents=True)
    (directory / "offsets" / "0").touch()
    (message,) = repair(directory, lambda checkpoint, batch: False)
    assert "batch 0" in message
    assert not (directory / "state").exists()
    whole = written(tmp_path, "s.r", BATCHES, 2)
    (whole / "offsets" / "3").write_bytes(b"v2\n{")
    (whole / "state" / "0").mkdir(parents=True, exist_ok=True)
    assert len(list(repair(whole, never))) == 1
    assert (whole / "state" / "0").is_dir()


def test_state_whose_logs_are_missing_stays(tmp_path: Path) -> None:
    """Spark refuses it. With another start from batch 0 topics would drop the batches that they have under this id."""
    directory = tmp_path / "s" / "q"
    (directory / "state" / "0").mkdir(parents=True)
    for answer in (always, never):
        assert list(repair(directory, answer)) == []
        assert (directory / "state" / "0").is_dir()


@pytest.mark.parametrize(("last", "lost"), [(2, 3), (None, 0)])
def test_a_checkpoint_without_batches_that_were_written_is_refused(tmp_path: Path, last: int | None, lost: int) -> None:
    """As after a restore of an old backup: the topics would drop the next batches as known ones. A checkpoint is
    complete if its last batch is the last one that was written."""
    if last is None:
        folder = tmp_path / "s" / "q"
        folder.mkdir(parents=True)
        (folder / "metadata").write_text('{"id": "x"}')
    else:
        folder = written(tmp_path, "s.q", BATCHES, last)
        (folder / "offsets" / "3").unlink()
    with pytest.raises(DamagedCheckpointError, match=f"batch {lost} was written: its plan was lost.*reset s.q"):
        require_complete(folder, lambda checkpoint, batch: batch <= lost)
    require_complete(folder, lambda checkpoint, batch: batch < lost)


def test_a_new_checkpoint_is_complete(tmp_path: Path) -> None:
    """A query without a checkpoint has no id yet, under which something could be written."""
    require_complete(tmp_path / "s" / "q", always)


def test_the_channel_knows_what_was_written(tmp_path: Path) -> None:
    """By a manifest, or a transaction in any topic, of this batch or a later one; those of an earlier checkpoint of the
    query do not count."""
    channel, topic = DeltaChannel(tmp_path), made(tmp_path)
    of: Contract = READING
    append(topic, [batch([1], of)], of, 4, writer=writer_id("s", "q", "id"))
    Manifests(tmp_path / STAGED / writer_id("s", "q", "id")).decide(5, Manifest())
    assert [channel.may_have_written("s", "q", "id", n) for n in (4, 5, 6)] == [True, True, False]
    assert not channel.may_have_written("s", "q", "another", 4)
