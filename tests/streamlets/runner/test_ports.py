"""The status of the ports of a run: their states, their counts, and how far their readers have come."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blueprint.avro.model import Contract
from blueprint.comparison import ApplicationDescriptor
from blueprint.comparison.descriptor import DescribedInlet, DescribedOutlet, DescribedStreamlet, DescribedTopic
from streamlets.runner.checkpoints.checkpoint import checkpoints_in
from streamlets.runner.events.event import fold
from streamlets.runner.events.run_events import RunStarted
from streamlets.runner.events.status import RunStatus, State, UnitId
from streamlets.runner.events.unit_events import UnitChanged, UnitMeasured, UnitProgressed
from streamlets.runner.ports import PortStatus, acknowledged_positions, ports_of
from tests.streamlets.channels.topics import READING
from tests.streamlets.runner.checkpoints.test_checkpoint import written

ANY: Contract = READING
APPLICATION = ApplicationDescriptor(
    application="plant",
    streamlets={
        "feed": DescribedStreamlet(class_name="app.Feed", outlets={"out": DescribedOutlet("rows", ANY)}),
        "join": DescribedStreamlet(
            class_name="app.Join",
            inlets={"left-hand": DescribedInlet("rows", ANY), "right": DescribedInlet("rows", ANY)},
            outlets={"out": DescribedOutlet("sums", ANY)},
        ),
    },
    topics={id: DescribedTopic(channel="delta", name=name) for id, name in (("rows", "plant.rows"), ("sums", "sums"))},
)
FEED, FIRST, SECOND = UnitId("feed", "out"), UnitId("join", "out"), UnitId("join", "audit")


def ports(*events: Any, live: bool = True, acknowledged: Any = None, now: float = 10.0) -> dict[str, PortStatus]:
    """Return the ports by name after some events."""
    status = fold(RunStatus(), RunStarted(0.0, "plant", ("feed", "join")))
    for event in events:
        status = fold(status, event)
    found = ports_of(status, APPLICATION, acknowledged or {}, now, live=live)
    return {f"{port.streamlet}.{port.port}": port for port in found}


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("starting", "opened"), ("running", "started"), ("draining", "started"), ("paused", "stopped"),
        ("stopped", "closed"), ("completed", "closed"), ("backing-off", "error"), ("failed", "error"),
    ],
)  # fmt: skip
def test_a_port_has_the_state_of_its_streamlet(state: State, expected: str) -> None:
    """One that waits is not open yet; one whose run was killed is lost, unless it had ended."""
    changed = UnitChanged(1.0, FEED, state)
    assert ports(changed)["feed.out"].state == expected
    over = state in ("paused", "stopped", "completed", "failed")
    assert ports(changed, live=False)["feed.out"].state == (expected if over else "lost")
    assert ports(UnitChanged(1.0, FEED, "starting", waiting="waiting for clicks"))["feed.out"].state == "waiting"


def test_batches_are_counted_at_each_port() -> None:
    """Two queries read one inlet: their records and batches are added up; an idle port takes part in a batch without
    records, which is not an activity."""
    found = ports(
        UnitChanged(0.0, FIRST, "running"),
        UnitProgressed(2.0, FIRST, 0, 30, {"out": 10}, inlets={"left-hand": 20, "right": 10}, seconds=1.0),
        UnitProgressed(4.0, FIRST, 1, 10, {"out": 5}, inlets={"left-hand": 10, "right": 0}, seconds=2.0),
        UnitChanged(0.0, SECOND, "running"),
        UnitProgressed(6.0, SECOND, 0, 30, {"sink": 30}, inlets={"left-hand": 30}, seconds=3.0),
        UnitMeasured(7.0, FIRST, {"left-hand": 4, "right": 1}),
        UnitMeasured(7.0, SECOND, {"left-hand": 2}),
    )
    left, right, out = found["join.left-hand"], found["join.right"], found["join.out"]
    assert (left.records, left.batches, left.seconds, left.active, left.backlog) == (60, 3, 6.0, 6.0, 6)
    assert (left.records_per_batch, left.seconds_per_batch, left.seconds_per_record) == (20, 2.0, 0.1)
    assert (right.records, right.batches, right.active, right.backlog) == (10, 2, 2.0, 1)
    assert (out.records, out.batches, out.active, out.backlog) == (15, 2, 4.0, None)
    assert left.rate > right.rate > 0
    assert found["feed.out"].records_per_batch is None
    assert ports(UnitProgressed(2.0, FEED, 0, 0, {"out": 10}), live=False)["feed.out"].rate == 0


def test_the_readers_of_a_topic_have_positions(tmp_path: Path) -> None:
    """An outlet shows how far each of its readers has come. A source is an inlet by its name and its topic; a source of
    the author's own is not one."""
    topic: Any = SimpleNamespace(
        plan=SimpleNamespace(id="plant.rows", name="plant.rows"),
        owns=lambda position: position.json.startswith('{"rows"'),
        shown=lambda position: f"at {position.json[9:-1]}",
    )
    written(tmp_path, "join.out", {0: {"right": '{"rows": 1}', "left_hand": '{"rows": 2}', "own": '{"files": 9}'}}, 0)
    written(tmp_path, "join.audit", {0: {"left_hand": '{"rows": 3}'}, 1: {"left_hand": '{"rows": 4}'}}, 0)
    written(tmp_path, "removed.out", {0: {"in": '{"rows": 7}'}}, 0)
    written(tmp_path, "feed.out", {0: {"files": '{"files": 7}'}}, -1)
    acknowledged = acknowledged_positions(APPLICATION, checkpoints_in(tmp_path), [topic])
    assert acknowledged == {("join", "left-hand"): {"out": "at 2", "audit": "at 3"}, ("join", "right"): {"out": "at 1"}}
    found = ports(acknowledged=acknowledged)
    assert found["join.left-hand"].acknowledged == {"out": "at 2", "audit": "at 3"}
    readers = {"join.left-hand of audit": "at 3", "join.left-hand of out": "at 2", "join.right": "at 1"}
    assert found["feed.out"].acknowledged == readers
    assert found["join.out"].acknowledged == {}
