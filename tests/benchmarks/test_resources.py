"""A small version of the benchmark of deletions: a run with queries is killed while it deletes."""

from __future__ import annotations

import pytest

from benchmarks.resources import case

pytestmark = [pytest.mark.spark, pytest.mark.full]


def test_a_deletion_is_completed_by_the_next_run() -> None:
    """It begins again, and the sink has every record once for each of the two runs."""
    assert case("after-topic-deleted:2", queries=True) == "deleted"
