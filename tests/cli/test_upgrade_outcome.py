"""The messages and exit codes of `flow upgrade` for each outcome of the trial of a new version."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands.upgrade import _conclude, _follow
from cli.runs.follower import Follower
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.trial import Result, UpgradeOutcome, write_outcome


@pytest.fixture
def state(tmp_path: Path) -> StateDirectory:
    """The state directory of an application that no longer runs."""
    state = StateDirectory(tmp_path, "weather")
    state.upgrade_file.parent.mkdir(parents=True)
    return state


@pytest.mark.parametrize(
    ("result", "code", "text"),
    [
        ("works", 0, "weather is upgraded"),
        ("untried", 0, "no records arrived for mean.out: the next batch shows whether the state can be loaded"),
        ("unwell", 1, "the new version runs, but these streamlets are not up: mean.out"),
        ("failed", 1, "the new version failed (mean.out): it broke\nit was not rolled back: the code was replaced"),
        ("rolled-back", 1, "the new version failed (mean.out): it broke\nthe previous version runs again"),
    ],
)
def test_each_result_is_reported(
    state: StateDirectory, capsys: pytest.CaptureFixture[str], result: Result, code: int, text: str
) -> None:
    """The upgrade succeeds if the new version works or had no data."""
    about = ("mean.out",) if result != "works" else ()
    write_outcome(state, UpgradeOutcome("1", ("/old",), result, about, "it broke", "the code was replaced"))
    outcome, status = _follow(Follower(state), state, "1", 1.0)
    if code:
        with pytest.raises(SystemExit) as ended:
            _conclude(outcome, status, 1.0, state, Follower(state))
        assert ended.value.code == code
    else:
        _conclude(outcome, status, 1.0, state, Follower(state))
    captured = capsys.readouterr()
    assert text in captured.out + captured.err


def test_the_result_of_another_upgrade_is_ignored(state: StateDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that ended during the trial is a failure."""
    write_outcome(state, UpgradeOutcome("0", (), "works"))
    outcome, status = _follow(Follower(state), state, "1", 1.0)
    with pytest.raises(SystemExit):
        _conclude(outcome, status, 1.0, state, Follower(state))
    assert "the new version ended" in capsys.readouterr().err
