"""Fixtures of batch sources: a task topic, and a run's context without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.avro.tasks import task_contract
from blueprint.plan import TopicPlan
from streamlets.channels.base import TopicResource
from streamlets.channels.registry import CHANNEL_TYPES

TASK_TOPIC = TopicPlan("tasks.source", "tasks.source", "delta", True, ("source.discovery",), ("source.tasks",), {})

LETTER_TOPIC = TopicPlan("dead-letters.source", "dead-letters.source", "delta", True, ("source.dead-letters",), (), {})


@pytest.fixture
def topic(tmp_path: Path) -> TopicResource:
    """An empty task topic on the delta channel."""
    resource = CHANNEL_TYPES["delta"].open(tmp_path / "topics").topic(TASK_TOPIC)
    resource.create([task_contract()])
    return resource
