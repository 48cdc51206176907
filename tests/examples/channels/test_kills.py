"""Appends to the example channels are in their topics once, also if the process is killed at any step."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from redis_channel import RedisChannelType
from sqlite_channel import SqliteChannelType

from streamlets.channels.channel_type import ChannelType
from streamlets.storage.crash import VARIABLE
from streamlets.testkit.channels import ChannelBench, ids_of
from tests.examples.channels.test_redis import RedisBench

CHANNELS: dict[str, tuple[ChannelType, type[ChannelBench]]] = {
    "sqlite": (SqliteChannelType(), ChannelBench),
    "redis": (RedisChannelType(), RedisBench),
}
APPEND = """
import json, sys
from pathlib import Path
from blueprint.plan import TopicPlan
from streamlets.testkit.channels import READING, batch
from {name}_channel import {type}
plan = TopicPlan("in", sys.argv[2], "{name}", True, (), (), json.loads(sys.argv[3]))
topic = {type}().open(Path(sys.argv[1])).topic(plan)
with topic.appender(READING, writer="w") as appender:
    for number in range(3):
        appender.append([batch([2 * number, 2 * number + 1])], number)
"""


@pytest.mark.parametrize("point", ["after-append-file", "after-append-commit"])
@pytest.mark.parametrize("name", CHANNELS)
def test_a_killed_append_is_repeated_once(
    name: str, point: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The process is killed in its second append, and started again from the beginning."""
    kind, bench = CHANNELS[name]
    channel = bench(kind, tmp_path, request)
    topic = channel.topic("in")
    code = APPEND.format(name=name, type=type(kind).__name__)
    arguments = [str(tmp_path / "topics"), topic.plan.name, json.dumps(dict(topic.plan.options))]
    codes = [
        subprocess.run(
            [sys.executable, "-c", code, *arguments], env={**os.environ, VARIABLE: at}, check=False
        ).returncode
        for at in (f"{point}:2", "")
    ]
    assert codes == [-signal.SIGKILL, 0]
    assert ids_of(topic.scan()) == [*range(6)]
