"""A new version is on trial until it has loaded its state; if it fails, the run returns to the previous version."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blueprint.core_settings import Retry
from blueprint.plan import ApplicationPlan
from streamlets.runner import run as running
from streamlets.runner.events.status import State, UnitId, UnitStatus
from streamlets.runner.hosts import HostContext
from streamlets.runner.run import RunOptions
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Ended, Started
from streamlets.runner.trial import PATIENCE, START_PATIENCE, Trial, UpgradeOutcome, read_outcome, write_outcome
from streamlets.spark.failure import Failure
from tests.streamlets.runner.hosts import hosts_of
from tests.streamlets.runner.supervision.bench import Fake

MEAN, SINK = UnitId("mean", "out"), UnitId("sink", "files")
ASKED = UpgradeOutcome("1", ("/old",))


@pytest.fixture
def state(tmp_path: Path) -> StateDirectory:
    """A state directory in which `mean.out` keeps state and `sink.files` does not."""
    state = StateDirectory(tmp_path, "weather")
    note = state.checkpoints / "mean" / "out" / "state" / "0" / "_metadata" / "metadata"
    note.parent.mkdir(parents=True)
    operator = {"operatorInfo": {"operatorId": 0, "operatorName": "stateStoreSave"}, "stateStoreInfo": []}
    note.write_text(f"v1\n{json.dumps(operator)}")
    (state.checkpoints / "sink" / "files").mkdir(parents=True)
    state.upgrade_file.parent.mkdir()
    write_outcome(state, ASKED)
    return state


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def looked(trial: Trial, mean: State, batch: int | None = None, **more: Any) -> tuple[str, ...]:
    """Check the trial while `mean` is in a state and the sink runs."""
    statuses = (UnitStatus(MEAN, mean, 0.0, batch=batch, **more), UnitStatus(SINK, "running", 0.0))
    return trial.look({status.unit: status for status in statuses})


def result(state: StateDirectory) -> tuple[str, tuple[str, ...]]:
    """Return the stored result of the upgrade, and the queries that it is about."""
    outcome = read_outcome(state)
    assert outcome is not None
    assert (outcome.id, outcome.previous) == (ASKED.id, ASKED.previous)
    return outcome.result, outcome.about


def test_a_version_works_once_its_state_was_loaded(state: StateDirectory) -> None:
    """A query that is up has not loaded its state yet; one that has committed a batch has."""
    trial = Trial(state, ASKED, lambda arguments: "", Clock())
    for mean, batch in (("starting", None), ("running", None), ("backing-off", None), ("backing-off", 7)):
        assert looked(trial, mean, batch) == ()  # type: ignore[arg-type]
        assert result(state) == ("", ())
    assert looked(trial, "running", 7) == ()
    assert result(state) == ("works", ())
    assert looked(trial, "failed") == (), "the trial is over"


def test_the_trial_is_bounded(state: StateDirectory) -> None:
    """It ends after a while without data, or when a query does not start; paused queries are not waited for."""
    for mean, expected in (("running", ("untried", ("mean.out",))), ("backing-off", ("unwell", ("mean.out",)))):
        clock = Clock()
        trial = Trial(state, ASKED, lambda arguments: "", clock)
        write_outcome(state, ASKED)
        looked(trial, mean)  # type: ignore[arg-type]
        assert result(state) == ("", ())
        clock.now = PATIENCE
        looked(trial, mean)  # type: ignore[arg-type]
        assert result(state) == expected
    write_outcome(state, ASKED)
    looked(Trial(state, ASKED, lambda arguments: "", Clock()), "paused")
    assert result(state) == ("works", ())


@pytest.mark.parametrize(("batch", "expected"), [(7, ("works", ())), (None, ("untried", ("mean.out",)))])
def test_a_run_that_ends_by_itself_ends_the_trial(
    state: StateDirectory, batch: int | None, expected: tuple[str, tuple[str, ...]]
) -> None:
    """A finite pipeline without new records has no batch, and is over before the time of the trial is."""
    trial = Trial(state, ASKED, lambda arguments: "", Clock())
    sink = UnitStatus(SINK, "completed", 0.0)
    trial.look({MEAN: UnitStatus(MEAN, "running", 0.0), SINK: sink})
    assert result(state) == ("", ())
    trial.look({MEAN: UnitStatus(MEAN, "completed", 0.0, batch=batch), SINK: sink})
    assert result(state) == expected


def test_a_streamlet_that_waits_for_others_is_not_down(state: StateDirectory) -> None:
    """Its settings require the wait, which may take hours; its state has not been tried. A limited wait ends."""
    waits: dict[str, Any] = {"waiting": "waiting for the end of sink", "waits_since": 0.0}
    for more, expected in ((waits, "untried"), (waits | {"waits_until": 30.0}, "unwell")):
        clock = Clock()
        trial = Trial(state, ASKED, lambda arguments: "", clock)
        write_outcome(state, ASKED)
        looked(trial, "starting", **more)
        clock.now = PATIENCE
        looked(trial, "starting", **more)
        assert result(state) == (expected, ("mean.out",))


def test_the_time_of_a_trial_begins_with_its_first_query(state: StateDirectory) -> None:
    """Spark may take longer to start than a query has to commit a batch."""
    clock = Clock()
    trial = Trial(state, ASKED, lambda arguments: "", clock)
    trial.look({MEAN: UnitStatus(MEAN, "starting", 0.0)})
    clock.now = PATIENCE + 1
    looked(trial, "running")
    assert result(state) == ("", ())
    clock.now += PATIENCE
    looked(trial, "running")
    assert result(state) == ("untried", ("mean.out",))


def test_a_failure_for_good_returns_to_the_previous_version(state: StateDirectory) -> None:
    """If that verifies and can read the records of the new one; otherwise the new one stays, and the reason is kept."""
    trial = Trial(state, ASKED, lambda arguments: "", Clock())
    assert looked(trial, "failed", cause="STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE") == ("/old",)
    assert result(state) == ("rolled-back", ("mean.out",))
    for asked, refused, kept in (
        (ASKED, "it does not verify", "it does not verify"),
        (replace(ASKED, previous=()), "", "no longer exists"),
    ):
        assert looked(Trial(state, asked, lambda arguments, why=refused: why, Clock()), "failed", cause="broken") == ()  # type: ignore[misc]
        outcome = read_outcome(state)
        assert outcome is not None
        assert (outcome.result, outcome.cause) == ("failed", "broken")
        assert kept in outcome.kept


def test_a_run_that_did_not_take_over_is_not_on_trial(state: StateDirectory) -> None:
    """Neither a run that was started as usual nor a version that the run returned to."""
    for outcome in (UpgradeOutcome(""), replace(ASKED, result="rolled-back")):
        assert looked(Trial(state, outcome, lambda arguments: "", Clock()), "failed") == ()


def test_only_the_user_can_read_the_arguments_of_an_upgrade(state: StateDirectory) -> None:
    """Arguments of a run may contain secrets."""
    assert state.upgrade_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("refused", "expected"), [("", ("/old",)), ("it was deleted", None)])
def test_a_run_returns_to_the_previous_version(
    state: StateDirectory, monkeypatch: pytest.MonkeyPatch, refused: str, expected: tuple[str, ...] | None
) -> None:
    """Also when every query failed, which ends a run; otherwise it runs until it is drained."""

    class Breaking(Fake):
        def start(self, run: int, *, last: bool = False, replicas: int | None = None) -> None:
            super().start(run)
            self.report(Started(self.id, run))
            self.report(Ended(self.id, run, Failure("the state does not fit", fatal="it is wrong")))

        report: Callable[[Any], None]

    def hosts(context: HostContext, isolation: object) -> Any:
        unit = Breaking(UnitId("mean", "out"), Retry())
        unit.report = context.report
        return hosts_of(unit)

    monkeypatch.setattr(running, "open_hosts", hosts)
    plan = ApplicationPlan(
        name="weather", blueprint="blueprint.conf", directory=str(state.root), streamlets=(), topics=()
    )
    options = RunOptions(state=state, arguments=("/new",), taken_over=True, check_return=lambda arguments: refused)
    code, upgrade = running.run(plan, options, [])
    assert code == 1
    assert (upgrade.arguments if upgrade is not None else None) == expected
    assert result(state)[0] == ("rolled-back" if expected else "failed")


@pytest.mark.parametrize("kind", ["spout", "discovery"])
def test_what_is_up_before_spark_does_not_begin_the_trial(kind: str, state: StateDirectory) -> None:
    """Spouts and discoveries are up at once; Spark has its time to start all the same."""
    clock = Clock()
    trial = Trial(state, ASKED, lambda arguments: "", clock)
    first = UnitId("lines") if kind == "spout" else UnitId("mean", "discovery")
    statuses = {first: UnitStatus(first, "running", 0.0), UnitId("sink"): UnitStatus(UnitId("sink"), "starting", 0.0)}
    trial.look(statuses)
    clock.now = PATIENCE + 1
    trial.look(statuses)
    assert result(state) == ("", ())


def test_an_application_of_spouts_needs_no_batch(state: StateDirectory) -> None:
    """It works as soon as its spouts are up."""
    lines = UnitId("lines")
    Trial(state, ASKED, lambda arguments: "", Clock()).look({lines: UnitStatus(lines, "running", 0.0)})
    assert result(state) == ("works", ())


def test_a_query_with_records_has_longer_for_its_first_batch(state: StateDirectory) -> None:
    """A backlog, or a running batch, is not a lack of records."""
    clock = Clock()
    trial = Trial(state, ASKED, lambda arguments: "", clock)
    looked(trial, "running", backlog={"in": 4551})
    clock.now = PATIENCE
    looked(trial, "running", backlog={"in": 4551})
    assert result(state) == ("", ())
    clock.now = START_PATIENCE
    looked(trial, "running", backlog={"in": 4551})
    assert result(state) == ("untried", ("mean.out",))
