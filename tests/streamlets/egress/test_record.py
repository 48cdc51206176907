"""The record of a files sink: the owner of its files, the files, and the decisions."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamlets.egress.files.record import BATCHES, FilesRecord, Merge
from streamlets.storage.damage import DamagedFileError


@pytest.fixture
def record(tmp_path: Path) -> FilesRecord:
    """Return the record of the sink `archive`, which has published two files and decided a third one."""
    record = FilesRecord(tmp_path / "out", "archive", "/srv/app/.flow/app")
    record.claim("q1")
    for batch, name in enumerate(("a.parquet", "odd=1/b.parquet")):
        record.decide("q1", batch, {f"_staging/{name}": name})
        _write(record.root / name)
        record.publish("q1", batch, [name])
    record.decide("q1", 2, {"_staging/archive/q1/2/c.parquet": "c.parquet"})
    return record


def _write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("rows")


def test_a_decided_batch_may_have_been_written(record: FilesRecord) -> None:
    """This includes a batch without published files, but not a batch of another checkpoint."""
    assert [record.may_have_written("q1", batch) for batch in (2, 3)] == [True, False]
    assert not record.may_have_written("q2", 2)


def test_the_first_decision_is_kept(record: FilesRecord) -> None:
    """A replay that would write other files uses those of the first attempt."""
    record.decide("q1", 2, {"_staging/x": "x.parquet"})
    assert record.decided("q1", 2) == {"_staging/archive/q1/2/c.parquet": "c.parquet"}


def test_only_published_files_are_deleted(record: FilesRecord) -> None:
    """Other files are kept, even a copy with the same name, and a file outside of the directory that is in the list."""
    copy, outside = record.root / "backup" / "a.parquet", record.root.parent / "outside.parquet"
    _write(copy)
    _write(outside)
    with (record.root / BATCHES / "archive" / "q1" / "files").open("a") as listed:
        listed.write(f"../outside.parquet\n{outside}\n")
    assert record.delete("q1") == 2
    assert sorted(path.name for path in record.root.rglob("*.parquet")) == ["a.parquet"]
    assert copy.exists()
    assert outside.exists()
    assert not record.knows("q1")


def test_a_decided_file_that_was_renamed_is_deleted_too(record: FilesRecord) -> None:
    """After a power failure between the renames and the list, all files of the batch are deleted."""
    _write(record.root / "c.parquet")
    assert record.delete("q1") == 3


def test_an_incomplete_line_of_the_list_is_ignored(record: FilesRecord) -> None:
    """The replay of the batch adds the file again, on a new line."""
    with (record.root / BATCHES / "archive" / "q1" / "files").open("a") as listed:
        listed.write("c.par")
    assert record.files("q1") == ["a.parquet", "odd=1/b.parquet", "c.parquet"]
    record.publish("q1", 3, ["c.parquet"])
    assert "c.parquet" in record.files("q1")
    assert record.delete("q1") == 2


@pytest.mark.parametrize("name", ["archive-q1-000007-00001.c000.parquet", "x=1/archive-q1-000003-000007-merged.csv"])
def test_a_published_batch_and_those_before_it_were_written(record: FilesRecord, name: str) -> None:
    """The list of files tells which batches were written, also when their decisions are deleted."""
    record.publish("q1", 7, [name])
    record.publish("q1", 9, [])
    assert [record.may_have_written("q1", batch) for batch in (2, 3, 7, 8)] == [True, True, True, False]


def test_forgetting_removes_unfinished_batches_and_keeps_the_list(record: FilesRecord) -> None:
    """The staged files and decisions of a query are removed, the list of its files is kept."""
    staged = record.staging("q1") / "2" / "part-0.parquet"
    _write(staged)
    _write(record.root / "c.parquet")
    record.forget("q1")
    assert not (record.root / "_staging").exists()
    assert not record.may_have_written("q1", 2)
    assert record.files("q1") == ["a.parquet", "odd=1/b.parquet", "c.parquet"]


def test_applications_are_distinguished_by_their_state_directory(record: FilesRecord) -> None:
    """A test, or a second installation, is not the owner of the files."""
    (earlier,) = FilesRecord(record.root, "archive", "/tmp/pytest/kit").earlier("q2")
    assert (earlier.id, earlier.owner) == ("q1", "/srv/app/.flow/app")
    assert record.earlier("q1") == []


def test_paths_have_any_character(record: FilesRecord) -> None:
    """Spark escapes line feeds in the values of partitions, but not other characters that end a line."""
    odd = [f"part=a{character}b/x.parquet" for character in "\x85\u2028\u2029"]
    for path in odd:
        _write(record.root / path)
    record.publish("q1", 3, odd)
    assert record.files("q1")[2:5] == odd


@pytest.mark.parametrize("content", [b"", b'{"_staging/c', b"[1]", b'{"a": {}}'[:4]])
@pytest.mark.parametrize("name", ["2.json", "merges"])
def test_a_damaged_decision_is_reported(record: FilesRecord, name: str, content: bytes) -> None:
    """It is not taken for an undecided batch, which would be written again beside its published files."""
    record.decide_merges("q1", [Merge("_staging/m", "m.parquet", ("a.parquet",))])
    file = record.root / BATCHES / "archive" / "q1" / name
    file.write_bytes(content)
    with pytest.raises(DamagedFileError, match=name):
        if name == "merges":
            record.finish_merges("q1")
        else:
            record.decided("q1", 2)
    with pytest.raises(DamagedFileError, match=name):
        record.delete("q1")
    assert (record.root / "a.parquet").exists()
