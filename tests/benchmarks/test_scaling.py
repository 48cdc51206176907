"""The simulation of more workers: pauses stay, input is divided, partitions are not."""

from __future__ import annotations

import json

import pytest

from benchmarks.scaling import Stage, simulated, stages_of

EMPTY = Stage(0.0, 1.0, False, (1.0,))  # the shortest task: what each task costs


@pytest.mark.parametrize(("cores", "seconds"), [(1, 110.0), (2, 55.0), (10, 11.0), (100, 11.0)])
def test_input_is_divided_into_tasks_of_ten_seconds(cores: int, seconds: float) -> None:
    """Ten seconds of work, multiplied by ten, are ten tasks with the cost of each."""
    alone = simulated([Stage(0.0, 11.0, False, (11.0, 1.0))], cores, 10)
    assert alone == pytest.approx(seconds)


def test_what_the_driver_does_between_stages_takes_as_long() -> None:
    """Whatever the number of cores and records."""
    stages = [EMPTY, Stage(5.0, 6.0, False, (1.0,))]
    assert {simulated(stages, cores, factor) for cores in (1, 8) for factor in (1, 100)} == {1.0 + 4.0 + 1.0}


def test_a_shuffle_has_no_more_tasks_than_partitions() -> None:
    """More cores than partitions are of no use."""
    stages = [Stage(0.0, 17.0, True, (17.0, 1.0))]
    assert simulated(stages, 16, 1) == simulated(stages, 64, 1) == pytest.approx(2.0)
    assert simulated(stages, 8, 1) == pytest.approx(4.0)


def test_stages_that_overlapped_overlap_again() -> None:
    """With one core they take turns; the third one had waited for both."""
    stages = [Stage(0.0, 2.0, False, (1.0,)), Stage(0.5, 2.0, False, (1.0,)), Stage(3.0, 4.0, False, (1.0,))]
    assert simulated(stages, 2, 1) == pytest.approx(1.5 + 1.0 + 1.0)
    assert simulated(stages, 1, 1) == pytest.approx(2.0 + 1.0 + 1.0)


def test_a_log_of_events_has_the_successful_tasks_of_completed_stages() -> None:
    """A failed task is not among them; other events are of no use."""

    def task(stage: int, seconds: float, reason: str = "Success") -> dict[str, object]:
        info = {"Launch Time": 1000, "Finish Time": 1000 + int(seconds * 1000)}
        return {
            "Event": "SparkListenerTaskEnd", "Stage ID": stage, "Stage Attempt ID": 0, "Task Info": info,
            "Task End Reason": {"Reason": reason},
        }  # fmt: skip

    def completed(stage: int, began: int, parents: list[int]) -> dict[str, object]:
        info = {"Stage ID": stage, "Stage Attempt ID": 0, "Parent IDs": parents}
        return {
            "Event": "SparkListenerStageCompleted",
            "Stage Info": info | {"Submission Time": began, "Completion Time": 9000},
        }

    log = [
        {"Event": "SparkListenerLogStart"}, task(2, 1.5), task(1, 0.5), task(1, 3, "ExceptionFailure"),
        completed(2, 2000, [1]), completed(1, 1000, []),
    ]  # fmt: skip
    assert stages_of(map(json.dumps, log)) == [
        Stage(1.0, 9.0, False, (0.5,)), Stage(2.0, 9.0, True, (1.5,)),
    ]  # fmt: skip
