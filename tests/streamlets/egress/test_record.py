"""What a files sink keeps about its batches: whose files they are, which they are, and what was decided."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamlets.egress.record import BATCHES, FilesRecord


@pytest.fixture
def record(tmp_path: Path) -> FilesRecord:
    """The record of the sink `archive`; it has published two files and decided a third."""
    made = FilesRecord(tmp_path / "out", "archive", "/srv/app/.flow/app")
    made.claim("q1")
    for batch, name in enumerate(("a.parquet", "odd=1/b.parquet")):
        made.decide("q1", batch, {f"_staging/{name}": name})
        _write(made.root / name)
        made.publish("q1", batch, [name])
    made.decide("q1", 2, {"_staging/archive/q1/2/c.parquet": "c.parquet"})
    return made


def _write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("rows")


def test_a_batch_was_written_once_it_was_decided(record: FilesRecord) -> None:
    """Also when none of its files is in its place; batches of other checkpoints do not count."""
    assert [record.may_have_written("q1", batch) for batch in (2, 3)] == [True, False]
    assert not record.may_have_written("q2", 2)


def test_the_first_decision_stands(record: FilesRecord) -> None:
    """A replay that would make other files takes those of the first attempt."""
    record.decide("q1", 2, {"_staging/x": "x.parquet"})
    assert record.decided("q1", 2) == {"_staging/archive/q1/2/c.parquet": "c.parquet"}


def test_only_files_that_were_published_are_deleted(record: FilesRecord) -> None:
    """A file of somebody else stays, even a copy under a name of the sink; so does what lies outside of the
    directory, whatever the list says."""
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


def test_a_decided_file_that_is_in_its_place_is_deleted_too(record: FilesRecord) -> None:
    """A power cut between the renames and the list leaves no file behind that nobody would delete."""
    _write(record.root / "c.parquet")
    assert record.delete("q1") == 3


def test_a_torn_line_of_the_list_is_passed_over(record: FilesRecord) -> None:
    """The replay of its batch notes the file again, on a line of its own."""
    with (record.root / BATCHES / "archive" / "q1" / "files").open("a") as listed:
        listed.write("c.par")
    assert record.files("q1") == ["a.parquet", "odd=1/b.parquet", "c.parquet"]
    record.publish("q1", 3, ["c.parquet"])
    assert "c.parquet" in record.files("q1")
    assert record.delete("q1") == 2


def test_forgetting_keeps_the_list_and_removes_what_is_unfinished(record: FilesRecord) -> None:
    """A query that begins again leaves no staged files and no decision of its predecessor."""
    staged = record.staging("q1") / "2" / "part-0.parquet"
    _write(staged)
    _write(record.root / "c.parquet")
    record.forget("q1")
    assert not (record.root / "_staging").exists()
    assert not record.may_have_written("q1", 2)
    assert record.files("q1") == ["a.parquet", "odd=1/b.parquet", "c.parquet"]


def test_applications_are_told_apart_by_the_directory_of_their_state(record: FilesRecord) -> None:
    """A test, or a second installation, is not the application whose files are there."""
    (earlier,) = FilesRecord(record.root, "archive", "/tmp/pytest/kit").earlier("q2")
    assert (earlier.id, earlier.owner) == ("q1", "/srv/app/.flow/app")
    assert record.earlier("q1") == []
