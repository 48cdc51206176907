"""A file that is replaced also when the disk is full."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from streamlets.runner.state_directory import reserve
from streamlets.runner.state_directory.reserve import ReservedFile


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the text goes."""
    return tmp_path / "status.json"


def _fill(monkeypatch: pytest.MonkeyPatch, code: int = errno.ENOSPC) -> None:
    """Let nothing be written to a file of its own."""

    def refuse(file: Path, text: str) -> None:
        raise OSError(code, "cannot", str(file))

    monkeypatch.setattr(reserve, "write_atomically", refuse)


def _blocks(folder: Path) -> int:
    return sum(inode.st_blocks for inode in {each.stat().st_ino: each.stat() for each in folder.iterdir()}.values())


def test_a_full_disk_takes_the_text_without_more_blocks(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text replaces the one before, by turns in one of two rooms, so that who has opened the file reads on in the
    text it found; nothing more is taken from the disk."""
    told = ReservedFile(file)
    told.write("with space\n")
    _fill(monkeypatch)
    before = _blocks(file.parent)
    for number in range(4):
        with file.open() as reader:
            told.write(f"full {number}\n")
            assert reader.read().split() in (["with", "space"], ["full", str(number - 1)])
        assert file.read_text().split() == ["full", str(number)]
        assert _blocks(file.parent) <= before


def test_another_process_finds_the_room_of_the_one_before(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that begins on a full disk uses the room that the run before has left, and leaves its last text whole."""
    ReservedFile(file).write("before")
    _fill(monkeypatch)
    ReservedFile(file).write("the last run")
    with file.open() as reader:
        ReservedFile(file).write("the next run")
        assert reader.read().strip() == "the last run"
    assert file.read_text().strip() == "the next run"


def test_space_that_is_there_again_is_used(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With space the text has a file of its own again, without blanks."""
    told = ReservedFile(file)
    told.write("a\n")
    with monkeypatch.context() as full:
        _fill(full)
        told.write("b\n")
    told.write("c\n")
    assert file.read_text() == "c\n"


@pytest.mark.parametrize(("code", "size"), [(errno.ENOSPC, 1_000_000), (errno.EROFS, 1)])
def test_what_has_no_room_leaves_the_text(file: Path, monkeypatch: pytest.MonkeyPatch, code: int, size: int) -> None:
    """A text longer than the room, and a folder that cannot be written at all, are told as they are."""
    told = ReservedFile(file)
    told.write("old")
    _fill(monkeypatch, code)
    with pytest.raises(OSError) as raised:
        told.write("x" * size)
    assert raised.value.errno == code
    assert file.read_text() == "old"


def test_the_room_grows_with_the_text(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that has become longer has room for its like."""
    told = ReservedFile(file)
    told.write("short")
    told.write("x" * 100_000)
    _fill(monkeypatch)
    told.write("y" * 150_000)
    assert file.read_text().rstrip() == "y" * 150_000
