"""The task topic on every channel: dense numbers, keys and offsets survive restarts of its writer and its reader."""

from __future__ import annotations

import json
import time

from blueprint.avro.tasks import task_contract
from streamlets.ingress.batch_sources.cursor import TaskCursor, TaskOffset
from streamlets.ingress.batch_sources.task_writer import TaskWriter
from streamlets.testkit.channels import ChannelBench


def test_tasks(channel_bench: ChannelBench) -> None:
    """A killed discovery is known, keys drop what it had found, and a replay reads the same tasks."""
    topic = channel_bench.topic("tasks", task_contract(), options=dict(channel_bench.traits.log_options))
    assert TaskCursor(topic).upto(TaskOffset(), 10) == TaskOffset()
    for found in (5, 8):
        writer = TaskWriter(topic, "source.discovery", time.time)
        assert writer.interrupted == (None if found == 5 else "event")
        writer.begin("event")
        new = [writer.eat({"n": number}, key=f"task {number}") for number in range(found)]
        assert new == [number >= found - (5 if found == 5 else 3) for number in range(found)]
        writer.flush()
        if found == 8:
            writer.finish()
        writer.close()  # the first time without `finish`, as after a kill
    cursor = TaskCursor(topic)
    first = cursor.upto(TaskOffset(), 3)
    second = cursor.upto(first, 100)
    assert (first.task, second.task) == (2, 7)
    stored = TaskOffset.from_dict(json.loads(json.dumps(first.to_dict())))
    for reader in (cursor, TaskCursor(topic)):
        assert [task.value["n"] for task in reader.between(stored, second)] == [3, 4, 5, 6, 7]
        assert reader.upto(second, 100) == second
