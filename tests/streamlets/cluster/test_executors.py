"""The watch over executors: what it reports of each look, and when it gives a Spark up. Without Spark and clusters."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field

import pytest

from streamlets.cluster.executors import (
    Added,
    Change,
    Executor,
    ExecutorWatch,
    Look,
    MasterBack,
    MasterLost,
    Removed,
    answers,
    shortened,
)

ONE, TWO = Executor("0", "10.0.0.1:4000", 2), Executor("1", "10.0.0.2:4000", 1)


@dataclass
class Scene:
    """A watch, its clock, and what it has reported."""

    seen: Look = field(default_factory=Look)
    now: float = 0.0
    changes: list[Change] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.watch = ExecutorWatch(
            lambda: self.seen, self.changes.append, self.ends.append, patience=60.0, timer=lambda: self.now
        )

    def look(self, seconds: float, *executors: Executor, working: bool = True, **more: object) -> bool:
        """Look after some seconds; `more` are fields of the look."""
        self.now += seconds
        self.seen = Look({executor.id: executor for executor in executors}, working=working, **more)  # type: ignore[arg-type]
        return self.watch.look()


def test_each_change_is_reported_once() -> None:
    """Executors that join or are lost, with Spark's reason, and what remains."""
    scene = Scene()
    scene.look(0, ONE, TWO)
    scene.look(3, ONE, TWO)
    scene.look(3, TWO, removed={"0": "worker lost"})
    scene.look(3, TWO, removed={"0": "worker lost"})
    assert scene.changes == [Added((ONE, TWO), 2, 3), Removed(ONE, "worker lost", 1, 1)]
    assert not scene.ends


def test_a_batch_that_waits_for_a_minute_without_executors_ends_spark() -> None:
    """The reason has the last removal. One executor is enough to wait on, and so is a Spark without a job."""
    scene = Scene()
    scene.look(0, ONE)
    assert not scene.look(30, removed={"0": "Command exited with code 137"})
    assert not scene.look(59, working=True, removed={"0": "Command exited with code 137"})
    assert scene.look(1, removed={"0": "Command exited with code 137"})
    (reason,) = scene.ends
    assert reason == (
        "a batch has waited for an executor of the cluster for 60 s; the last one was removed: Command exited with "
        "code 137"
    )


@pytest.mark.parametrize("between", [{"executors": (TWO,)}, {"working": False}])
def test_an_executor_or_the_end_of_the_batch_begins_the_time_again(between: dict[str, object]) -> None:
    """Only uninterrupted time without an executor counts, and only while a job waits."""
    scene = Scene()
    scene.look(0)
    scene.look(59)
    scene.look(0.5, *between.pop("executors", ()), **between)  # type: ignore[misc, arg-type]
    assert not scene.look(1)
    assert not scene.look(59)
    assert scene.look(1)


def test_a_spark_that_has_stopped_itself_is_given_up_at_once() -> None:
    """A master that has ended the application, or was never there, makes Spark stop; its Java process goes on."""
    scene = Scene()
    assert scene.look(0, stopped=True)
    assert scene.ends == ["Spark has stopped, because the cluster does not run the application"]


def test_an_idle_spark_that_its_master_has_forgotten_is_given_up_at_once() -> None:
    """No executor can come any more, so nothing is gained by waiting for a batch."""
    scene = Scene()
    scene.look(0, ONE)
    assert scene.look(3, working=False, master=True, registered=False)
    assert scene.ends == ["the master of the cluster was started again and does not know the application any more"]


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param({"master": False}, id="the master is away"),
        pytest.param({"master": True, "registered": True}, id="the application waits for a worker"),
        pytest.param({"master": True, "registered": None}, id="the master recovers"),
        pytest.param({"master": None}, id="not a standalone cluster"),
    ],
)
def test_an_idle_spark_without_executors_is_kept_while_its_master_may_give_it_some(seen: dict[str, object]) -> None:
    """Another Spark would wait for the same master, and for the same workers."""
    scene = Scene()
    scene.look(0, ONE)
    for _ in range(100):
        assert not scene.look(60, working=False, **seen)
    assert not scene.ends


def test_a_forgotten_spark_goes_on_while_it_has_executors() -> None:
    """They still run tasks, until a worker that has found the new master ends them."""
    scene = Scene()
    assert not scene.look(0, ONE, master=True, registered=False)


def test_a_master_is_reported_when_it_does_not_answer_and_when_it_does_again() -> None:
    """A cluster whose master is not known has no such reports."""
    scene = Scene()
    for master in (True, False, False, True, None):
        scene.look(10, ONE, master=master)
    assert scene.changes[1:] == [MasterLost(), MasterBack(20.0)]


def test_a_standalone_master_answers_if_one_of_its_addresses_does() -> None:
    """Other masters, such as Kubernetes, are not asked."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert answers(f"spark://127.0.0.1:{port}")
        assert answers(f"spark://127.0.0.1:1,127.0.0.1:{port}")
    assert answers(f"spark://127.0.0.1:{port}") is False
    assert answers("k8s://https://127.0.0.1:6443") is None
    assert answers("local-cluster[2,1,1024]") is None


def test_a_reason_is_one_line_without_its_full_stop() -> None:
    """Some reasons of Spark have a stack trace."""
    assert shortened("Executor heartbeat timed out after 140000 ms.\n\tat x.y") == (
        "Executor heartbeat timed out after 140000 ms"
    )
    assert len(shortened("x" * 1000)) == 300
    assert shortened("") == ""
