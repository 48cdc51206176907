"""The client for requests about topics can be dropped anywhere, also in librdkafka's own threads."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import weakref
from queue import SimpleQueue
from typing import Any

from confluent_kafka import TopicCollection

from streamlets.channels.kafka.admin_client import AdminClient
from streamlets.channels.kafka.cluster import Connection, Connections
from streamlets.channels.kafka.cluster_client import Cluster

SERVERS = {"bootstrap.servers": "127.0.0.1:1"}  # nobody listens
NOWHERE = Connections(*[Connection(SERVERS, SERVERS)] * 3)

COLLECTED_IN_A_CALLBACK = """
    import gc
    import time

    from tests.streamlets.channels.kafka.test_admin_client import unanswered

    gc.disable()
    cluster, future = unanswered(0.1)
    collected = []
    future.add_done_callback(lambda _: collected.append(gc.collect()))
    cycle = [cluster]
    cycle.append(cycle)
    del cluster, cycle
    print(type(future.exception()).__name__)
    while not collected:
        time.sleep(0.01)
"""
_LIMIT = 60.0


def unanswered(seconds: float) -> tuple[Cluster, Any]:
    """Return a cluster, and the future of a request that fails after some seconds."""
    cluster = Cluster(NOWHERE)
    (future,) = cluster.ask(lambda admin: admin.describe_topics(TopicCollection(["rows"]), request_timeout=seconds))
    return cluster, future


def test_a_client_is_collected_in_a_callback() -> None:
    """The garbage collector may find it in the thread in which one of its own requests fails: the process goes on."""
    command = [sys.executable, "-c", textwrap.dedent(COLLECTED_IN_A_CALLBACK)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT, check=False)
    assert (process.returncode, process.stdout) == (0, "KafkaException\n"), process.stderr


def test_a_client_ends() -> None:
    """A client that was dropped is destroyed, in a thread of its own."""
    threads = SimpleQueue[str]()
    client = AdminClient(SERVERS)
    ended = weakref.ref(client, lambda _: threads.put(threading.current_thread().name))
    del client
    assert threads.get(timeout=_LIMIT) == "end-kafka-client"
    assert ended() is None
