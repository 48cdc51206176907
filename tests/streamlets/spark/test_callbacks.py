"""The connections of queries are closed with them."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from py4j.java_gateway import PythonProxyPool
from pyspark import SparkContext
from pyspark.sql.utils import ForeachBatchFunction

from streamlets.spark.callbacks import Callbacks
from streamlets.spark.listener import Claim, QueryListener

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 300


def test_the_exception_of_a_function_is_released_with_its_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the frames of its traceback, and Java may collect the function hours later."""
    pool = PythonProxyPool()
    session: Any = None

    def batch(rows: Any, number: int) -> None:
        raise RuntimeError("it fails")

    function = ForeachBatchFunction(session, batch)
    function.error = RuntimeError("it failed")
    pool.put(function)
    pool.put(QueryListener())
    gateway = SimpleNamespace(gateway_property=SimpleNamespace(pool=pool))
    monkeypatch.setattr(SparkContext, "_gateway", gateway)
    callbacks = Callbacks()
    callbacks._connections["run"] = SimpleNamespace(shutdown=lambda reset: None)
    callbacks.ended("run")
    assert function.error is None


@pytest.mark.spark
def test_restarts_leave_neither_threads_nor_files_behind(spark: SparkSession, tmp_path: Path) -> None:
    """After any number of runs, with successful or failing batches, the resources of calls and their exceptions are
    released."""
    session = spark.newSession()
    listener = QueryListener()
    listener.attach(session)
    gateway: Any = spark.sparkContext._gateway
    proxies = gateway.gateway_property.pool
    java = psutil.Process(gateway.proc.pid)

    def run(number: int) -> None:
        serving: list[threading.Thread] = []
        ended = threading.Event()

        def batch(rows: Any, _: int) -> None:
            serving.append(threading.current_thread())
            if number % 2:
                raise RuntimeError("it fails")

        writer = session.readStream.name("rate").format("rate").load().writeStream.foreachBatch(batch)
        query = writer.option("checkpointLocation", str(tmp_path / str(number))).start()
        listener.claim(str(query.runId), Claim(lambda report: None, lambda text: ended.set()))
        before = time.monotonic()
        while not serving:
            assert time.monotonic() - before < PATIENCE
            time.sleep(0.02)
        query.stop()
        assert ended.wait(PATIENCE)
        serving[0].join(PATIENCE)
        assert not serving[0].is_alive()
        assert [proxy for proxy in proxies.dict.values() if getattr(proxy, "error", None) is not None] == []

    run(0)
    run(1)
    threads, sockets = threading.active_count(), len(java.net_connections())
    for number in range(2, 8):
        run(number)
    assert threading.active_count() < threads + 3
    assert len(java.net_connections()) < sockets + 3
