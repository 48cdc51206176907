"""A file that can be replaced even when the disk is full."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from streamlets.runner.state_directory import reserve
from streamlets.runner.state_directory.reserve import ReservedFile


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file that is written."""
    return tmp_path / "status.json"


def _fill(monkeypatch: pytest.MonkeyPatch, code: int = errno.ENOSPC) -> None:
    """Make every write to a new file fail, as on a full disk."""

    def refuse(file: Path, text: str) -> None:
        raise OSError(code, "cannot", str(file))

    monkeypatch.setattr(reserve, "write_atomically", refuse)


def _blocks(directory: Path) -> int:
    return sum(inode.st_blocks for inode in {file.stat().st_ino: file.stat() for file in directory.iterdir()}.values())


def test_a_full_disk_takes_the_text_without_more_blocks(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text is written into one of two reserve files, alternately, so that a reader that has opened the file reads
    the old text to its end; no more disk space is used."""
    reserved = ReservedFile(file)
    reserved.write("with space\n")
    _fill(monkeypatch)
    before = _blocks(file.parent)
    for number in range(4):
        with file.open() as reader:
            reserved.write(f"full {number}\n")
            assert reader.read().split() in (["with", "space"], ["full", str(number - 1)])
        assert file.read_text().split() == ["full", str(number)]
        assert _blocks(file.parent) <= before


def test_another_process_uses_the_reserve_of_an_earlier_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that starts on a full disk uses the reserve of the run before it, and does not overwrite its last text."""
    ReservedFile(file).write("before")
    _fill(monkeypatch)
    ReservedFile(file).write("the last run")
    with file.open() as reader:
        ReservedFile(file).write("the next run")
        assert reader.read().strip() == "the last run"
    assert file.read_text().strip() == "the next run"


def test_free_space_is_used_as_soon_as_it_is_available(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is then in a file of its own again, without padding."""
    reserved = ReservedFile(file)
    reserved.write("a\n")
    with monkeypatch.context() as full:
        _fill(full)
        reserved.write("b\n")
    reserved.write("c\n")
    assert file.read_text() == "c\n"


@pytest.mark.parametrize(("code", "size"), [(errno.ENOSPC, 1_000_000), (errno.EROFS, 1)])
def test_a_text_that_cannot_be_written_raises_and_leaves_the_old_text(
    file: Path, monkeypatch: pytest.MonkeyPatch, code: int, size: int
) -> None:
    """A text that does not fit in the reserve, and a directory that is read-only, raise the error of the system."""
    reserved = ReservedFile(file)
    reserved.write("old")
    _fill(monkeypatch, code)
    with pytest.raises(OSError) as raised:
        reserved.write("x" * size)
    assert raised.value.errno == code
    assert file.read_text() == "old"


def test_the_reserve_grows_with_the_text(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a longer text, another one of that length fits in the reserve."""
    reserved = ReservedFile(file)
    reserved.write("short")
    reserved.write("x" * 100_000)
    _fill(monkeypatch)
    reserved.write("y" * 150_000)
    assert file.read_text().rstrip() == "y" * 150_000
