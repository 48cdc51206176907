"""Reading a task: attempts, what a failed attempt leaves, dead letters, and the push form."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from blueprint.avro.sources.loading import load_contract
from blueprint.diagnostics import Span
from streamlets import BatchPushSource, BatchSource
from streamlets.ingress.batch_sources import source, spool
from streamlets.ingress.batch_sources.reading import SourceInstance, TaskFailedError, TaskReader
from streamlets.ingress.batch_sources.settings import SourceSettings
from streamlets.ingress.batch_sources.tasks import Task, payload_of
from streamlets.runner.state_directory.places import Places
from streamlets.spark.failure import failure_of_text
from tests.streamlets.ingress.conftest import TASK_TOPIC

CONTRACT = load_contract("n long, text string", base_directory=Path(), declared=Span("x", 1, 1, 1, 1)).contract


class Numbers(BatchSource):
    """Reads as many records as the task says. `fails` has the number of attempts that fail, by task."""

    fails: dict[int, int] = {}  # noqa: RUF012 - a test replaces it
    opened = 0

    def open(self, config: Any, context: Any) -> None:
        Numbers.opened += 1
        assert not context.discovers and config == {"rate": 5}

    def discover(self, eat: Any, event: str) -> None:
        raise AssertionError("nothing is discovered here")

    def prepare(self, task: Any) -> None:
        self.task, self.left = task, list(range(task))

    def read_next(self) -> Any:
        if not self.left:
            if self.fails.get(self.task, 0) > 0:
                self.fails[self.task] -= 1
                raise OSError("connection reset")
            return None
        n = self.left.pop(0)
        return {"n": n, "text": f"{self.task}"}


def reader_of(create: Callable[[], Any], sleeps: list[float] | None = None, **changes: Any) -> TaskReader:
    """Return a reader, whose pauses are collected."""
    assert CONTRACT is not None
    settings: dict[str, Any] = {
        "class_name": "x.Numbers", "streamlet": "source", "project": ".", "config": {"rate": 5}, "outlet": "out",
        "contract": CONTRACT.json, "broken_records": False, "max_tasks": 4, "max_attempts": 3, "retry_delay": 1.0,
        "timeout": 60.0, "on_failure": "dead-letters", "topic": TASK_TOPIC, "topics": Path(), "progress": Path(),
    }  # fmt: skip
    chosen = SourceSettings(**settings | changes)
    return TaskReader(chosen, SourceInstance(chosen, create), sleep=(sleeps if sleeps is not None else []).append)


def task_of(value: object, number: int = 7) -> Task:
    """Return a task."""
    return Task(number, *payload_of(value))


def read(reader: TaskReader, task: Task) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the records and the dead letters of a task."""
    rows = [row for batch in reader.read(task) for row in batch.to_pylist()]
    records = [row["record"] for row in rows if row["letter"] is None]
    return records, [row["letter"] for row in rows if row["letter"] is not None]


@pytest.fixture(autouse=True)
def reset() -> Iterator[None]:
    """Reset what the class counts."""
    Numbers.opened, Numbers.fails = 0, {}
    yield


def test_an_instance_is_opened_once_for_many_tasks() -> None:
    """`open` is called before the first task only."""
    reader = reader_of(Numbers)
    assert read(reader, task_of(2)) == ([{"n": 0, "text": "2"}, {"n": 1, "text": "2"}], [])
    assert read(reader, task_of(0)) == ([], [])
    assert len(read(reader, task_of(2500))[0]) == 2500
    assert Numbers.opened == 1


def test_a_failed_attempt_leaves_no_record() -> None:
    """An attempt that fails after 3 records is repeated by itself, with a new instance, and its records appear once."""
    Numbers.fails = {3: 2}
    sleeps: list[float] = []
    records, letters = read(reader_of(Numbers, sleeps), task_of(3))
    assert [record["n"] for record in records] == [0, 1, 2] and letters == []
    assert sleeps == [1.0, 2.0] and Numbers.opened == 3


def test_a_poison_task_becomes_a_dead_letter_with_its_error() -> None:
    """After all attempts, the dead letter has the task, the attempts and the traceback; no record of it appears."""
    Numbers.fails = {3: 99}
    reader = reader_of(Numbers, version="1.2")
    records, (letter,) = read(reader, task_of(3))
    assert records == []
    assert (letter["port"], letter["coordinates"], letter["version"]) == ("source.tasks", "task/7", "1.2")
    assert letter["reason"] == "OSError: connection reset"
    record = json.loads(letter["record"])
    assert (record["task"], record["payload"], record["attempts"]) == (7, "3", 3)
    first, frame, *_, last = record["error"].splitlines()
    assert first.startswith("Traceback") and last == "OSError: connection reset"
    assert __file__ in frame and "in read_next" in frame  # what called it is not of interest
    assert len(read(reader, task_of(2))[0]) == 2  # the source goes on


def test_a_source_may_be_set_to_fail() -> None:
    """With `on-task-failure = fail` the error names the task and its reason."""
    Numbers.fails = {3: 99}
    with pytest.raises(TaskFailedError, match=r"the task 7 \(3\) failed: OSError: connection reset"):
        read(reader_of(Numbers, on_failure="fail"), task_of(3))


