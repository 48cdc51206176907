"""Small versions of `benchmarks/kills/batch_source.py`: kills of a discovery without Spark, and one round of each."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.kills.batch_source import DISCOVERY, BatchSource
from benchmarks.kills.source_files import SourceFiles
from benchmarks.kills.source_servers import SourceHttp, SourceJdbc, SourceServer
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.storage.crash import VARIABLE
from tests.streamlets.ingress.conftest import TASK_TOPIC
from tests.streamlets.ingress.test_task_writer import stored

_DISCOVERY = """
import sys, time
from pathlib import Path
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.ingress.batch_sources import task_writer
from tests.streamlets.ingress.conftest import TASK_TOPIC

task_writer.GROUP = 0.001
writer = task_writer.TaskWriter(DeltaChannel(Path(sys.argv[1])).topic(TASK_TOPIC), "source.discovery", time.time)
writer.begin("event")
for number in range(60):
    if writer.eat(number, key=f"task {number}"):
        time.sleep(0.002)
        with open(sys.argv[2], "a") as durable:
            writer.flush()
            durable.write(f"{number}\\n")
writer.finish()
writer.close()
"""


_CONTINUED = """
import sys, time
from pathlib import Path
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.ingress.batch_sources import task_writer
from tests.streamlets.ingress.conftest import TASK_TOPIC

task_writer.GROUP = 0.001
writer = task_writer.TaskWriter(DeltaChannel(Path(sys.argv[1])).topic(TASK_TOPIC), "source.discovery", time.time)
writer.begin("event")
for number in range(writer.remembered or 0, 60):
    writer.eat(number, remember=number + 1)
    time.sleep(0.002)
    writer.flush()
writer.finish()
writer.close()
"""


def killed(program: str, crash_at: str, *arguments: Path) -> int:
    """Run a program that crashes at a point, and return its exit code."""
    environment = os.environ | {VARIABLE: crash_at, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], env=environment, check=False
    ).returncode


def test_a_killed_discovery_goes_on_where_its_tasks_end(tmp_path: Path) -> None:
    """What it remembers is stored in one step with the task, so tasks without keys are neither lost nor doubled."""
    dice = random.Random(6)
    topic = DeltaChannel(tmp_path / "topics").topic(TASK_TOPIC)
    topic.create([])
    for point in (*DISCOVERY, *DISCOVERY):
        assert killed(_CONTINUED, f"{point}:{dice.randint(1, 5)}", tmp_path / "topics") == -signal.SIGKILL
    assert killed(_CONTINUED, "", tmp_path / "topics") == 0
    assert [task.value for task in stored(topic)] == list(range(60))


def test_no_task_is_lost_or_doubled_by_a_killed_discovery(tmp_path: Path) -> None:
    """At each crash point of its commits: durable tasks are kept, numbers are dense, and the discovery is repeated."""
    dice = random.Random(5)
    topic = DeltaChannel(tmp_path / "topics").topic(TASK_TOPIC)
    topic.create([])
    durable = tmp_path / "durable"
    durable.touch()

    def discovery(crash_at: str) -> int:
        return killed(_DISCOVERY, crash_at, tmp_path / "topics", durable)

    for point in (*DISCOVERY, *DISCOVERY):
        assert discovery(f"{point}:{dice.randint(1, 12)}") == -signal.SIGKILL
        tasks = stored(topic)
        assert [task.number for task in tasks] == list(range(len(tasks)))
        assert {int(line) for line in durable.read_text().split()} <= {task.value for task in tasks}
    assert discovery("") == 0
    assert sorted(task.value for task in stored(topic)) == list(range(60))


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.slow
def test_every_task_is_read_and_no_record_is_doubled(tmp_path: Path) -> None:
    """After a kill of the discovery, of the reading and of the commit."""
    kills = BatchSource(tmp_path / "app", random.Random(3))
    for round in ("after-append-commit", *kills.rounds(0, 2)):
        kills.play(round)
        assert kills.problems() == []
    assert kills.end() == 0
    assert kills.problems(ended=True) == []


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.slow
def test_files_are_read_once_in_each_version(tmp_path: Path) -> None:
    """After two kills, with late, rewritten, empty and broken files."""
    kills = SourceFiles(tmp_path / "app", random.Random(4))
    for round in kills.rounds(0, 2):
        kills.play(round)
        assert kills.problems() == []
    assert kills.settle() == []


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("target", [SourceHttp, SourceJdbc])
def test_records_of_servers_are_read_once(target: type[SourceServer], tmp_path: Path) -> None:
    """After two kills, with failed answers and rows that are inserted meanwhile."""
    with target(tmp_path / "app", random.Random(4)) as kills:
        for round in kills.rounds(0, 2):
            kills.play(round)
            assert kills.problems() == []
        assert kills.settle() == []
