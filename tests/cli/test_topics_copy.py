"""`flow topics copy` on a real cluster: what it prints, and that kills do no harm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from blueprint.plan import TopicPlan
from streamlets.channels.base import TopicResource
from streamlets.channels.kafka.channel import KafkaChannel
from streamlets.storage.crash import VARIABLE
from tests.streamlets.channels.test_copying import by_contract, delta
from tests.streamlets.channels.topics import READING, WIDER, append, batch, ids_of

if TYPE_CHECKING:
    from tests.cli.conftest import Flow

REPOSITORY = Path(__file__).parents[2]

MODULE = """
from streamlets import AvroOutlet, SparkStreamlet, SparkStreamletLogic


class Source(SparkStreamlet):
    out = AvroOutlet(schema=SCHEMA)

    class Logic(SparkStreamletLogic["Source"]):
        def build_streaming_queries(self):
            raise AssertionError("nothing runs")
"""


@dataclass(frozen=True)
class Application:
    """An application whose topic is on Kafka, after it was on the delta channel.

    Arguments:
        directory: its directory.
        source: the topic on the delta channel.
        target: the topic on Kafka.
    """

    directory: Path
    source: TopicResource
    target: TopicResource


@pytest.fixture
def application(kafka_broker: str, tmp_path: Path) -> Application:
    directory, name = tmp_path / "app", f"moving-{uuid.uuid4().hex}"
    directory.mkdir()
    (directory / "sourcing.py").write_text(f"SCHEMA = {READING.json!r}\n{MODULE}")
    (directory / "blueprint.conf").write_text(
        f"""
        flow {{ channel = kafka, kafka.clusters.default.bootstrap.servers = "{kafka_broker}" }}
        blueprint {{
          streamlets.source = sourcing.Source
          topics.readings {{ producers = [source.out], topic {{ name = {name}, partitions = 2 }} }}
        }}
        """
    )
    state = directory / ".flow" / "app" / "topics"
    plan = TopicPlan("readings", name, "kafka", True, (), (), {"bootstrap.servers": kafka_broker})
    return Application(directory, delta(state, name), KafkaChannel(tmp_path / "reader").topic(plan))


@pytest.mark.spark
def test_the_command(application: Application, flow: Flow) -> None:
    """It reports the number of records, as text and as data; mistakes and other records are named."""
    source, target = application.source, application.target
    append(source, [batch(range(10))], READING, 0)
    arguments = ("topics", "copy", "readings", str(application.directory), "--from", "delta")
    result = flow(*arguments)
    assert (result.code, result.out) == (0, "readings: 10 records copied from delta to kafka\n"), result.err
    append(source, [batch(range(10, 12))], READING, 1)
    assert json.loads(flow(*arguments, "--format", "json").out)["copied"] == 2
    assert sorted(ids_of(target.scan())) == list(range(12))
    same = flow("topics", "copy", "readings", str(application.directory), "--from", "kafka")
    assert same.code == 2 and "set another one with --to" in same.err
    back = flow("topics", "copy", "readings", str(application.directory), "--from", "kafka", "--to", "delta")
    assert back.code == 1 and "help: --append copies to it all the same" in back.err, back.err
    misspelt = flow("topics", "copy", "reading", str(application.directory), "--from", "delta")
    assert misspelt.code == 2 and "did you mean `readings`?" in misspelt.err


@pytest.mark.spark
@pytest.mark.slow
def test_kills_of_the_command(application: Application) -> None:
    """A copy that is killed at each of its crash points, again and again, copies each record once and in order."""
    source, target = application.source, application.target
    for number, contract in enumerate((READING, WIDER, READING, WIDER)):
        append(source, [batch(range(number * 10, number * 10 + 10), contract)], contract, number)
    command = [
        sys.executable,
        "-m",
        "streamlets",
        "topics",
        "copy",
        "readings",
        str(application.directory),
        "--from",
        "delta",
    ]
    for point in ("after-append-file", "after-append-commit", "after-copied-records"):
        killed = subprocess.run(command, cwd=REPOSITORY, env=os.environ | {VARIABLE: point}, capture_output=True)
        assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    finished = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert by_contract(target) == by_contract(source)
    assert sum(map(len, by_contract(target).values())) == 40
