"""The ports of a local Spark: connections without its secret are refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from streamlets.spark.callback_server import REFUSED, open_callback_server
from streamlets.spark.settings import SessionPlan, defaults
from tests.crossings.probes import PROBES, answer, is_refusal

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

LIMIT = 60.0
REFUSED_BY_SPARK = b"Expected SaslMessage"


@pytest.fixture
def gateway(spark: SparkSession) -> Any:
    """Return PySpark's connection to Java."""
    return spark.sparkContext._gateway


@pytest.mark.spark
def test_a_stranger_cannot_call_python(gateway: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """Calls of functions in this process need the token, which Java sends; a refusal is printed."""
    port = gateway._callback_server.server_socket.getsockname()
    assert gateway.python_parameters.auth_token == gateway.java_parameters.auth_token
    assert answer(port, PROBES["a call of py4j"]) == b""
    assert REFUSED in capfd.readouterr().err


@pytest.mark.spark
def test_java_still_calls_python(spark: SparkSession, tmp_path: Path) -> None:
    """A function for `foreachBatch` is called through that port."""
    batches: list[int] = []
    rows = spark.readStream.name("rows").format("rate").load()
    query = rows.writeStream.foreachBatch(lambda batch, number: batches.append(number))
    query.trigger(availableNow=True).option("checkpointLocation", str(tmp_path)).start().awaitTermination(120)
    assert batches == [0]


@pytest.mark.spark
def test_a_stranger_cannot_use_the_ports_of_java(spark: SparkSession) -> None:
    """The driver's endpoints and the block manager answer nobody without the secret; none is left that does."""
    gateway: Any = spark.sparkContext._gateway
    addresses = {
        (connection.laddr.ip.removeprefix("::ffff:"), connection.laddr.port)
        for connection in psutil.Process(gateway.proc.pid).net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    cases = [(address, name) for address in addresses for name in PROBES]
    with ThreadPoolExecutor(len(cases)) as probes:  # most of them wait for an answer that never comes
        answers = list(probes.map(lambda case: answer(case[0], PROBES[case[1]]), cases))
    assert [case for case, received in zip(cases, answers, strict=True) if not is_refusal(received)] == []
    context: Any = spark.sparkContext
    (blocks,) = context._jsc.sc().statusTracker().getExecutorInfos()
    endpoints = int(context.getConf().get("spark.driver.port"))
    for port in (endpoints, blocks.port()):  # not silent, as a port is on a machine that is too busy
        (address,) = [address for address in addresses if address[1] == port]
        assert REFUSED_BY_SPARK in answer(address, PROBES["an RPC of Spark"], LIMIT, until=REFUSED_BY_SPARK)


def test_a_server_that_runs_is_left() -> None:
    """A session that the user has made, and its server, stay as they are."""

    class Gateway:
        _callback_server = None

    gateway: Any = Gateway()
    gateway._callback_server = object()
    open_callback_server(gateway, print)
    assert not hasattr(gateway, "python_parameters")


@pytest.mark.parametrize(
    ("master", "expected"),
    [(None, "true"), ("local", "true"), ("local[2]", "true"), ("local[*,3]", "true"), ("local-cluster[1,1,1024]", None),
     ("spark://host:7077", "false"), ("yarn", "true")],
)  # fmt: skip
def test_authentication_is_the_default_on_this_machine(tmp_path: Path, master: str | None, expected: object) -> None:
    """Spark makes a secret by itself if everything is in one process; on a cluster its users configure one."""
    plan = SessionPlan("app", tmp_path / "logs", tmp_path, master)
    assert defaults(plan, 2, 1 << 33).get("spark.authenticate") == expected
