"""Shares: which task sends which files of a batch, decided once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlets.channels.kafka.shares import FILE, Shares
from streamlets.storage.damage import DamagedFileError

SIZES = st.lists(st.integers(0, 50), max_size=30)


@given(SIZES, st.integers(1, 12))
def test_each_file_with_messages_is_in_one_share(sizes: list[int], tasks: int) -> None:
    """In its order, at most as many shares as tasks, none of them empty."""
    files = [(f"{number}", size) for number, size in enumerate(sizes)]
    shares = Shares.of("id", files, tasks)
    assert [file for share in shares.tasks for file in share.files] == [name for name, size in files if size]
    assert shares.messages == sum(sizes)
    assert len(shares.tasks) <= tasks
    assert all(share.messages for share in shares.tasks)


def test_equal_files_are_shared_equally() -> None:
    """With as many files as tasks, each has one."""
    assert [len(share.files) for share in Shares.of("id", [(str(n), 7) for n in range(8)], 4).tasks] == [2, 2, 2, 2]


def test_a_decision_is_read_as_it_was_written(tmp_path: Path) -> None:
    """None before it was written; a damaged one is an error with the ways out."""
    assert Shares.read(tmp_path) is None
    shares = Shares.of("id", [("a", 3), ("b", 0), ("c", 5)], 2, 1)
    shares.write(tmp_path)
    assert Shares.read(tmp_path) == shares
    for content in (b"", b"{}", b'{"id": "x", "tasks": [{}], "letters": 0}', b"[1]"):
        (tmp_path / FILE).write_bytes(content)
        with pytest.raises(DamagedFileError, match=r"the plan of a batch for Kafka is .*flow checkpoints reset"):
            Shares.read(tmp_path)
