"""What the number of replicas of a streamlet sets, and what limits it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blueprint.core_settings import StreamletSettings
from blueprint.plan import TopicPlan
from streamlets.api.context import TaskConnection
from streamlets.api.errors import StreamletError
from streamlets.ingress.batch_sources import query as batch_source
from streamlets.runner.units.binding import TopicBinding
from streamlets.runner.units.replicas import limits, require_no_replicas, session_settings
from tests.streamlets.channels.topics import inlet, outlet

STATEFUL, STATELESS = "Deduplicate", "Project"


def limits_of(
    replicas: int, *, master: str = "local[2]", session: int = 0, stored: int = 0, node: str = STATEFUL
) -> list[str]:
    """Return what limits replicas, of a session and a checkpoint with so many shuffle partitions."""
    settings = SimpleNamespace(getAll=lambda: [("spark.master", master)])
    spark: Any = SimpleNamespace(
        sparkContext=SimpleNamespace(master=master, defaultParallelism=2, getConf=lambda: settings),
        conf={"spark.sql.shuffle.partitions": str(session or replicas)},
    )
    batch = SimpleNamespace(settings={"spark.sql.shuffle.partitions": str(stored)})
    checkpoint: Any = SimpleNamespace(committed=batch if stored else None, name="mean.out")
    plan: Any = SimpleNamespace(all=lambda: [SimpleNamespace(name=node, streaming=True, rest="")])
    return list(limits(replicas, spark, checkpoint, plan))


def test_an_application_may_set_what_replicas_would() -> None:
    """The Spark settings of the application take precedence; without replicas there are none."""
    assert session_settings(None, {}) == {}
    assert session_settings(3, {})["spark.sql.shuffle.partitions"] == "3"
    assert "spark.sql.shuffle.partitions" not in session_settings(3, {"spark.sql.shuffle.partitions": "8"})


def test_more_replicas_than_cores_are_reported() -> None:
    """A cluster may grow, so its cores are not a limit."""
    (cores,) = limits_of(4)
    assert cores.startswith("it has 4 replicas, but Spark runs 2 tasks at the same time")
    assert limits_of(2) == limits_of(4, master="spark://main:7077") == []


def test_the_tasks_of_existing_state_are_reported() -> None:
    """Spark uses the number of shuffle partitions in the checkpoint. It is not a limit without state, or where the
    settings of Spark have the number."""
    (state,) = limits_of(2, stored=1)
    assert state.startswith("2 replicas read its sources, and 1 task keeps its state")
    assert "flow checkpoints reset mean.out" in state
    assert limits_of(2, stored=1, node=STATELESS) == limits_of(2, stored=2) == limits_of(2, session=8, stored=4) == []


class Recorder:
    """A topic, or the rows of a source, that keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def read(self, *arguments: object, replicas: int | None, **settings: object) -> None:
        """Keep the number of replicas."""
        self.asked.append(replicas)

    def coalesce(self, tasks: int) -> Recorder:
        """Keep the number of tasks."""
        self.asked.append(tasks)
        return self


def binding(topic: Any, **settings: Any) -> TopicBinding:
    """Return the binding of a streamlet with the inlet `in` and the outlet `out` of a topic."""
    plan: Any = SimpleNamespace(
        ref="reader", settings=StreamletSettings(**settings), inlets=[inlet("in")], outlets=[outlet("out")],
        dead_letters=None, version="",
    )  # fmt: skip
    topic.plan = TopicPlan("out", "out", "kafka", True, (), (), {})
    session: Any = None
    return TopicBinding(
        plan=plan, session=session, topics={"in": topic, "out": topic}, channels={"kafka": topic}, checkpoints=Path(),
        real_time=True,
    )  # fmt: skip


@pytest.mark.parametrize("replicas", [None, 3])
def test_inlets_are_read_by_the_replicas_of_their_streamlet(replicas: int | None) -> None:
    """A channel gets the number with each inlet, None if it is not set."""
    topic = Recorder()
    binding(topic, replicas=replicas).read("in", name="in_", metadata=False)
    assert topic.asked == [replicas]


def test_a_real_time_query_cannot_have_replicas() -> None:
    """Verification knows only the triggers of settings, not those in code: a query is checked when it starts."""
    write: Any = SimpleNamespace(query="q", place=None)
    plan: Any = SimpleNamespace(ref="reader", settings=StreamletSettings(replicas=3))
    with pytest.raises(StreamletError, match="`q` has a real-time trigger, and `reader` has `replicas`"):
        require_no_replicas(write, plan)
    plan.settings = StreamletSettings()
    require_no_replicas(write, plan)


def test_as_many_tasks_of_a_batch_source_are_read_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task cannot be split, so that replicas only limit how many are read side by side."""
    rows = Recorder()
    for replicas in (None, 2):
        connection = TaskConnection(outlet("out"), None, replicas=replicas)
        logic: Any = SimpleNamespace(
            streamlet=SimpleNamespace(shape=SimpleNamespace(outlets=[SimpleNamespace(name="out")])),
            context=SimpleNamespace(
                ports=SimpleNamespace(task_source=lambda name, found=connection: found),
                session=SimpleNamespace(dataSource=SimpleNamespace(register=lambda source: None)),
            ),
            source=lambda *arguments, **options: rows,
            write_ports=lambda *arguments: None,
        )
        limits: Any = None
        batch_source.read_tasks(logic, limits)
    assert rows.asked == [2]
