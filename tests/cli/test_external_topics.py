"""A run whose external topics do not exist yet: `open-timeout` of the outlets that write them makes it wait."""

from __future__ import annotations

import json
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from streamlets.channels.delta.topic import DeltaTopic
from tests.cli.conftest import Flow
from tests.cli.test_resources import Application

TIMEOUT = "flow.streamlets.tell.outlets.out.open-timeout"


@pytest.fixture
def application(tmp_path: Path, flow: Flow) -> Application:
    """Return an application whose external topic does not exist."""
    application = Application(tmp_path, flow)
    shutil.rmtree(application.state.topics / "theirs")
    return application


def _create_when_waiting(application: Application) -> threading.Thread:
    """Create the external topic in a thread, as another application does, once the run waits for it."""

    def units() -> dict[str, Any]:
        try:
            status: dict[str, Any] = json.loads(application.state.status_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return status

    def create() -> None:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            if "waiting for the channel of theirs" in json.dumps(units()):
                application.topic("theirs").create()
                return
            time.sleep(0.05)

    thread = threading.Thread(target=create)
    thread.start()
    return thread


@pytest.mark.parametrize("mode", ["keep", "standard", "skip"])
def test_a_run_waits_until_an_external_topic_exists(application: Application, mode: str) -> None:
    """The other streamlets do not wait, and all records are in the topic."""
    application.topic("numbers").create()
    application.topic("dead-letters.count").create()
    creating = _create_when_waiting(application)
    ended = application.run(mode, f"{TIMEOUT}=120s")
    creating.join()
    assert ended.code == 0, ended.err + ended.out
    assert application.numbers("theirs") == [0, 1, 2]


def test_an_external_topic_that_is_never_created(application: Application) -> None:
    """Its writer fails after the limit with the reason, the other streamlets run, and nothing creates the topic."""
    ended = application.run("keep", f"{TIMEOUT}=100ms", "flow.streamlets.tell.retry.enabled=false")
    assert ended.code == 1
    cause = "the channel of theirs did not accept records within 0.1 s: the topic `theirs` does not exist"
    assert cause in ended.out, ended.out
    assert (application.numbers(), application.numbers("theirs")) == ([0, 1, 2], None)


@pytest.mark.parametrize("mode", ["keep", "standard", "skip"])
def test_without_a_limit_the_run_does_not_start(application: Application, mode: str) -> None:
    """No streamlet would wait for the topic."""
    application.topic("numbers").create()
    application.topic("dead-letters.count").create()
    ended = application.run(mode)
    assert (ended.code, application.numbers()) == (1, []), ended.out
    assert "`theirs`" in ended.err and "exist" in ended.err and "flow run --fresh" not in ended.err


def test_create_only_reports_the_missing_topic(application: Application) -> None:
    """It exits when all is created that can be, and does not wait for others."""
    ended = application.run("create-only", f"{TIMEOUT}=120s")
    assert (ended.code, application.numbers()) == (1, []), ended.out
    assert "topic theirs: failed: the topic `theirs` does not exist" in ended.out


@pytest.mark.parametrize(("limit", "code"), [("120s", 0), ("0", 1)])
def test_apply_creates_the_others(application: Application, limit: str, code: int) -> None:
    """`flow topics apply` creates no external topic, and needs one only if no streamlet waits for it."""
    applied = application.flow("topics", "apply", str(application.directory), f"{TIMEOUT}={limit}")
    assert (applied.code, application.numbers()) == (code, None if code else []), applied.err
    assert ("the topic `theirs` does not exist, and shop does not manage it" in applied.err) == bool(code)
    assert application.numbers("theirs") is None


def test_a_topic_that_was_deleted_during_the_run_is_not_created(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A managed topic that somebody has deleted is not replaced by an empty one."""
    application.topic("theirs").create()
    monkeypatch.setattr(DeltaTopic, "exists", lambda topic: False)
    ended = application.run(
        "keep", "flow.streamlets.count.outlets.out.open-timeout=100ms", "flow.streamlets.count.retry.enabled=false"
    )
    assert ended.code == 1
    assert "the channel of numbers did not accept records within 0.1 s: the topic `numbers` does not exist" in ended.out
