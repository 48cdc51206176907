"""A batch source under test: discoveries, a fake clock, batches, failing tasks, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from examples.orders.orders import OrderFiles
from streamlets import AvroOutlet, BatchPushSource, BatchSource
from streamlets.ingress.batch_sources.reading import TaskFailedError
from streamlets.testkit import TestClock, Testkit, TestkitError


class Letters(BatchSource):
    """Discovers the letters of its event, each as a task of two records."""

    out = AvroOutlet(schema="letter string", on_invalid="dead-letters")
    opened: list[bool] = []  # noqa: RUF012 - a fixture replaces it

    def open(self, config: Any, context: Any) -> None:
        self.opened.append(context.discovers)

    def discover(self, eat: Any, event: str) -> None:
        for letter in event:
            if letter == "!":
                raise OSError("no alphabet")
            eat(letter, key=letter)

    def prepare(self, task: Any) -> None:
        self._left = [{"letter": task}, {"letter": 7 if task == "x" else task}]

    def read_next(self) -> Any:
        return self._left.pop() if self._left else None


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Testkit]:
    """A kit without Spark."""
    Letters.opened = []
    with Testkit(directory=tmp_path / "kit") as kit:
        yield kit


def test_discover_and_step(kit: Testkit) -> None:
    """Known keys are dropped; a step reads a batch; each instance is opened once."""
    source = kit.batch_source(Letters, parameters={"max-tasks-per-batch": 2})
    assert source.discover("abc") == ["a", "b", "c"] and source.discover("cd") == ["d"]
    step = source.step()
    assert (step.tasks, step.records, step.failed) == (("a", "b"), 4, ())
    assert source.waiting == ["c", "d"]
    assert source.step(1).tasks == ("c",) and source.step().tasks == ("d",) and source.step().tasks == ()
    assert [row["letter"] for row in source.outlet("out").take()] == ["a", "a", "b", "b", "c", "c", "d", "d"]
    assert Letters.opened == [True, False]


def test_failing_tasks(kit: Testkit) -> None:
    """An attempt that fails is repeated by itself, without its pause; a task that fails for good is a dead letter."""
    source = kit.batch_source(Letters, parameters={"max-task-attempts": 3})
    source.discover("ab")
    source.fail(OSError("refused"), OSError("refused"))
    step = source.step()
    assert (step.records, step.failed, step.pauses) == (4, (), (1.0, 2.0))
    source.discover("cd")
    source.fail(*[OSError("refused")] * 3)
    step = source.step()
    assert step.failed == (("c", "OSError: refused"),) and step.records == 2
    (letter,) = source.dead_letters.take()
    assert letter["port"] == "source-under-test.tasks"


def test_a_source_that_is_set_to_fail(kit: Testkit) -> None:
    """Nothing of its batch is published, and the next step reads the batch again."""
    source = kit.batch_source(Letters, parameters={"max-task-attempts": 1, "on-task-failure": "fail"})
    source.discover("ab")
    source.fail(OSError("refused"))
    with pytest.raises(TaskFailedError, match=r'the task 0 \("a"\) failed: OSError: refused'):
        source.step()
    assert source.outlet("out").take() == [] and source.waiting == ["a", "b"]
    assert source.step().records == 4


def test_a_broken_record_is_a_dead_letter(kit: Testkit) -> None:
    """The other records of its task are published."""
    source = kit.batch_source(Letters)
    source.discover("x")
    step = source.step()
    assert step.failed == () and source.outlet("out").take() == [{"letter": "x"}]
    assert source.dead_letters.take()[0]["port"] == "source-under-test.out"


def test_a_discovery_that_raises_keeps_its_tasks(kit: Testkit) -> None:
    """After `restart` another instance is opened."""
    source = kit.batch_source(Letters)
    with pytest.raises(OSError, match="no alphabet"):
        source.discover("a!b")
    source.restart()
    assert source.waiting == ["a"] and source.discover("ab") == ["b"]
    assert Letters.opened == [True, True]


CRON = {"triggerer": "cron", "config": {"expression": "0 6 * * *", "time-zone": "Europe/Oslo"}}


def test_cron_fires_on_the_clock_of_the_test(kit: Testkit) -> None:
    """The events have the times of the schedule, also where daylight saving begins."""
    clock = TestClock("2024-03-29T12:00:00+01:00")
    source = kit.batch_source(Letters, parameters={"discovery": CRON}, clock=clock)
    assert source.advance("3 days") == [
        "2024-03-30T06:00:00+01:00", "2024-03-31T06:00:00+02:00", "2024-04-01T06:00:00+02:00",
    ]  # fmt: skip
    assert clock.now.isoformat() == "2024-04-01T11:00:00+00:00"
    assert source.advance(timedelta(hours=1)) == []
    assert {"2", "T", ":"} <= set(source.waiting)


def test_an_error_of_a_triggered_discovery_reaches_the_test(kit: Testkit) -> None:
    """`advance` raises it."""

    class Broken(Letters):
        """Its discovery raises."""

        def discover(self, eat: Any, event: str) -> None:
            raise OSError("no such host")

    source = kit.batch_source(Broken, parameters={"discovery": CRON})
    with pytest.raises(OSError, match="no such host"):
        source.advance("1 day")


def test_a_triggerer_that_does_not_wait_for_the_clock(kit: Testkit, monkeypatch: pytest.MonkeyPatch) -> None:
    """`immediate` discovers at the start, and has nothing to wait for."""
    monkeypatch.setattr("streamlets.testkit.clock._LONGEST_CALL", 0.1)
    source = kit.batch_source(Letters)
    with pytest.raises(TestkitError, match="does not wait for the clock"):
        source.advance("1 hour")


def test_the_example_of_orders(kit: Testkit, tmp_path: Path) -> None:
    """Files are discovered once they do not change, and read once; a changed file is read again."""
    folder = tmp_path / "data"
    folder.mkdir()
    discovery = {"triggerer": "files", "config": {"path": str(folder / "*.csv"), "interval": "10 s"}}
    source = kit.batch_source(OrderFiles, parameters={"folder": str(folder), "discovery": discovery})
    (folder / "a.csv").write_text("id,product,quantity,price\n1,fig,2,0.5\n")
    assert len(source.advance("1 minute")) == 1
    assert source.step().records == 1
    (folder / "a.csv").write_text("id,product,quantity,price\n1,fig,2,0.5\nnone,fig,2,0.5\n")
    assert len(source.advance("1 minute")) == 1
    ((task, reason),) = source.step().failed
    assert task["path"].endswith("a.csv") and reason.startswith("ValueError: invalid literal")
    assert [row["id"] for row in source.outlet("out").take()] == [1]


def test_a_file_that_changes_while_it_is_read_is_read_in_its_new_version(kit: Testkit, tmp_path: Path) -> None:
    """The task of the old version fails in all attempts, and nothing of it is published; the new version is a task."""
    file = tmp_path / "a.csv"
    file.write_text("id,product,quantity,price\n1,fig,2,0.5\n")
    source = kit.batch_source(OrderFiles, parameters={"folder": str(tmp_path)})
    source.discover()
    file.write_text("id,product,quantity,price\n1,fig,2,0.5\n2,fig,2,0.5\n")
    step = source.step()
    assert step.records == 0 and "changed after it was discovered" in step.failed[0][1]
    assert len(source.discover()) == 1 and source.step().records == 2


class Forgets(BatchPushSource):
    """Pushes a record and forgets the end of the task."""

    out = AvroOutlet(schema="letter string")

    def discover(self, eat: Any, event: str) -> None:
        eat("a")

    def prepare(self, task: Any) -> None:
        self.consume({"letter": task})


def test_a_push_source_without_an_end_ends_its_step(kit: Testkit) -> None:
    """The limit is that of the step, and nothing is committed."""
    source = kit.batch_source(Forgets)
    source.discover()
    with pytest.raises(TestkitError, match=r"within 0\.2 seconds; a push source passes None to `consume`"):
        source.step(seconds=0.2)
    assert source.waiting == ["a"] and source.outlet("out").all() == []


def test_the_limit_of_a_kit(tmp_path: Path) -> None:
    """A kit has a limit for all steps."""
    with Testkit(directory=tmp_path / "kit", step_seconds=0.2) as kit:
        source = kit.batch_source(Forgets)
        with pytest.raises(TestkitError, match=r"within 0\.2 seconds"):
            source.run()
