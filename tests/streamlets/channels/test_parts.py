"""How the records of a batch are shared among tasks on the delta channel."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlets.channels.delta.log import Slice
from streamlets.channels.delta.records import WORTH_A_TASK, parts


def slices(*counts: int) -> list[Slice]:
    """Return the slices of commits with so many records, one after the other in a file."""
    return [
        Slice("t", "{}", "file", 1, (sum(counts),), sum(counts[:index]), index + 1, 0, count, 0)
        for index, count in enumerate(counts)
    ]


def rows(split: list[list[Slice]]) -> list[int]:
    """Return the rows of the file that tasks read, in their order."""
    return [row for part in split for piece in part for row in range(piece.row, piece.row + piece.count)]


@given(st.lists(st.integers(0, 30), max_size=6), st.integers(1, 12))
def test_parts_have_all_records_once_and_evenly(counts: list[int], replicas: int) -> None:
    """There are as many parts as replicas, or as records if these are fewer; their sizes differ by one at most."""
    split = parts(slices(*counts), replicas, least=1)
    assert rows(split) == [*range(sum(counts))]
    assert len(split) == min(replicas, sum(counts))
    sizes = {sum(piece.count for piece in part) for part in split}
    assert not sizes or max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    ("records", "tasks"), [(0, 0), (10, 1), (WORTH_A_TASK * 2 - 1, 1), (WORTH_A_TASK * 2, 2), (WORTH_A_TASK * 99, 4)]
)
def test_without_replicas_a_part_is_worth_a_task(records: int, tasks: int) -> None:
    """Small batches have one task, larger ones up to one for each core."""
    assert len(parts(slices(records), 4)) == tasks
