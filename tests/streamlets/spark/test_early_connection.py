"""Spark's Python processes connect to Java before their imports."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from streamlets.spark.spark_home import without_zip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"
# Stops each process at its first import of PySpark's own modules.
_BLOCKING = """
import sys, time
from pathlib import Path

class Gate:
    def find_spec(self, name, path=None, target=None):
        if name == "pyspark.util":
            {wait}

sys.meta_path.insert(0, Gate())
"""


def _wait_until(reached: Callable[[], bool]) -> None:
    limit = time.monotonic() + 120
    while not reached():
        assert time.monotonic() < limit
        time.sleep(0.01)


def _gate(directory: Path, wait: str) -> Path:
    directory.mkdir()
    (directory / "sitecustomize.py").write_text(_BLOCKING.format(wait=wait))
    return directory


@contextmanager
def _planner(home: Path, gate: Path, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start the process of a streaming source as Spark does."""
    first = home / "python" / "lib" / "pyspark.zip"
    environment = os.environ | variables | {"PYTHONPATH": os.pathsep.join(map(str, (first, gate)))}
    with subprocess.Popen([sys.executable, "-m", _RUNNER], env=environment, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("unix", [False, True], ids=["tcp", "unix"])
def test_the_process_of_a_source_connects_before_it_imports(
    unix: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark has its connection and the secret while PySpark is not imported yet; then they talk as usual."""
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    go, waiting = tmp_path / "go", tmp_path / "waiting"
    gate = _gate(
        tmp_path / "gate",
        f"Path({str(waiting)!r}).touch()\n            while not Path({str(go)!r}).exists(): time.sleep(0.01)",
    )
    server: Any
    if unix:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        monkeypatch.chdir(tmp_path)
        server.bind("socket")
        server.listen(1)
        variables = {"PYTHON_WORKER_FACTORY_SOCK_PATH": "socket"}
    else:
        server = socket.create_server(("127.0.0.1", 0))
        variables = {
            "PYTHON_WORKER_FACTORY_PORT": str(server.getsockname()[1]),
            "PYTHON_WORKER_FACTORY_SECRET": "a secret",
        }
    server.settimeout(120)
    with server, without_zip(tmp_path) as home, _planner(home or tmp_path, gate, **variables) as process:
        connection, _ = server.accept()
        with connection, connection.makefile("rwb") as java:
            if not unix:
                assert java.read(12) == b"\0\0\0\x08a secret"
                java.write(b"\0\0\0\x02ok")
                java.flush()
            _wait_until(waiting.exists)
            assert not go.exists()
            go.touch()
            assert int.from_bytes(java.read(4), "big") == process.pid


def test_a_process_that_forks_others_connects_to_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an address in its environment, a process is the installed PySpark and nothing else."""
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    code = "import pyspark.util, sys; print(pyspark.__file__, pyspark.util.local_connect_and_auth.__module__, sys.path)"
    with without_zip(tmp_path) as home:
        assert home is not None
        first = str(home / "python" / "lib" / "pyspark.zip")
        output = subprocess.check_output(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": first}, text=True
        )
    assert "pyspark.util" in output
    assert first not in output


@pytest.mark.spark
@pytest.mark.full
def test_a_source_whose_process_imports_for_longer_than_spark_waits(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream starts although the imports of its process take 12 seconds; Spark waits 10 seconds for a connection."""
    from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

    class Reader(SimpleDataSourceStreamReader):
        def initialOffset(self) -> dict[str, int]:
            return {"at": 0}

        def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[int]], dict[str, int]]:
            return iter([(start["at"],)]), {"at": start["at"] + 1}

        def readBetweenOffsets(self, start: dict[str, int], end: dict[str, int]) -> Iterator[tuple[int]]:
            return iter([(start["at"],)])

    class Slow(DataSource):
        @classmethod
        def name(cls) -> str:
            return "slow_start"

        def schema(self) -> str:
            return "at int"

        def simpleStreamReader(self, schema: object) -> Reader:
            return Reader()

    gate = _gate(tmp_path / "gate", "time.sleep(12)")
    environment: dict[str, str] = spark.sparkContext.environment
    monkeypatch.setitem(environment, "PYTHONPATH", str(gate))
    spark.dataSource.register(Slow)
    seen: list[int] = []
    query = (
        spark.readStream.format("slow_start")
        .name("slow_start")
        .load()
        .writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        .foreachBatch(lambda rows, batch: seen.extend(row.at for row in rows.collect()))
        .start()
    )
    try:
        _wait_until(lambda: bool(seen) or query.exception() is not None)
        assert query.exception() is None
    finally:
        query.stop()
