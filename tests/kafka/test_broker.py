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
    """A record that the broker has confirmed is there after a kill and a start of the broker, which has settings of the
    test. One that refuses its settings shows the end of its log."""
    with Broker(tmp_path / "small", properties={"message.max.bytes": "10000"}) as broker:
        servers = broker.servers
        assert servers != kafka_broker
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([NewTopic("flights", 1)])["flights"].result()
        errors: list[KafkaError | None] = []
        producer = Producer({"bootstrap.servers": servers})
        for value in (b"one", b"x" * 100_000):
            producer.produce("flights", value, on_delivery=lambda error, _: errors.append(error))
            assert producer.flush(_PATIENCE) == 0
        confirmed, refused = errors
        assert confirmed is None
        assert refused is not None and refused.name() == "MSG_SIZE_TOO_LARGE"
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
    with pytest.raises(BrokerError, match=r"process\.roles"):
        Broker(tmp_path / "wrong", properties={"process.roles": "none"}).start()


@pytest.mark.slow
def test_users_share_one_broker_until_the_last_is_killed(kafka_broker: str, tmp_path: Path) -> None:
    """The broker of killed users exits and leaves no data. One whose keeper was killed is replaced, and exits, too."""
    users = [_user(tmp_path) for _ in range(2)]
    lines = [user.stdout.readline().strip() for user in users if user.stdout]
    assert lines[0] == lines[1] != ""
    first = Broker(tmp_path / "broker").process()
    assert first is not None
    users[0].kill()
    users[0].wait()
    with shared(tmp_path) as servers:
        assert servers == lines[0] and first.is_running()
        users[1].kill()
        users[1].wait()
        assert AdminClient({"bootstrap.servers": servers}).list_topics(timeout=_PATIENCE).brokers
    _wait_for_end(first)
    with shared(tmp_path):
        second = Broker(tmp_path / "broker").process()
        assert second is not None and second != first
        keepers = [each for each in psutil.process_iter(["cmdline"]) if str(tmp_path) in (each.info["cmdline"] or [])]
        assert len(keepers) == 1
        os.kill(keepers[0].pid, 9)
        keepers[0].wait(_PATIENCE)
    with shared(tmp_path) as servers:
        assert not second.is_running()
        assert AdminClient({"bootstrap.servers": servers}).list_topics(timeout=_PATIENCE).brokers
