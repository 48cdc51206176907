"""The task topic: dense numbers, keys, group commits, interrupted discoveries, and reading from an offset."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest

from streamlets.channels.base import TopicResource, TopicWriteError
from streamlets.ingress.batch_sources.cursor import TaskCursor, TaskOffset
from streamlets.ingress.batch_sources.task_writer import DiscoveryStoppedError, TaskLogConflictError, TaskWriter
from streamlets.ingress.batch_sources.tasks import Task, TaskError, from_batch, payload_of, task_contract, to_batch
from streamlets.runner.state_directory.places import Places


def writer_of(topic: TopicResource) -> TaskWriter:
    """Return a writer to a topic."""
    return TaskWriter(topic, "source.discovery", time.time)


def stored(topic: TopicResource) -> list[Task]:
    """Return all tasks of a topic."""
    return [task for batch in topic.scan(task_contract()) for task in from_batch(batch)]


def discovered(topic: TopicResource, *values: object, event: str = "") -> None:
    """Discover tasks."""
    writer = writer_of(topic)
    writer.begin(event)
    for value in values:
        writer.eat(value)
    writer.finish()
    writer.close()


@pytest.mark.parametrize("value", [b"\x00\xff", {"path": "å", "n": [1, None, True]}, "text", 5, 1.5, [], False])
def test_a_task_is_read_as_it_was_discovered(value: object) -> None:
    """Bytes and JSON data survive the topic."""
    payload, encoding = payload_of(value)
    (task,) = from_batch(to_batch([Task(3, payload, encoding, "key", "event", 1.5, 2)]))
    assert task == Task(3, payload, encoding, "key", "event", 1.5, 2) and task.value == value


@pytest.mark.parametrize("value", [None, object(), {"a": {1}}, float("nan"), {"when": time.gmtime}])
def test_a_task_that_cannot_be_stored_is_refused(value: object, topic: TopicResource) -> None:
    """The message says what to pass; the writer continues, without a gap in the numbers."""
    writer = writer_of(topic)
    writer.begin("")
    with pytest.raises(TaskError, match="pass"):
        writer.eat(value)
    writer.eat("good")
    writer.finish()
    writer.close()
    assert [task.number for task in stored(topic)] == [0]


@pytest.mark.parametrize("key", [5, 0, b"5", ("a", 1)])
def test_a_key_that_is_not_a_string_is_refused(key: Any, topic: TopicResource) -> None:
    """The message names the type; the writer continues, without a gap in the numbers."""
    writer = writer_of(topic)
    writer.begin("")
    with pytest.raises(TaskError, match=f"must be a string, found a value of type `{type(key).__name__}`"):
        writer.eat("bad", key=key)
    writer.eat("good", key="5")
    writer.finish()
    writer.close()
    assert [task.number for task in stored(topic)] == [0]


def test_numbers_continue_after_a_restart(topic: TopicResource) -> None:
    """Tasks have dense numbers, and their event."""
    discovered(topic, "a", "b", event="first")
    discovered(topic, "c", event="second")
    assert [(task.number, task.value, task.event) for task in stored(topic)] == [
        (0, "a", "first"), (1, "b", "first"), (2, "c", "second")
    ]  # fmt: skip


def test_many_tasks_share_a_commit(topic: TopicResource) -> None:
    """A discovery of 5,000 tasks does not need thousands of commits."""
    discovered(topic, *range(5000))
    commits = topic.summary().writers[0].commits
    assert commits is not None and commits < 500
    assert [task.value for task in stored(topic)] == list(range(5000))


def test_a_task_is_durable_before_the_discovery_ends(topic: TopicResource) -> None:
    """What `eat` took is committed although the discovery goes on."""
    writer = writer_of(topic)
    writer.begin("")
    writer.eat("a")
    writer.flush()
    assert [task.value for task in stored(topic)] == ["a"]
    writer.close()


def test_keys_make_a_repeated_discovery_harmless(topic: TopicResource) -> None:
    """A key that was discovered before is dropped, also after a restart; other keys and tasks without one are not."""
    for expected in ([True, True, True], [False, True, True]):
        writer = writer_of(topic)
        writer.begin("")
        assert [writer.eat("a", key="a@1"), writer.eat("a"), writer.eat("b", key=f"b{time.time_ns()}")] == expected
        writer.finish()
        assert writer.repeated == expected.count(False)
        writer.close()
    assert len(stored(topic)) == 5


def test_an_interrupted_discovery_is_known_after_a_restart(topic: TopicResource) -> None:
    """The event of a discovery that was not finished is kept, also if it has found nothing yet."""
    writer = writer_of(topic)
    assert writer.interrupted is None
    writer.begin("nine o'clock")
    writer.close()
    writer = writer_of(topic)
    assert writer.interrupted == "nine o'clock"
    writer.eat("a")
    writer.close()  # a kill: without `finish`
    writer = writer_of(topic)
    assert writer.interrupted == "nine o'clock" and writer.next == 1
    writer.finish()
    writer.close()
    assert writer_of(topic).interrupted is None


def test_a_long_event_is_stored_once(topic: TopicResource) -> None:
    """A discovery that is interrupted gets all of it again; each task has its beginning only."""
    writer = writer_of(topic)
    writer.begin("x" * 100_000)
    writer.eat("a")
    writer.close()
    assert writer_of(topic).interrupted == "x" * 100_000
    assert [task.event for task in stored(topic)] == ["x" * 1_000]


def test_a_stopped_writer_takes_no_task(topic: TopicResource) -> None:
    """`stop` has `eat` raise, so that a long discovery ends; what was taken before is stored."""
    writer = writer_of(topic)
    writer.begin("")
    writer.eat("a")
    writer.stop()
    with pytest.raises(DiscoveryStoppedError):
        writer.eat("b")
    writer.close()
    assert [task.value for task in stored(topic)] == ["a"]


def test_two_writers_do_not_share_numbers(topic: TopicResource) -> None:
    """Of two processes that discover for one source, one gets an error, and no number is used twice."""
    first, second = writer_of(topic), writer_of(topic)
    first.begin("")
    first.eat("a")
    first.flush()
    with pytest.raises(TaskLogConflictError, match="another process"):
        second.begin("")
    second.close()
    first.close()
    assert [task.number for task in stored(topic)] == [0]


def test_a_failure_of_the_storage_reaches_the_discovery(topic: TopicResource, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk fails the discovery; nothing is published, and the numbers have no gap afterwards."""
    writer = writer_of(topic)
    writer.begin("")

    def full(*_: Any, **__: Any) -> bool:
        raise TopicWriteError("no space left on device")

    monkeypatch.setattr(writer._appender, "append", full)
    writer.eat("a")
    with pytest.raises(TopicWriteError, match="no space"):
        writer.flush()
    with pytest.raises(TopicWriteError, match="no space"):
        writer.eat("b")
    writer.close()
    discovered(topic, "a", "b")
    assert [(task.number, task.value) for task in stored(topic)] == [(0, "a"), (1, "b")]


