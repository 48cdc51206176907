"""The results of a backfill: only those after the warm-up, as files and as a new topic, also when repeated."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from blueprint.plan import ApplicationPlan, OutletPlan, StreamletPlan, TopicPlan
from streamlets.backfills.model import Backfill, Request, Result
from streamlets.backfills.results import hand_over, new_topic
from streamlets.backfills.store import Store
from streamlets.channels.base import TopicResource
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.topics import topics_of
from tests.blueprint.paper import streamlet as descriptor
from tests.streamlets.channels.topics import READING, add, ids_of


def test_results(tmp_path: Path) -> None:
    """Dead letters have a file only if there are any; what is repeated replaces what it has written before."""
    state = StateDirectory(tmp_path / ".flow", "app")
    state.topics.mkdir(parents=True)
    outlet = OutletPlan("s", "out", None, READING, "totals")
    streamlet = StreamletPlan(
        ref="s", class_name="m.S", descriptor=descriptor("m.S"), outlets=(outlet,), dead_letters="dead"
    )
    names = ("totals", "dead")
    plan = ApplicationPlan(
        name="app", blueprint="b", directory=".", streamlets=(streamlet,),
        topics=tuple(TopicPlan(name, name, "delta", True, (), (), {}) for name in names),
    )  # fmt: skip
    work = Store(state).work("one")
    work.topics.mkdir(parents=True)
    topics: dict[str, TopicResource] = dict(topics_of(plan, work))
    for topic in topics.values():
        topic.create(())
    add(topics["totals"], 0, [1, 2])
    after = topics["totals"].end().json
    add(topics["totals"], 1, [3, 4, 5])
    request = Request(streamlet="s", into=str(tmp_path / "out"), topic="again")
    backfill = Backfill(
        name="one", request=request, version="", created=1.0, ranges={}, phase="results",
        results={"totals": Result(after=after), "dead": Result()},
    )  # fmt: skip
    for _ in range(2):
        results = hand_over(state, plan, dict(topics_of(plan, work)), backfill)
        assert {id: result.records for id, result in results.items()} == {"totals": 3, "dead": 0}
        assert [file.name for file in (tmp_path / "out").iterdir()] == ["totals.parquet"]
        assert pq.read_table(tmp_path / "out" / "totals.parquet").column("id").to_pylist() == [3, 4, 5]
        assert ids_of(new_topic(state, "again").scan()) == [3, 4, 5]
