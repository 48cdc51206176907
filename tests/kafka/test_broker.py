"""The broker of the tests: it keeps its place and data, and runs as long as a process uses it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.kafka.broker import Broker, BrokerError, shared

pytestmark = pytest.mark.spark
_PATIENCE = 120.0
_USER = """
import sys
from pathlib import Path
from tests.kafka.broker import shared
with shared(Path(sys.argv[1])) as servers:
    print(servers, flush=True)
    sys.stdin.read()
"""


def _user(directory: Path) -> subprocess.Popen[str]:
    """Start a process that uses the shared broker until its standard input is closed."""
    command = [sys.executable, "-c", _USER, str(directory)]
    root = Path(__file__).parents[2]
    return subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _wait_for_end(process: psutil.Process) -> None:
    end = time.monotonic() + _PATIENCE
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end, "the broker is still running"
        time.sleep(0.05)


def test_a_killed_broker_continues_with_its_port_and_its_records(kafka_broker: str, tmp_path: Path) -> None:
    """A record that the broker has confirmed is there after a kill and a start of the broker."""
    with Broker(tmp_path) as broker:
        servers = broker.servers
        assert servers != kafka_broker
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([NewTopic("flights", 1)])["flights"].result()
        producer = Producer({"bootstrap.servers": servers})
        producer.produce("flights", b"one")
        assert producer.flush(_PATIENCE) == 0
        del admin, producer  # they would report the end of the broker
        broker.kill()
        assert broker.process() is None
        broker.start()
        assert broker.servers == servers
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "test", "auto.offset.reset": "earliest"})
        consumer.subscribe(["flights"])
        message = consumer.poll(_PATIENCE)
        assert message is not None and message.value() == b"one"
        consumer.close()
        process = broker.process()
    assert process is not None and not process.is_running()


def test_settings_of_the_server(kafka_broker: str, tmp_path: Path) -> None:
    """A test can start a broker with settings of its own, and one that refuses them shows the end of its log."""
    with Broker(tmp_path / "small", properties={"message.max.bytes": "100"}) as broker:
        admin = AdminClient({"bootstrap.servers": broker.servers})
        admin.create_topics([NewTopic("flights", 1)])["flights"].result()
        errors: list[KafkaError | None] = []
        producer = Producer({"bootstrap.servers": broker.servers})
        producer.produce("flights", b"x" * 1000, on_delivery=lambda error, _: errors.append(error))
        assert producer.flush(_PATIENCE) == 0
        assert errors[0] is not None and errors[0].name() == "MSG_SIZE_TOO_LARGE"
    with pytest.raises(BrokerError, match=r"process\.roles"):
        Broker(tmp_path / "wrong", properties={"process.roles": "none"}).start()


@pytest.mark.slow
def test_users_share_one_broker_until_the_last_is_killed(kafka_broker: str, tmp_path: Path) -> None:
    """The broker of killed users exits and leaves no data."""
    users = [_user(tmp_path) for _ in range(2)]
    lines = [user.stdout.readline().strip() for user in users if user.stdout]
    assert lines[0] == lines[1] != ""
    process = Broker(tmp_path / "broker").process()
    assert process is not None
    users[0].kill()
    users[0].wait()
    with shared(tmp_path) as servers:
        assert servers == lines[0] and process.is_running()
        users[1].kill()
        users[1].wait()
        assert AdminClient({"bootstrap.servers": servers}).list_topics(timeout=_PATIENCE).brokers
    _wait_for_end(process)
    with shared(tmp_path):
        assert Broker(tmp_path / "broker").process() not in (None, process)


@pytest.mark.slow
def test_a_killed_keeper_is_replaced(kafka_broker: str, tmp_path: Path) -> None:
    """A broker without its keeper is replaced by a new one, and does not stay."""
    with shared(tmp_path):
        process = Broker(tmp_path / "broker").process()
        assert process is not None
        keepers = [each for each in psutil.process_iter(["cmdline"]) if str(tmp_path) in (each.info["cmdline"] or [])]
        assert len(keepers) == 1
        os.kill(keepers[0].pid, 9)
        keepers[0].wait(_PATIENCE)
    with shared(tmp_path) as servers:
        assert not process.is_running()
        assert AdminClient({"bootstrap.servers": servers}).list_topics(timeout=_PATIENCE).brokers
