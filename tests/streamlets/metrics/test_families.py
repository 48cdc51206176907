"""The metrics of a run, their names and labels, and their documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from streamlets.metrics.collector import Exposition
from streamlets.metrics.families import FAMILIES, table
from streamlets.metrics.family import Family, Scene
from streamlets.runner.events.durations import BOUNDS
from streamlets.runner.events.status import RunStatus
from tests.streamlets.metrics.scenes import NOW, full_status, waiting_status

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"


def series(family: Family) -> dict[str, tuple[str, ...]]:
    """Return the series of a metric with their labels, which are several for a histogram."""
    if family.kind != "histogram":
        return {family.name: family.labels}
    parts = {"bucket": (*family.labels, "le"), "count": family.labels, "sum": family.labels}
    return {f"{family.name}_{part}": labels for part, labels in parts.items()}


def scraped(scene: Scene) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the values of each metric of ours by the values of its labels, as a client reads them."""
    labels = {name: labels for family in FAMILIES for name, labels in series(family).items()}
    values: dict[str, dict[tuple[str, ...], float]] = {}
    for metric in text_string_to_metric_families(Exposition(lambda: scene).render().decode()):
        for sample in metric.samples:
            if sample.name.startswith("streamlets_"):
                values.setdefault(sample.name, {})[tuple(sample.labels[label] for label in labels[sample.name])] = (
                    sample.value
                )
    return values


def test_the_values_of_a_run() -> None:
    """They are the ones of the status, in base units."""
    values = scraped(Scene(full_status(), NOW, {"readings": 5000}))
    unit, spout, source = ("mean0", "out"), ("spout", ""), ("source", "")
    assert values["streamlets_run_health"][("plant", "running")] == 1
    assert values["streamlets_run_start_timestamp_seconds"] == {(): 100.0}
    assert values["streamlets_streamlet_state"][("mean0", "running")] == 1
    assert values["streamlets_streamlet_state"][("mean0", "failed")] == 0
    assert values["streamlets_restarts_total"][unit] == 1
    assert values["streamlets_records_in_total"] == {(*unit, "in"): 25, (*unit, ""): 5}
    assert values["streamlets_records_out_total"] == {(*unit, "out"): 20, (*spout, "out"): 50, (*source, "tasks"): 4}
    assert values["streamlets_dead_letters_total"][unit] == 3
    assert values["streamlets_late_records_total"][unit] == 2
    assert values["streamlets_last_record_timestamp_seconds"] == {unit: 970.0, spout: 950.0, source: 950.0}
    assert values["streamlets_backlog_records"] == {(*unit, "in"): 40, (*source, "tasks"): 2}
    assert values["streamlets_backlog_seconds"] == {(*unit, "in"): 40.0}
    assert values["streamlets_busy_ratio"] == {unit: pytest.approx((6 + 15) / 60)}
    assert values["streamlets_batches_total"] == {unit: 1}
    assert values["streamlets_batch_phase_seconds_total"][(*unit, "executing")] == 5.0
    assert sum(values["streamlets_batch_phase_seconds_total"].values()) == 6.0
    duration = "streamlets_batch_duration_seconds"
    assert (values[f"{duration}_count"], values[f"{duration}_sum"]) == ({unit: 1}, {unit: 6.0})
    counts = {bound: count for (*_, bound), count in values[f"{duration}_bucket"].items()}
    assert {bound for bound, count in counts.items() if count} == {"10.0", "30.0", "60.0", "300.0", "+Inf"}
    assert set(counts) == {*map(str, BOUNDS), "+Inf"}
    assert values["streamlets_last_batch_seconds"] == {unit: 6.0}
    assert values["streamlets_running_batch_seconds"] == {unit: 15.0}
    assert values["streamlets_state_rows"] == {unit: 11}
    assert values["streamlets_state_memory_bytes"] == {unit: 4096}
    assert values["streamlets_state_task_seconds_total"] == {unit: 0.5}
    assert values["streamlets_watermark_timestamp_seconds"] == {unit: 900.0}
    assert values["streamlets_watermark_delay_seconds"] == {unit: 100.0}
    assert values["streamlets_transactions_total"] == {spout: 1, source: 1}
    assert values["streamlets_tasks_failed"] == {("source",): 1}
    assert values["streamlets_oldest_task_timestamp_seconds"] == {("source",): 940.0}
    assert values["streamlets_topic_size_bytes"] == {("readings",): 5000}


def test_the_values_of_streamlets_that_do_not_work() -> None:
    """The time of the next restart and the health are metrics."""
    values = scraped(Scene(waiting_status(), NOW))
    assert values["streamlets_next_retry_timestamp_seconds"] == {("wait", "out"): 1010.0}
    assert values["streamlets_streamlet_health"][("stuck", "stuck")] == 1
    assert values["streamlets_streamlet_health"][("stuck", "healthy")] == 0
    assert values["streamlets_running_batch_seconds"] == {("stuck", "out"): 880.0}


def test_every_metric_has_a_value_in_some_run() -> None:
    """So that no test of names passes by an empty table."""
    found = set(scraped(Scene(full_status(), NOW, {"t": 1}))) | set(scraped(Scene(waiting_status(), NOW)))
    assert found == {name for family in FAMILIES for name in series(family)}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_names_follow_the_conventions_of_prometheus(family: Family) -> None:
    """One prefix, base units at the end, `_total` for counters only, and labels that have few values."""
    assert re.fullmatch(r"streamlets_[a-z]+(_[a-z]+)*", family.name)
    assert family.name.endswith("_total") == (family.kind == "counter")
    assert not re.search(r"_(ms|millis|minutes|kb|mb|percent)(_|$)", family.name)
    assert set(family.labels) <= {"application", "streamlet", "query", "port", "topic", "phase", "state", "health"}
    assert family.help.endswith(".")


def test_a_run_that_has_just_begun_has_metrics() -> None:
    """Nothing is known of its streamlets yet."""
    values = scraped(Scene(RunStatus(), NOW))
    assert values["streamlets_run_events_total"] == {(): 0}
    assert "streamlets_restarts_total" not in values


def test_the_documentation_has_the_metrics() -> None:
    """The table in the page is the one of the code."""
    assert table() in PAGE.read_text(encoding="utf-8")


def test_the_documentation_says_how_many_series_there_are() -> None:
    """For an application of streamlets with one query, one inlet, one outlet, state and a watermark each."""

    def number(streamlets: int) -> int:
        topics = {f"t{number}": 1 for number in range(streamlets)}
        values = scraped(Scene(full_status(streamlets), NOW, topics))
        return sum(map(len, values.values()))

    of_one = number(11) - number(10)
    assert number(100) - number(10) == 90 * of_one
    assert f"{of_one} series for each streamlet" in PAGE.read_text(encoding="utf-8").replace("\n", " ")
