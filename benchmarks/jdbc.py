"""The sink `jdbc` beside Spark's own JDBC writer: upserts of flights into PostgreSQL.

python -m benchmarks.jdbc [--rows 1000000] [--rounds 3]

Two streaming queries read the same Parquet files in one batch, and take turns. The sink upserts by a key: the batch is
staged, checked for doubled keys, merged and recorded in one transaction. The other appends each batch with
`DataFrameWriter.jdbc`. Both fill tables with the same columns and the same primary key. Then the sink upserts the same
keys again, which Spark's writer cannot. The server is a PostgreSQL of this machine, without waiting for its disk.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.sql_job import flights_table
from streamlets.artifacts.maven import Coordinate, fetch
from streamlets.egress import SINKS, SinkQuery
from streamlets.testkit import start_session
from tests.streamlets.egress.postgresql import programs, running

BAR = 1.5
_DRIVER = "org.postgresql:postgresql:42.7.4"
_COLUMNS = """id BIGINT PRIMARY KEY, time_hour TIMESTAMPTZ, carrier VARCHAR, flight INTEGER, origin VARCHAR,
    dest VARCHAR, distance INTEGER, dep_delay INTEGER, arr_delay INTEGER, air_time INTEGER"""


def write_input(directory: Path, rows: int) -> None:
    """Write the flights, repeated and numbered, in an order that is not that of the key."""
    flights = flights_table()
    repeated = pa.concat_tables([flights] * (rows // len(flights) + 1)).slice(0, rows)
    numbers = pa.array(((number * 7_919) % rows for number in range(rows)), pa.int64())
    numbered = repeated.add_column(0, "id", numbers)
    assert len(numbers.unique()) == rows, "the keys are unique if 7,919 does not divide the number of rows"
    for part in range(2):
        pq.write_table(numbered.slice(part * rows // 2, rows // 2), directory / f"{part}.parquet")


class Server:
    """The database, as both writers see it."""

    def __init__(self, url: str) -> None:
        import psycopg

        self.url = url
        self.jdbc = f"jdbc:{url.replace('tester@', '')}?user=tester"
        self._connection = psycopg.connect(url, autocommit=True)

    def create(self, table: str) -> None:
        """Create an empty table."""
        self._connection.execute(f"DROP TABLE IF EXISTS {table}")
        self._connection.execute(f"CREATE TABLE {table} ({_COLUMNS})")

    def count(self, table: str) -> int:
        """Return the number of rows of a table."""
        row = self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        return int(row[0]) if row else 0


def seconds_of_query(rows: DataFrame, start: Callable[[DataFrame], object]) -> float:
    """Return how long a query takes that `start` starts."""
    started = time.perf_counter()
    query = start(rows)
    query.awaitTermination()  # type: ignore[attr-defined]
    return time.perf_counter() - started


def main() -> None:
    """Measure, and print seconds and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    bin = programs()
    if bin is None:
        sys.exit("PostgreSQL is not installed: .ci/postgresql installs it")
    jars = fetch([Coordinate.parse(_DRIVER)])
    session = start_session("local[2]", settings={"spark.jars": ",".join(map(str, jars))})
    directory = Path(tempfile.mkdtemp(prefix="streamlets-jdbc-"))
    try:
        with running(bin) as url:
            (directory / "input").mkdir()
            write_input(directory / "input", arguments.rows)
            measure(session, Server(url), directory, arguments.rows, arguments.rounds)
    finally:
        session.stop()
        shutil.rmtree(directory, ignore_errors=True)


def measure(session: SparkSession, server: Server, directory: Path, count: int, rounds: int) -> None:
    """Let the writers take turns, and print their seconds."""
    schema = session.read.parquet(str(directory / "input")).schema
    session.conf.set("spark.sql.streaming.queryEvolution.enableSourceEvolution", "false")
    checkpoints = iter(range(10_000))

    def rows() -> DataFrame:
        return session.readStream.schema(schema).parquet(str(directory / "input"))

    def upsert(rows: DataFrame) -> object:
        number = next(checkpoints)
        query = SinkQuery(
            name=f"upsert-{number}", streamlet="upsert", query="sink", application=str(directory / "state"),
            options={"url": server.url, "table": "upserted", "keys": "id", "existing": "fail"},
        )  # fmt: skip
        writer = SINKS["jdbc"].open(rows, query).writer.trigger(availableNow=True)
        return writer.option("checkpointLocation", str(directory / f"checkpoint-{number}")).start()

    def append(rows: DataFrame) -> object:
        def write(batch: DataFrame, _: int) -> None:
            driver = {"driver": "org.postgresql.Driver"}
            batch.write.jdbc(server.jdbc, "appended", mode="append", properties=driver)

        writer = rows.writeStream.foreachBatch(write).trigger(availableNow=True)
        return writer.option("checkpointLocation", str(directory / f"checkpoint-{next(checkpoints)}")).start()

    print(f"{count:,} rows, {rounds} rounds after one to warm up, load {os.getloadavg()}")
    times: dict[str, list[float]] = {"append by Spark": [], "upsert, new keys": [], "upsert, same keys": []}
    for number in range(rounds + 1):
        server.create("appended")
        server.create("upserted")
        turns = {"append by Spark": append, "upsert, new keys": upsert}
        taken = {way: seconds_of_query(rows(), turns[way]) for way in (turns if number % 2 else reversed(turns))}
        assert (server.count("appended"), server.count("upserted")) == (count, count)
        taken["upsert, same keys"] = seconds_of_query(rows(), upsert)
        assert server.count("upserted") == count
        if number:
            for way, seconds in taken.items():
                times[way].append(seconds)
        print("  " + ", ".join(f"{way} {seconds:.1f} s" for way, seconds in taken.items()), flush=True)
    medians = {way: statistics.median(seconds) for way, seconds in times.items()}
    print("medians: " + ", ".join(f"{way} {seconds:.1f} s" for way, seconds in medians.items()))
    base = medians["append by Spark"]
    print(
        f"upsert beside append: {medians['upsert, new keys'] / base:.2f} for new keys (bar {BAR}), "
        f"{medians['upsert, same keys'] / base:.2f} for the same keys again; load {os.getloadavg()}"
    )


if __name__ == "__main__":
    main()