def test_a_query_that_fails_with_a_task_has_the_line_that_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark passes on the text of an exception, and not what caused it."""
    Numbers.fails = {3: 99}
    monkeypatch.setattr(source, "_reader", lambda encoded: reader_of(Numbers, on_failure="fail"))
    with pytest.raises(TaskFailedError) as raised:
        list(source.TaskStreamReader("").read(source.TaskPartition(task_of(3))))
    failure = failure_of_text(f"Traceback:\n{type(raised.value).__name__}: {raised.value}\n\tat py4j", building=False)
    assert failure.cause == "the task 7 (3) failed: OSError: connection reset"
    assert [frame.rpartition(" in ")[2] for frame in failure.frames] == ["read_next"]


def test_an_open_that_fails_is_an_attempt() -> None:
    """A server that is down when the instance is opened fails the attempt."""

    class Closed(Numbers):
        """It cannot be opened."""

        def open(self, config: Any, context: Any) -> None:
            raise ConnectionError("refused")

    assert read(reader_of(Closed), task_of(1))[1][0]["reason"] == "ConnectionError: refused"


def test_a_task_from_an_earlier_place_names_the_present_one(tmp_path: Path) -> None:
    """The path of a file that was discovered before the project was moved is the path of the moved file."""
    seen: list[Any] = []

    class Files(Numbers):
        """Records its tasks."""

        def prepare(self, task: Any) -> None:
            seen.append(task)
            super().prepare(0)

    places = Places(str(tmp_path), ("/old/shop",))
    read(reader_of(Files, places=places), task_of({"path": "/old/shop/data/a.csv", "size": 5}))
    assert seen == [{"path": f"{tmp_path}/data/a.csv", "size": 5}]


class Broken(Numbers):
    """Its second record breaks the contract."""

    def read_next(self) -> Any:
        record = super().read_next()
        return record if record is None or record["n"] != 1 else {"n": "one", "text": "x"}


def test_a_record_that_breaks_the_contract_fails_its_task() -> None:
    """The dead letter of the task names the field."""
    records, (letter,) = read(reader_of(Broken), task_of(3))
    assert records == [] and letter["port"] == "source.tasks" and letter["reason"].startswith("RecordError: `n`")


def test_an_outlet_with_dead_letters_takes_broken_records_alone() -> None:
    """With `on_invalid="dead-letters"` only the record is a dead letter, of the outlet."""
    records, (letter,) = read(reader_of(Broken, broken_records=True), task_of(3))
    assert [record["n"] for record in records] == [0, 2]
    assert letter["port"] == "source.out" and json.loads(letter["record"]) == {"n": "one", "text": "x"}


def test_record_batches_are_passed_on() -> None:
    """A `RecordBatch` may have its columns in any order, and other numeric types."""

    class Batches(Numbers):
        """Returns one batch."""

        def read_next(self) -> Any:
            self.left, left = [], self.left
            return pa.record_batch({"text": ["a"] * len(left), "n": pa.array(left, pa.int32())}) if left else None

    assert [record["n"] for record in read(reader_of(Batches), task_of(3))[0]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("text", "TypeError: `read_next` must return a dict by field name, a RecordBatch or None, found `str`"),
        (pa.record_batch({"m": [1]}), "TypeError: the batch has the column `m`"),
    ],
)
def test_other_results_fail_the_task(item: object, reason: str) -> None:
    """The reason says what `read_next` must return."""

    class Other(Numbers):
        """Returns something else."""

        def read_next(self) -> Any:
            return item

    assert read(reader_of(Other, max_attempts=1), task_of(1))[1][0]["reason"].startswith(reason)


def test_many_records_go_to_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that is larger than the memory for it is read in the same way."""
    monkeypatch.setattr(spool, "_MAX_MEMORY", 1000)
    records, _ = read(reader_of(Numbers), task_of(5000))
    assert [record["n"] for record in records] == list(range(5000))


class Pushes(BatchPushSource):
    """Pushes more records than the queue holds, from `prepare`; a negative task fails half-way."""

    def discover(self, eat: Any, event: str) -> None:
        raise AssertionError("nothing is discovered here")

    def prepare(self, task: Any) -> None:
        for n in range(abs(task)):
            self.consume({"n": n, "text": "pushed"})
        if task < 0:
            raise OSError("pushed error")
        self.consume(None)


class Notifies(BatchPushSource):
    """Reports an error from a thread of its own."""

    def discover(self, eat: Any, event: str) -> None:
        raise AssertionError("nothing is discovered here")

    def prepare(self, task: Any) -> None:
        threading.Thread(target=lambda: self.notify_error(OSError("notified error"))).start()


def test_the_push_form() -> None:
    """`prepare` may push more than the queue holds; an exception, or `notify_error`, fails the task."""
    reader = reader_of(Pushes)
    assert [record["n"] for record in read(reader, task_of(5000))[0]] == list(range(5000))
    assert read(reader, task_of(-2000))[1][0]["reason"] == "OSError: pushed error"
    assert read(reader_of(Notifies), task_of(1))[1][0]["reason"] == "OSError: notified error"


def test_settings_are_an_option_that_spark_hides() -> None:
    """Spark's user interface redacts options whose key contains `secret`."""
    reader = reader_of(Numbers)
    (option,) = reader._settings.to_options()
    assert "secret" in option and SourceSettings.from_options(reader._settings.to_options()) == reader._settings
