"""Damaged checkpoints: what can be mended safely is, everything else is refused with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.avro.model import Contract
from streamlets.channels.base import Txn
from streamlets.channels.delta import DeltaChannel
from streamlets.channels.delta.manifest import STAGED, Manifest, Manifests, writer_id
from streamlets.runner.checkpoints.checkpoint import Checkpoint, read_checkpoint
from streamlets.runner.checkpoints.repair import DamagedCheckpointError, mend
from streamlets.spark.fatal import fatal
from tests.streamlets.channels.topics import READING, batch, made
from tests.streamlets.runner.checkpoints.test_checkpoint import written

BATCHES = {2: {"a": "{}"}, 3: {"a": "{}"}}


def never(_: Checkpoint, batch: int) -> bool:
    """Nothing of the batch was written."""
    assert batch == 3
    return False


def always(_: Checkpoint, __: int) -> bool:
    """Something of it was."""
    return True


def test_a_whole_checkpoint_is_left_alone(tmp_path: Path) -> None:
    """Nothing is said and nothing is done; nor where there is none yet."""
    folder = written(tmp_path, "s.q", BATCHES, 2)
    before = sorted(folder.rglob("*"))
    assert list(mend(folder, always)) == []
    assert sorted(folder.rglob("*")) == before
    assert list(mend(tmp_path / "s" / "none", always)) == []


def test_a_damaged_commit_is_put_aside(tmp_path: Path) -> None:
    """Its batch counts as not committed, so it is replayed; topics take it once."""
    folder = written(tmp_path, "s.q", BATCHES, 3)
    (folder / "commits" / "3").write_bytes(b"")
    (folder / "commits" / ".3.crc").write_bytes(b"crc")
    (told,) = mend(folder, always)
    assert told == "commits/3 of its checkpoint was damaged: batch 3 is replayed"
    found = read_checkpoint(folder)
    assert (found.committed and found.committed.number, found.planned and found.planned.number) == (2, 3)
    assert not (folder / "commits" / ".3.crc").exists()
    assert list(mend(folder, always)) == []


def test_a_damaged_plan_of_which_nothing_was_written_is_put_aside(tmp_path: Path) -> None:
    """The batch is planned anew."""
    folder = written(tmp_path, "s.q", BATCHES, 2)
    (folder / "offsets" / "3").write_bytes(b"v2\n{")
    (told,) = mend(folder, never)
    assert told.startswith("offsets/3 of its checkpoint was damaged: batch 3, of which nothing was written")
    found = read_checkpoint(folder)
    assert (found.planned, found.damage) == (None, ())


@pytest.mark.parametrize(
    ("file", "committed", "why"),
    [
        ("offsets/3", 2, "batch 3 was written, and what it had read is not known"),
        ("offsets/3", 3, "batch 3 was written, and what it had read is not known"),
        ("metadata", 2, "the id that stands there"),
        ("offsets/2", 2, "what the query has read is not known"),
    ],
)
def test_what_cannot_be_mended_is_refused(tmp_path: Path, file: str, committed: int, why: str) -> None:
    """What is damaged, why that matters, and what to do; nothing is changed, and no restart is tried."""
    folder = written(tmp_path, "s.q", BATCHES, committed)
    (folder / file).write_bytes(b"")
    before = sorted(folder.rglob("*"))
    with pytest.raises(DamagedCheckpointError, match=why) as error:
        list(mend(folder, always))
    assert f"{file} is empty" in str(error.value)
    assert "flow checkpoints reset s.q" in str(error.value)
    assert sorted(folder.rglob("*")) == before
    assert fatal({"DamagedCheckpointError"}, building=False)


def test_the_channel_knows_what_was_written(tmp_path: Path) -> None:
    """A manifest, or a transaction in any topic, of this batch or a later one; those of an earlier checkpoint of the
    query do not count."""
    channel, topic = DeltaChannel(tmp_path), made(tmp_path)
    of: Contract = READING
    topic.append([batch([1], of)], of, Txn(writer_id("s", "q", "id"), 4))
    Manifests(tmp_path / STAGED / writer_id("s", "q", "id")).decide(5, Manifest())
    assert [channel.may_have_written("s", "q", "id", n) for n in (4, 5, 6)] == [True, True, False]
    assert not channel.may_have_written("s", "q", "another", 4)
