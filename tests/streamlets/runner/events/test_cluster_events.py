"""Events of a cluster: their lines, and the executors in the status after them."""

from __future__ import annotations

import json

from streamlets.runner.events.cluster_events import (
    ExecutorLost,
    ExecutorsAdded,
    MasterAnswersAgain,
    MasterUnreachable,
)
from streamlets.runner.events.event import Event, fold
from streamlets.runner.events.executors import Executors
from streamlets.runner.events.run_events import RunStarted, SparkStarting
from streamlets.runner.events.status import RunStatus
from streamlets.runner.events.status_json import from_json, to_json

REFS = ("a", "b")


def after(*events: Event) -> RunStatus:
    """Return the status after events."""
    status = RunStatus()
    for event in (RunStarted(0.0, "shop", (*REFS, "c")), *events):
        status = fold(status, event)
    return status


def test_lines_name_the_executor_the_reason_and_the_effect() -> None:
    """The last executor is a different effect: batches wait."""
    *lines, back = [
        event.line
        for event in (
            ExecutorsAdded(0.0, REFS, ("0 on h:1", "1 on h:2"), 2, 3),
            ExecutorLost(0.0, REFS, "0", "h:1", "worker lost", 1, 1),
            ExecutorLost(0.0, REFS, "1", "h:2", "", 0, 0),
            MasterUnreachable(0.0, REFS),
            MasterAnswersAgain(0.0, REFS, 90.0),
        )
    ]
    assert lines == [
        "executors 0 on h:1, 1 on h:2 joined: 2 executors with 3 cores in all",
        "executor 0 on h:1 was lost (worker lost): its tasks run again on the remaining 1 executor",
        "executor 1 on h:2 was lost: no executor remains, so batches wait for another",
        "the master of the cluster does not answer: executors go on, but lost ones are not replaced",
    ]
    assert back == (
        "the master of the cluster answers again, after 1 min 30 s: unless it has recovered the application, it ends "
        "the executors, and Spark is started again"
    )


def test_the_status_has_the_executors_of_each_spark() -> None:
    """Those of another driver are kept apart."""
    status = after(
        ExecutorsAdded(1.0, REFS, ("0 on h:1",), 1, 2),
        ExecutorsAdded(1.0, ("c",), ("0 on h:3",), 1, 4),
        ExecutorLost(2.0, REFS, "0", "h:1", "", 0, 0),
        MasterUnreachable(3.0, REFS),
    )
    assert status.executors == (
        Executors(streamlets=("c",), number=1, cores=4),
        Executors(streamlets=REFS, lost=1, missing_since=2.0, master_lost_since=3.0),
    )
    assert from_json(json.loads(json.dumps(to_json(status, 4.0)))) == status
    healed = fold(fold(status, ExecutorsAdded(5.0, REFS, ("1 on h:1",), 1, 2)), MasterAnswersAgain(6.0, REFS, 3.0))
    assert healed.executors[-1] == Executors(streamlets=REFS, number=1, cores=2, lost=1)


def test_the_executors_of_a_spark_that_is_started_again_are_forgotten() -> None:
    """A new Spark has other executors."""
    status = after(ExecutorsAdded(1.0, REFS, ("0 on h:1",), 1, 2), SparkStarting(2.0, ("b", "a")))
    assert status.executors == ()
