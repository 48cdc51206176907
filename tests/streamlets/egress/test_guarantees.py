"""What each sink guarantees: all of them write a batch that Spark has not committed, and then write it again."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from blueprint.settings.options import typed_options
from streamlets.egress import SINKS, SinkQuery
from streamlets.egress.jdbc.databases import database
from streamlets.egress.sink import open_sink
from streamlets.spark.session import active
from tests.streamlets.egress import authors_code
from tests.streamlets.egress.receiver import Receiver, receiving

pytestmark = pytest.mark.spark

ONCE = "kafka exactly once"
"""The sink `kafka` with an option that changes its guarantee."""

CLAIMS: dict[str, str] = {
    **{name: sink.traits.guarantee for name, sink in SINKS.items() if sink.traits.guarantee != "none"},
    ONCE: "exactly-once",
}
FIRST, SECOND = ["a", "b"], ["c"]


class Sinks:
    """A query to each sink that makes a claim, from one directory of files.

    Arguments:
        session: the Spark session.
        root: the directory of the input, the outputs and the checkpoints.
        servers: the address of a Kafka broker.
        receiver: the server of `webhook`.
    """

    def __init__(self, session: SparkSession, root: Path, servers: str, receiver: Receiver) -> None:
        self.session = session
        self.root = root
        suffix = uuid.uuid4().hex[:8]
        self.topics = {"kafka": f"guarantees-{suffix}", ONCE: f"guarantees-once-{suffix}"}
        self.servers = servers
        self.receiver = receiver
        admin = AdminClient({"bootstrap.servers": servers})
        for future in admin.create_topics([NewTopic(topic, 1) for topic in self.topics.values()]).values():
            future.result()
        (root / "in").mkdir()

    def options(self, name: str) -> dict[str, Any]:
        """Return the options of a sink."""
        out = str(self.root / name)
        return {
            "kafka": {"kafka.bootstrap.servers": self.servers, "topic": self.topics["kafka"]},
            ONCE: {
                "kafka.bootstrap.servers": self.servers,
                "topic": self.topics[ONCE],
                "guarantee": "exactly-once",
            },
            "function": {"function": f"{authors_code.__name__}.append", "path": out},
            "data-source": {"class": f"{authors_code.__name__}.AppendingSource", "path": out},
            "jdbc": {"url": f"sqlite:{out}.db", "table": "letters"},
            "iceberg": {
                "table": "lake.letters",
                "catalog.uri": f"sqlite:///{out}.db",
                "catalog.warehouse": f"file://{out}",
            },
            "webhook": {"url": self.receiver.url},
        }.get(name, {"path": out})

    def run(self) -> None:
        """Run all queries from their checkpoints until they have processed the files."""
        queries = [self._start(name) for name in CLAIMS]
        for query in queries:
            query.awaitTermination(300)

    def _start(self, name: str) -> StreamingQuery:
        rows = self.session.readStream.name("letters").csv(str(self.root / "in"), schema="id string")
        sink = SINKS["kafka" if name == ONCE else name]
        query = SinkQuery(
            name=f"archive.{name}",
            streamlet="archive",
            query=name,
            options=typed_options(sink.traits, self.options(name), self.root),
            directory=self.root,
            application=str(self.root),
        )
        writer = open_sink(sink, rows, query).writer.option("checkpointLocation", str(self.checkpoint(name)))
        return writer.queryName(f"{name}-{uuid.uuid4().hex}").trigger(availableNow=True).start()

    def checkpoint(self, name: str) -> Path:
        """Return the checkpoint of a query."""
        return self.root / "checkpoints" / name

    def forget_commit(self) -> None:
        """Remove Spark's commit of the last batch, as if the process had been killed before it."""
        for name in CLAIMS:
            commits = self.checkpoint(name) / "commits"
            last = max(int(path.name) for path in commits.glob("[0-9]*"))
            (commits / f"{last}").unlink()
            (commits / f".{last}.crc").unlink(missing_ok=True)

    def letters(self, name: str) -> dict[str, int]:
        """Return how often each letter is in the output of a sink."""
        readers: dict[str, Callable[[], list[str]]] = {
            **{name: partial(self._messages, topic) for name, topic in self.topics.items()},
            "function": lambda: (self.root / name / "all.txt").read_text().split(),
            "data-source": lambda: (self.root / name / "all.txt").read_text().split(),
            "delta": lambda: self._delta(name),
            "iceberg": self._iceberg,
            "jdbc": self._rows,
            "webhook": lambda: [str(id) for id in self.receiver.ids],
            "text": lambda: " ".join(path.read_text() for path in (self.root / name).glob("*.txt")).split(),
            "spark-files": lambda: [row[0] for row in self.session.read.parquet(str(self.root / name)).collect()],
        }
        return dict(Counter(readers.get(name, lambda: self._files(name))()))

    def _files(self, name: str) -> list[str]:
        paths = [str(path) for path in (self.root / name).glob(f"*.{name}")]
        return ds.dataset(paths, format=name).to_table()["id"].to_pylist()  # type: ignore[no-any-return]

    def _delta(self, name: str) -> list[str]:
        from deltalake import DeltaTable

        return DeltaTable(self.root / name).to_pyarrow_table()["id"].to_pylist()  # type: ignore[no-any-return]

    def _iceberg(self) -> list[str]:
        from pyiceberg.catalog import load_catalog

        catalog = load_catalog(
            "default", uri=f"sqlite:///{self.root}/iceberg.db", warehouse=f"file://{self.root}/iceberg"
        )
        return catalog.load_table("lake.letters").scan().to_arrow()["id"].to_pylist()  # type: ignore[no-any-return]

    def _rows(self) -> list[str]:
        with database(f"sqlite:{self.root}/jdbc.db").transaction() as cursor:
            cursor.execute("SELECT id FROM letters")
            return [row[0] for row in cursor.fetchall()]

    def _messages(self, topic: str) -> list[str]:
        reader = self.session.read.format("kafka").option("kafka.bootstrap.servers", self.servers)
        reader = reader.option("kafka.isolation.level", "read_committed")
        rows = reader.option("subscribe", topic).load().selectExpr("string(value)").collect()
        return [json.loads(row[0])["id"] for row in rows]


def test_a_batch_that_runs_again(spark: SparkSession, tmp_path: Path, kafka_broker: str) -> None:
    """An exactly-once sink has each record once. The others have each record, and the repeated ones twice: except
    Spark's files, which Spark's own list knows, and requests, whose keys this server knows."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "1")
    with receiving() as receiver, active(session):
        sinks = Sinks(session, tmp_path, kafka_broker, receiver)
        (tmp_path / "in" / "first.csv").write_text("\n".join(FIRST))
        sinks.run()
        written = {name: sinks.letters(name) for name in CLAIMS}
        assert written == {name: {"a": 1, "b": 1} for name in CLAIMS}
        sinks.forget_commit()
        (tmp_path / "in" / "second.csv").write_text("\n".join(SECOND))
        sinks.run()
        written = {name: sinks.letters(name) for name in CLAIMS}
        requests = len(receiver.requests)
    once, twice = {"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 2, "c": 1}
    repeating = {name for name, claim in CLAIMS.items() if claim == "at-least-once"} - {"spark-files", "webhook"}
    assert repeating == {"data-source", "function", "kafka"}
    assert written == {name: twice if name in repeating else once for name in CLAIMS}
    assert requests == 2
