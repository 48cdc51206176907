"""What `flow status` shows of running streamlets, from the status file of a run without Spark."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest

from cli.commands import status as command
from cli.output.streamlet_table import ORDERS, fitted
from cli.output.streamlets import state
from streamlets.runner.events.event import Event, fold
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunStarted, SparkStarting
from streamlets.runner.events.status import OpenTasks, RunningBatch, RunStatus, StreamletStatus, UnitId, UnitStatus
from streamlets.runner.events.status_file import StatusFile
from streamlets.runner.events.unit_events import BatchStuck, UnitChanged, UnitMeasured, UnitProgressed, UnitStuck
from streamlets.runner.state_directory.directory import StateDirectory
from tests.cli.conftest import Flow
from tests.crossings.applications import KINDS, stopped, write

MEAN = UnitId("mean", "out")
AGE = 7200.0  # shown as 2 h, as is a time up to a minute longer
Status = Callable[..., list[str]]


@pytest.fixture
def status(flow: Flow, tmp_path: Path) -> Status:
    """Return a function that shows the status of a running application `plant` with the streamlet `mean` after some
    events: the lines below the headline."""

    def show(*events: Event) -> list[str]:
        state = StateDirectory(tmp_path / ".flow", "plant")
        with state.locked():
            file = StatusFile(state.status_file)
            publisher = Publisher([file])
            for event in (RunStarted(time.time(), "plant", ("mean",)), *events):
                publisher.publish(event)
            file.write(time.time())
            result = flow("status", str(tmp_path))
        assert result.code == 0, result.err
        return result.out.splitlines()[2:]

    return show


def cells(line: str) -> list[str]:
    """Return the cells of a line of the table."""
    return re.split(r"  +", line.strip())


def test_a_terminal_shows_whole_names_and_numbers(status: Status, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is that of `flow run`: numbers become short and columns are omitted before anything is folded."""
    events = (
        UnitChanged(time.time() - AGE, MEAN, "running"),
        UnitProgressed(time.time(), MEAN, 0, 336_776_123, {"out": 12_345_678}, backlog={"in": 20_000_000}),
    )
    monkeypatch.setenv("COLUMNS", "40")
    assert cells(status(*events)[-1])[3:5] == ["336,776,123", "12,345,678"]
    monkeypatch.setenv("FORCE_COLOR", "1")
    row = re.sub(r"\x1b\[[0-9;]*m", "", status(*events)[-1])
    assert cells(row) == ["mean", "running", "336M", "12M", "20M"]


def test_a_batch_that_takes_long_has_its_age(status: Status) -> None:
    """It follows the state; a stuck batch is called stuck, and the status shows where it is."""
    began = time.time() - AGE
    running = (
        UnitChanged(began, MEAN, "running"),
        UnitMeasured(began, MEAN, {"in": 7}, (4, began)),
    )
    _, row = status(*running)
    assert cells(row)[:2] == ["mean", "running, batch 2 h"]
    _, row, _, *stuck = status(
        *running, BatchStuck(time=began, unit=MEAN, batch=4, since=began, seconds=AGE, frames=("plant.py:7 in each",))
    )
    assert cells(row)[:2] == ["mean", "running, stuck 2 h"]
    assert stuck == ["mean.out: stuck: batch 4 has been running for 2 h", "  at plant.py:7 in each"]


def test_a_unit_without_batches_that_is_stuck(status: Status) -> None:
    """The status shows what does not happen, since when and where."""
    began = time.time() - AGE
    frames = ("plant.py:7 in run",)
    hung = UnitStuck(time=began, unit=MEAN, what="no sign of life", since=began, frames=frames)
    _, row, _, *stuck = status(UnitChanged(began, MEAN, "running"), hung)
    assert cells(row)[:2] == ["mean", "running, stuck 2 h"]
    assert stuck == ["mean.out: stuck: no sign of life for 2 h", "  at plant.py:7 in run"]


def test_the_age_of_a_short_batch_is_not_shown() -> None:
    """Streaming queries always have a running batch. A stuck one is shown, however short `stuck-after` is."""
    unit = UnitStatus(MEAN, "running", 0.0, running=RunningBatch(4, 100.0))
    streamlet = StreamletStatus("mean", "running", "", (unit,))
    assert [state(streamlet, now) for now in (109.9, 110.0)] == ["running", "running, batch 10 s"]
    stuck = replace(unit, running=RunningBatch(4, 100.0, stuck=True))
    assert state(replace(streamlet, units=(stuck,)), 103.0) == "running, stuck 3 s"


def test_what_a_starting_streamlet_waits_for(status: Status) -> None:
    """First for Spark; in a bounded run then for its producers."""
    now = time.time()
    _, row = status(SparkStarting(now, ("mean",)))
    assert cells(row)[:2] == ["mean", "starting Spark"]
    _, row = status(UnitChanged(now, UnitId("mean", ""), "starting", waiting="waiting for gauges"))
    assert cells(row)[:2] == ["mean", "waiting for gauges"]


def test_a_wait_with_a_limit_shows_both(status: Status, flow: Flow, tmp_path: Path) -> None:
    """The table has the time that has passed and the limit, and JSON has their timestamps."""
    now = time.time()
    waits = UnitChanged(
        now, UnitId("mean", ""), "starting", waiting="waiting for gauges", waits_since=now - 12, waits_until=now + 18
    )
    _, row = status(waits)
    assert cells(row)[:2] == ["mean", "waiting for gauges; 12 s of 30 s"]
    (mean,) = json.loads(flow("status", str(tmp_path), "--format", "json").out)["plant"]["streamlets"]
    (unit,) = mean["units"]
    assert mean["waiting"] == unit["waiting"] == "waiting for gauges"
    assert (unit["waits_since"], unit["waits_until"]) == (now - 12, now + 18)


