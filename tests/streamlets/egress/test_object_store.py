"""The sink `delta` with a table in an object store: a server that speaks the protocol of S3."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from streamlets.egress import SINKS, SinkQuery
from streamlets.egress.delta import STORAGE, DeltaBatches
from streamlets.egress.errors import ExistingFilesError, SinkError
from tests.streamlets.egress.test_delta import records
from tests.streamlets.egress.test_parameters import problems


@pytest.fixture(scope="module")
def store() -> Iterator[Mapping[str, str]]:
    """Return the storage options of a server with the bucket `lake`."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    bucket = urllib.request.Request(f"http://127.0.0.1:{port}/lake", method="PUT")
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(bucket, timeout=60).close()
                break
            except urllib.error.URLError:
                assert server.poll() is None
                time.sleep(0.1)
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "someone",
            "AWS_SECRET_ACCESS_KEY": "sesame",
        }
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    """Return the URL of a table of the test."""
    return f"s3://lake/tables/{request.node.name.replace('[', '-').strip(']')}"


def batches(url: str, store: Mapping[str, str], state: Path, **options: str) -> DeltaBatches:
    """Return the writer of a query."""
    storage = {f"{STORAGE}{name}": value for name, value in store.items()}
    given: dict[str, object] = {"url": url, "existing": "fail", **storage, **options}
    return DeltaBatches(
        SinkQuery(name="archive", streamlet="archive", query="sink", options=given, application=str(state))
    )


def rows_of(url: str, store: Mapping[str, str]) -> list[tuple[Any, ...]]:
    """Return the rows of a table, sorted."""
    table: pa.Table = DeltaTable(url, storage_options=dict(store)).to_pyarrow_table()
    return sorted(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.parametrize("keys", ["", "id"])
def test_a_batch_is_committed_once(url: str, store: Mapping[str, str], keys: str, tmp_path: Path) -> None:
    """As in a directory; an earlier checkpoint is recognized, too."""
    options = {"keys": keys} if keys else {}
    writer = batches(url, store, tmp_path, **options)
    writer._claim("q")
    writer.commit(records((1, 1, "a"), (2, 1, "a")), "q", 0)
    writer.commit(records((1, 1, "a"), (2, 1, "a")), "q", 0)
    writer.commit(records((2, 1, "b")), "q", 1)
    expected = [(1, 1, "a"), (2, 1, "b")] if keys else [(1, 1, "a"), (2, 1, "a"), (2, 1, "b")]
    assert rows_of(url, store) == expected
    assert [writer.may_have_written("q", batch) for batch in (1, 2)] == [True, False]
    if keys:
        batches(url, store, tmp_path, **options)._claim("other")
    else:
        with pytest.raises(ExistingFilesError, match=r"`s3://lake/tables/.*` with an earlier checkpoint"):
            batches(url, store, tmp_path)._claim("other")


@pytest.mark.spark
def test_a_query_writes_the_table(url: str, store: Mapping[str, str], spark: SparkSession, tmp_path: Path) -> None:
    """Spark stages each batch in the state directory, where nothing remains."""
    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / "in" / f"{number}.csv").write_text(f"{number}\n{number + 10}\n")
    session = spark.newSession()
    for _ in range(2):
        rows = session.readStream.name("n").option("maxFilesPerTrigger", 1).csv(str(tmp_path / "in"), schema="n int")
        writer = rows.writeStream.foreachBatch(batches(url, store, tmp_path / "state"))
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        query = writer.start()
        assert query.awaitTermination(600)
        (tmp_path / "in" / "3.csv").write_text("3\n13\n")
    assert rows_of(url, store) == [(0,), (1,), (2,), (3,), (10,), (11,), (12,), (13,)]
    assert [path for path in (tmp_path / "state").rglob("*") if path.is_file()] == []


@pytest.mark.spark
def test_an_error_of_the_store_is_one_line(store: Mapping[str, str], spark: SparkSession, tmp_path: Path) -> None:
    """It has the table and the reason of the server, and no secret."""
    writer = batches("s3://no-such-bucket/t", store, tmp_path)
    rows = spark.createDataFrame([(1,)], "n int")
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "q")
    try:
        with pytest.raises(
            SinkError, match=r"archive: cannot read the table `s3://no-such-bucket/t`: .*NoSuchBucket"
        ) as raised:
            writer(rows, 0)
    finally:
        spark.sparkContext.setLocalProperty("sql.streaming.queryId", "")
    assert "\n" not in str(raised.value) and "\x1b" not in str(raised.value) and "sesame" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "requires the option `path`, or `url` for a table in an object store"),
        ({"path": "t", "url": "s3://lake/t"}, "`path` and `url` cannot be combined"),
        ({"url": "lake/t"}, "`lake/t` is not the URL of a table in an object store"),
        ({"url": "s3://lake"}, "`s3://lake` is not the URL of a table in an object store"),
        ({"url": "file:///lake/t"}, "`file:///lake/t` is not the URL of a table"),
        ({"path": "s3://lake/t"}, "`s3://lake/t` is a URL, not a path of this machine"),
        ({"path": "t", "storage": {"AWS_REGION": "x"}}, "`storage.AWS_REGION` is for an object store"),
    ],
)
def test_options_are_checked(options: dict[str, Any], problem: str) -> None:
    """Before anything starts, without a connection."""
    assert problem in "; ".join(found.message for found in problems("delta", **options))


def test_tests_do_not_write_to_the_store() -> None:
    """The testkit replaces the sink by files."""
    assert SINKS["delta"].files({"url": "s3://lake/t"}) is None
