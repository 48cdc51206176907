"""Leases: one instance at a time, take-over of a dead one, and fencing of one that was only thought dead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamlets.channels.base import WriterFencedError
from streamlets.ingress.spouts.codecs import Row
from streamlets.ingress.spouts.lease import EXPIRES_AFTER, Lease
from streamlets.ingress.spouts.writer import TransactionWriter
from streamlets.testkit import Testkit
from tests.streamlets.ingress.spouts.test_programs_under_test import shell


class Time:
    """A clock that only waiting advances."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    def clock(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        """Advance; give up after a minute."""
        self.now += seconds
        self.waits.append(seconds)
        return self.now > 60


def foreign(directory: Path, epoch: int) -> Path:
    """Write the lease of a process of another machine."""
    directory.mkdir(exist_ok=True)
    file = directory / f"{epoch}.json"
    file.write_text(json.dumps({"state": "held", "process": 5, "started": "1", "host": "elsewhere", "renewals": 0}))
    return file


def lease(directory: Path, time: Time, waiting: list[str], wall: float = 100.0) -> Lease:
    """Return a lease with this time."""
    return Lease(directory, time.wait, waiting.append, time.clock, lambda: wall)


def test_a_free_lease_is_taken_at_once(tmp_path: Path) -> None:
    """Its epoch grows with each instance, also if the directory was deleted or the clock was set back."""
    time, waiting = Time(), list[str]()
    for wall, epoch in ((100.0, 100), (100.0, 101), (50.0, 102), (500.0, 500)):
        with lease(tmp_path / "lease", time, waiting, wall) as held:
            assert held.acquire()
            assert held.epoch == epoch
    assert (time.waits, waiting) == ([], [])
    assert [file.name for file in (tmp_path / "lease").iterdir()] == ["500.json"]


def test_an_instance_on_another_machine_is_waited_for(tmp_path: Path) -> None:
    """Until its lease was not renewed for a while; each renewal starts the time again."""
    time, waiting = Time(), list[str]()
    file = foreign(tmp_path, 7)
    wanted = lease(tmp_path, time, waiting)
    wait = time.wait

    def renewing(seconds: float) -> bool:
        if time.now == 10:
            file.write_text(file.read_text().replace('"renewals": 0', '"renewals": 1'))
        return wait(seconds)

    wanted._wait = renewing
    assert wanted.acquire()
    assert (time.now, wanted.epoch, waiting) == (11 + EXPIRES_AFTER, 100, ["process 5 on elsewhere"])
    wanted.release()


def test_waiting_can_be_given_up(tmp_path: Path) -> None:
    """Then there is no lease."""
    foreign(tmp_path, 7)
    wanted = Lease(tmp_path, lambda seconds: True, lambda owner: None)
    assert not wanted.acquire()
    assert [file.name for file in tmp_path.iterdir()] == ["7.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"state": "released"}'])
def test_released_and_damaged_leases(tmp_path: Path, text: str) -> None:
    """A released one is free; a damaged one expires as any other."""
    time = Time()
    (tmp_path / "7.json").write_text(text)
    with lease(tmp_path, time, []) as held:
        assert held.acquire()
    assert (time.now == 0) == ("released" in text)


def test_a_spout_that_lost_its_lease_cannot_publish(spouts: Testkit) -> None:
    """The writer with the higher epoch fences it."""
    feed = shell(spouts, "true")
    old = TransactionWriter(feed.plan, feed._resources, 5)
    outlet = old.outlet("out")
    assert old.commit_rows(outlet, [Row({"id": 1}, "record 1")], None).records == 1
    with TransactionWriter(feed.plan, feed._resources, 6) as new:
        with pytest.raises(WriterFencedError):
            old.commit_rows(outlet, [Row({"id": 2}, "record 1")], None)
        assert new.commit_rows(outlet, [Row({"id": 3}, "record 1")], None).records == 1
    with pytest.raises(WriterFencedError):
        TransactionWriter(feed.plan, feed._resources, 5)
    assert [row["id"] for row in feed.outlet("out").all()] == [1, 3]