def test_a_wait_stays_within_its_limit_if_the_clock_was_set(status: Status) -> None:
    """The limit is kept on another clock, so that the wait goes on."""
    hour, mean = time.time() - 3600, UnitId("mean", "")
    for since in (hour, hour + 7200):
        times: dict[str, Any] = {"waits_since": since, "waits_until": since + 30}
        waits = UnitChanged(hour, mean, "starting", waiting="waiting for gauges", **times)
        assert cells(status(waits)[1])[1] in ("waiting for gauges; 0 s of 30 s", "waiting for gauges; 30 s of 30 s")


def test_tasks_of_a_batch_source_have_their_age_and_failures(status: Status) -> None:
    """The age is that of the oldest task that waits; failed tasks are those that were not retried."""
    now, discovery = time.time(), UnitId("mean", "discovery")
    tasks = OpenTasks(oldest=now - AGE, failed=3)
    columns, row = status(
        UnitChanged(now, discovery, "running"), UnitProgressed(now, discovery, None, 0, {"tasks": 21}),
        UnitMeasured(now, discovery, {"tasks": 20}, tasks=tasks), UnitMeasured(now, discovery, {"tasks": 21}),
    )  # fmt: skip
    shown = dict(zip(cells(columns), cells(row), strict=True))
    assert (shown["backlog"], shown["oldest task"], shown["failed tasks"]) == ("21", "2 h", "3")


def test_late_rows_are_counted(status: Status) -> None:
    """The column has the sum since the start of the run, like that of dead letters."""
    now = time.time()
    batch = UnitProgressed(now, MEAN, 0, 1200, late=1000, dead_letters=2)
    columns, row = status(UnitChanged(now, MEAN, "running"), batch, batch)
    assert cells(columns)[-2:] == ["late", "dead letters"]
    assert cells(row)[-2:] == ["2,000", "4"]


def _two(tmp_path: Path) -> StateDirectory:
    """Return the state of an application of two streamlets, of which the second is busier."""
    state, now = StateDirectory(tmp_path / ".flow", "plant"), time.time()
    fast, slow = UnitId("fast", "out"), UnitId("slow", "out")
    with state.locked():
        file = StatusFile(state.status_file)
        publisher = Publisher([file])
        for event in (
            RunStarted(now - 90, "plant", ("fast", "slow")),
            UnitChanged(now - 90, fast, "running"),
            UnitChanged(now - 90, slow, "running"),
            UnitProgressed(now, fast, 0, 900, {"out": 900}, backlog={"in": 70}, seconds=6.0),
            UnitProgressed(now, slow, 0, 90, {"out": 90}, backlog={"in": 5}, seconds=50.0),
        ):
            publisher.publish(event)
        file.write(now)
    return state


def test_the_busiest_streamlet_can_be_first(flow: Flow, tmp_path: Path) -> None:
    """In the table and in JSON; the default order is producers first. Busy is the share of the last minute."""
    with _two(tmp_path).locked():
        shown = {order: flow("status", str(tmp_path), "--sort", order).out.splitlines() for order in ("busy", "rate")}
        data = flow("status", str(tmp_path), "--sort", "backlog", "--format", "json").out
    assert [cells(line)[0] for line in shown["busy"][-2:]] == ["slow", "fast"]
    assert [cells(line)[0] for line in shown["rate"][-2:]] == ["fast", "slow"]
    assert [streamlet["ref"] for streamlet in json.loads(data)["plant"]["streamlets"]] == ["fast", "slow"]
    assert "busy" in cells(shown["busy"][2])
    assert re.search(r"\b8[0-4]%", shown["busy"][-2])


def test_every_order_is_an_option() -> None:
    """The choices of the option are the rows of the table of orders."""
    (option,) = [param for param in command.status.params if param.name == "order"]
    assert isinstance(option.type, click.Choice)
    assert set(option.type.choices) == set(ORDERS)


def test_a_watched_status_is_shown_until_it_is_interrupted(
    flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For programs, each line is an object; the exit code is that of the last look."""
    state, looks = _two(tmp_path), iter(range(2))

    def sleep(seconds: float) -> None:
        if next(looks, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", sleep)
    with state.locked():
        result = flow("status", str(tmp_path), "--watch", "--format", "json")
    assert result.code == 0
    assert [json.loads(line)["plant"]["health"] for line in result.out.splitlines()] == ["running"] * 3


def test_a_wide_terminal_has_the_curve_of_the_last_minutes() -> None:
    """It is the first column that a narrow one omits."""
    now = 1000.0
    status = RunStatus()
    for event in (
        RunStarted(0.0, "plant", ("mean",)),
        UnitChanged(1.0, MEAN, "running"),
        UnitProgressed(now, MEAN, 0, 900, {"out": 900}, backlog={"in": 70}, seconds=6.0),
    ):
        status = fold(status, event)
    wide, narrow = (
        [column.header for column in fitted(status, now, width, curves={"mean": "▁▂▃▄▅▆▇█▁▂▃▄"}).columns]
        for width in (120, 40)
    )
    assert "last\n10\nminutes" in wide
    assert "last\n10\nminutes" not in narrow


def test_an_application_without_ports_has_a_sentence(flow: Flow, tmp_path: Path) -> None:
    """A job has no ports; no table without rows is shown."""
    blueprint = write(KINDS["sql"], tmp_path / "jobs")
    stopped(blueprint)
    lines = flow("status", str(blueprint), "--ports").out.splitlines()
    assert lines[2:] == ["no streamlet has an inlet or an outlet"]
    assert json.loads(flow("status", str(blueprint), "--ports", "--format", "json").out)["ticks"]["ports"] == []
