"""The first attempt decides the manifest of a batch."""

from __future__ import annotations

from pathlib import Path

from streamlets.channels.delta.actions import DataFile
from streamlets.channels.delta.manifest import Manifest, Manifests

FIRST = Manifest({"a/t": (DataFile("data/1.parquet", 10, (3, 4), {"day": None}),)}, {"out": 7}, 2)
SECOND = Manifest({"a/t": (DataFile("data/2.parquet", 10, (6,)),)}, {"out": 6}, 3)


def test_the_first_attempt_decides(tmp_path: Path) -> None:
    """A later attempt gets the complete manifest of the first one."""
    manifests = Manifests(tmp_path / "query")
    assert manifests.find(3) is None
    assert manifests.decide(3, FIRST) == FIRST
    assert manifests.decide(3, SECOND) == FIRST
    assert manifests.find(3) == FIRST


def test_manifests_of_committed_batches_are_deleted(tmp_path: Path) -> None:
    """The manifests of batches before the running one are deleted, that of the running one is kept."""
    manifests = Manifests(tmp_path / "query")
    for batch in (8, 9, 10):
        manifests.decide(batch, FIRST)
    manifests.forget_before(10)
    assert [manifests.find(batch) is not None for batch in (8, 9, 10)] == [False, False, True]