def test_a_cursor_reads_from_any_offset(topic: TopicResource) -> None:
    """Batches of any size, replays, jumps back, news and restarts yield each task under its number."""
    numbers = random.Random(7)
    reader, offset, total = TaskCursor(topic), TaskOffset(), 0
    history = [offset]
    for _ in range(60):
        if numbers.random() < 0.5:
            count = numbers.randint(1, 30)
            discovered(topic, *range(total, total + count))
            total += count
        if numbers.random() < 0.3:
            reader = TaskCursor(topic)  # a restart
        if numbers.random() < 0.2:
            offset = numbers.choice(history)
        limit = numbers.randint(1, 20)
        offset = TaskOffset.from_dict(json.loads(json.dumps(offset.to_dict())))
        end = reader.upto(offset, limit)
        assert end.task == min(offset.task + limit, total - 1) or end == offset
        expected = list(range(offset.task + 1, end.task + 1))
        assert [task.value for task in reader.between(offset, end)] == expected
        if numbers.random() < 0.3:
            assert [task.value for task in TaskCursor(topic).between(offset, end)] == expected  # a replay
        offset = end
        history.append(offset)
    assert total > 100


def test_a_cursor_stops_at_the_end_of_a_bounded_run(topic: TopicResource) -> None:
    """What is discovered after `stop_at_end` belongs to the next run."""
    discovered(topic, "a", "b")
    cursor = TaskCursor(topic)
    cursor.stop_at_end()
    discovered(topic, "c")
    end = cursor.upto(TaskOffset(), 100)
    assert [task.value for task in cursor.between(TaskOffset(), end)] == ["a", "b"]
    assert cursor.upto(end, 100) == end


def test_a_cursor_reports_tasks_that_were_lost(topic: TopicResource) -> None:
    """An offset beyond the topic, as with a topic that was deleted, is an error and not an empty batch."""
    discovered(topic, "a")
    with pytest.raises(LookupError, match=r"`tasks.source` does not have the tasks 1 to 4 any more"):
        TaskCursor(topic).between(TaskOffset(), TaskOffset(4))


def test_keys_of_files_are_the_same_at_another_place(topic: TopicResource) -> None:
    """Keys below the project are relative to it; absolute ones of earlier versions and places are recognised."""
    keys = ["data/a.csv@1.2", "data/b.csv@1.2"]

    def eaten(places: Places | None, prefix: str, *names: str) -> list[bool]:
        writer = TaskWriter(topic, "source.discovery", time.time, places)
        try:
            return [writer.eat({"path": prefix + name}, key=prefix + name) for name in names]
        finally:
            writer.close()

    assert eaten(None, "/old/shop/", keys[0]) == [True]  # as an earlier version stored it
    assert eaten(Places("/old/shop"), "/old/shop/", *keys) == [False, True]
    assert eaten(Places("/new/shop", ("/old/shop",)), "/new/shop/", *keys, "data/c.csv@1.2") == [False, False, True]
    assert [task.key for task in stored(topic)] == ["/old/shop/data/a.csv@1.2", keys[1], "data/c.csv@1.2"]


def test_what_is_remembered_is_stored_with_its_task(topic: TopicResource) -> None:
    """Also with a task that is dropped, and without one; the next writer has it."""
    writer = writer_of(topic)
    assert writer.remembered is None
    writer.begin("")
    writer.eat(1, key="one", remember={"next": 2})
    writer.eat(2)
    writer.finish()
    writer.close()
    writer = writer_of(topic)
    assert writer.remembered == {"next": 2}
    writer.begin("")
    assert not writer.eat(1, key="one", remember=[3])
    assert writer.remembered == [3]
    writer.finish()
    writer.remember("end")
    writer.begin("")
    writer.finish()
    writer.close()
    writer = writer_of(topic)
    assert writer.remembered == "end"
    with pytest.raises(TaskError, match="pass"):
        writer.eat(4, remember=object())
    writer.close()
    assert [task.value for task in stored(topic)] == [1, 2]
