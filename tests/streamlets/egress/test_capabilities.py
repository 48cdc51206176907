"""The capabilities of the sinks that are formats of Spark: each is compared with what Spark accepts."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import SparkSession

from blueprint.catalog import OUTPUT_MODES, OutputMode
from blueprint.settings.options import typed_options
from blueprint.settings.sinks import column_problems, sink_problems
from streamlets import Sink
from streamlets.api.errors import StreamletError
from streamlets.egress import SINKS, SinkQuery
from streamlets.egress.base import spark_types
from streamlets.egress.files.type import FORMATS
from streamlets.egress.sink import open_sink
from streamlets.spark.session import active
from tests.streamlets.egress import authors_code

pytestmark = pytest.mark.spark

CODE = authors_code.__name__
SPARK = {
    "noop": "noop",
    "spark-files": "parquet",
    "kafka": "kafka",
    "data-source": "",  # it is registered under a name of its own
    "function": "",
    "memory": "memory",
    "console": "console",
    "parquet": "",  # as `orc`, `json`, `csv` and `text`, which have the same writer
    "terminal": "",
}
"""The name of the format of Spark that a sink stands for; "" for code."""

IGNORED = {"console", "noop", "kafka", "data-source"}
"""Sinks whose format accepts partition columns and ignores them: a setting without an effect is refused."""


class Bench:
    """A query from three rows to a sink."""

    def __init__(self, session: SparkSession, root: Path, servers: str) -> None:
        self.session = session
        self.root = root
        self.topic = f"capabilities-{uuid.uuid4().hex[:8]}"
        self.servers = servers
        if servers:
            admin = AdminClient({"bootstrap.servers": servers})
            admin.create_topics([NewTopic(self.topic, 1)])[self.topic].result()
        (root / "in").mkdir()
        (root / "in" / "first.csv").write_text("a\nb\nb\n")

    def options(self, name: str) -> dict[str, Any]:
        """Return the options of a sink that it requires."""
        return {
            "kafka": {"kafka.bootstrap.servers": self.servers, "topic": self.topic},
            "spark-files": {"path": "out"},
            "parquet": {"path": "out"},
            "function": {"function": f"{CODE}.save", "path": str(self.root / "out")},
            "data-source": {"class": f"{CODE}.FilesSource", "path": str(self.root / "out")},
            "memory": {"table": f"seen_{self.topic[-8:]}"},
        }.get(name, {})

    def query(self, name: str, mode: OutputMode = "append", partition_by: tuple[str, ...] = ()) -> SinkQuery:
        """Return the query."""
        options = typed_options(SINKS[name].traits, self.options(name), self.root)
        return SinkQuery(
            name="archive.all",
            streamlet="archive",
            query="all",
            options=options,
            output_mode=mode,
            partition_by=partition_by,
            directory=self.root,
        )

    def rows(self, mode: OutputMode) -> Any:
        """Return the rows, of an aggregation if the mode requires one."""
        rows = self.session.readStream.name("letters").csv(str(self.root / "in"), schema="letter string")
        rows = rows.selectExpr("letter", "letter as other")
        return rows if mode == "append" else rows.groupBy("letter").agg({"other": "max"}).toDF("letter", "other")

    def run(self, writer: Any) -> None:
        """Start a query, and wait until it has processed the rows."""
        writer = writer.option("checkpointLocation", str(self.root / f"checkpoint-{uuid.uuid4()}"))
        writer.queryName(f"q{uuid.uuid4().hex}").trigger(availableNow=True).start().awaitTermination(120)


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """Return a bench with a session of its own, and a broker for the sink that needs one."""
    name = request.node.callspec.params.get("name") if hasattr(request.node, "callspec") else None
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "1")
    servers = request.getfixturevalue("kafka_broker") if name == "kafka" else ""
    with active(session):
        yield Bench(session, tmp_path, servers)


@pytest.mark.parametrize("mode", OUTPUT_MODES)
@pytest.mark.parametrize("name", SPARK)
def test_a_mode_is_accepted_exactly_if_spark_accepts_it(bench: Bench, name: str, mode: OutputMode) -> None:
    """The query runs without our checks: to the end, or until Spark refuses the mode."""
    traits = SINKS[name].traits
    assert [problem.message for problem in sink_problems(traits, bench.options(name))] == []
    refused = [p for p in sink_problems(traits, bench.options(name), output_mode=mode) if p.path == ("output-mode",)]
    writer = SINKS[name].open(bench.rows(mode), bench.query(name, mode)).writer.outputMode(mode)
    if not refused:
        bench.run(writer)
        return
    with pytest.raises((AnalysisException, StreamingQueryException), match=r"(?i)output mode|update"):
        bench.run(writer)
    with pytest.raises(StreamletError, match=f"does not accept output mode `{mode}`"):
        open_sink(SINKS[name], bench.rows(mode), bench.query(name, mode))


@pytest.mark.parametrize("name", SPARK)
def test_partitions_are_accepted_exactly_if_spark_writes_them(bench: Bench, name: str) -> None:
    """Spark writes directories, refuses the columns, or ignores them, which is refused before the start."""
    traits = SINKS[name].traits
    if traits.partitioning:
        writer = open_sink(SINKS[name], bench.rows("append"), bench.query(name, partition_by=("letter",))).writer
        bench.run(writer)
        assert {path.name for path in (bench.root / "out").glob("letter=*")} == {"letter=a", "letter=b"}
        return
    with pytest.raises(StreamletError, match="does not support `partition-by`"):
        open_sink(SINKS[name], bench.rows("append"), bench.query(name, partition_by=("letter",)))
    writer = SINKS[name].open(bench.rows("append"), bench.query(name)).writer
    if SPARK[name] in ("memory", "console"):
        writer = bench.rows("append").writeStream.format(SPARK[name])  # ours are functions
    if name in IGNORED:
        bench.run(writer.partitionBy("letter"))
    else:
        with pytest.raises(AnalysisException, match="does not support partitioning"):
            bench.run(writer.partitionBy("letter"))


@pytest.mark.parametrize("format", ["orc", "json", "csv", "text"])
def test_spark_writes_files_in_each_format(bench: Bench, format: str) -> None:
    """The directory has Spark's list of files; records of text are one column."""
    columns = ["letter"] if format == "text" else ["letter", "other"]
    query = bench.query("spark-files")
    options = typed_options(SINKS["spark-files"].traits, {"path": "out", "format": format}, bench.root)
    opened = open_sink(
        SINKS["spark-files"],
        bench.rows("append").select(*columns),
        SinkQuery(name="a", streamlet="a", query="q", options=options, directory=bench.root),
    )
    bench.run(opened.writer)
    assert query.directory == bench.root
    read = bench.session.read.format(format).option("header", True).load(str(bench.root / "out"))
    assert sorted(row[0] for row in read.collect()) == ["a", "b", "b"]
    assert (bench.root / "out" / "_spark_metadata").is_dir()


TYPES = (
    *("void", "boolean", "tinyint", "bigint", "double", "decimal(9,2)", "string", "binary", "date", "timestamp"),
    *("timestamp_ntz", "interval year to month", "interval day to second", "interval", "variant"),
    *("struct<void: int>", "struct<a: variant>", "array<void>", "map<string, int>", "array<interval day to second>"),
)
"""Types of Spark, as DDL; `time` is off by default."""

BASE64 = {("csv", "binary")}
"""What Spark accepts and we refuse: CSV files would have text that no reader recognizes as bytes."""


@pytest.mark.parametrize("format", FORMATS)
def test_a_type_is_accepted_exactly_if_spark_writes_it(spark: SparkSession, tmp_path: Path, format: str) -> None:
    """Each format is asked to write a column of each type."""
    differences = []
    for type in TYPES:
        rows = spark.sql(f"SELECT CAST(NULL AS {type}) AS c")
        refused = any(column_problems(FORMATS[format], spark_types(rows.schema), {}))
        try:
            rows.write.mode("overwrite").format(format).save(f"file:{tmp_path}/out")
        except AnalysisException as error:
            assert "UNSUPPORTED_DATA_TYPE" in str(error)
            differences += [] if refused else [(format, type)]
        else:
            differences += [(format, type)] if refused and (format, type) not in BASE64 else []
    assert differences == []


@pytest.mark.parametrize("name", ["function", "data-source"])
def test_code_of_an_author_gets_the_rows_and_the_options(bench: Bench, name: str) -> None:
    """Options besides those of the sink are passed on, with their own case."""
    bench.run(open_sink(SINKS[name], bench.rows("append"), bench.query(name)).writer)
    assert sorted(row["letter"] for row in json.loads((bench.root / "out" / "0.json").read_text())) == ["a", "b", "b"]


@pytest.mark.parametrize("name", ["kafka"])
def test_records_become_messages(bench: Bench, name: str) -> None:
    """A message has a record as JSON, or the columns of a message; extra columns are refused, as Spark drops them."""
    bench.run(open_sink(SINKS[name], bench.rows("append"), bench.query(name)).writer)
    reader = bench.session.read.format("kafka").option("kafka.bootstrap.servers", bench.servers)
    sent = reader.option("subscribe", bench.topic).load().selectExpr("string(value)").collect()
    assert sorted(json.loads(row[0])["letter"] for row in sent) == ["a", "b", "b"]
    query = bench.query(name)
    with pytest.raises(StreamletError, match=r"requires a column `value` .* does not write the column `letter`"):
        open_sink(SINKS[name], bench.rows("append"), _with(query, value="column"))
    with pytest.raises(StreamletError, match="`key` has `id`, which is not a column"):
        open_sink(SINKS[name], bench.rows("append"), _with(query, key="id"))


def test_the_last_rows_are_in_a_view(bench: Bench) -> None:
    """All sessions of the driver have the view; a restarted query begins it again, which Spark's own sink refuses."""
    query, table = bench.query("memory"), f"global_temp.seen_{bench.topic[-8:]}"
    bench.run(open_sink(SINKS["memory"], bench.rows("append"), query).writer)
    assert sorted(row[0] for row in bench.session.table(table).collect()) == ["a", "b", "b"]
    bench.run(open_sink(SINKS["memory"], bench.rows("complete"), _with(query, "complete")).writer)
    assert sorted(row[0] for row in bench.session.newSession().table(table).collect()) == ["a", "b"]


def _with(query: SinkQuery, output_mode: OutputMode = "append", **options: str) -> SinkQuery:
    return replace(query, output_mode=output_mode, options={**query.options, **options})


@pytest.mark.parametrize(
    ("to", "options", "problem"),
    [
        ("function", {"function": f"{CODE}.svae"}, "the function `.*svae` cannot be used: AttributeError"),
        ("function", {"function": "save"}, "expected a module and a name, such as"),
        ("function", {"function": f"{CODE}.save"}, "cannot be used: missing a required argument: 'path'"),
        ("function", {"function": f"{CODE}.save", "path": "x", "pth": 1}, "got an unexpected keyword argument 'pth'"),
        ("data-source", {"class": f"{CODE}.save"}, "it is not a `pyspark.sql.datasource.DataSource`"),
        ("data-source", {"class": f"{CODE}.NoWriter"}, "it has no `streamWriter`"),
        ("kafka", {"topic": "t"}, r"requires the option `kafka.bootstrap.servers`: the servers"),
        ("kafka", {"kafka.bootstrap.server": "s"}, "the sink `kafka` has no option `kafka.bootstrap.server`"),
        ("kafka", {"kafka": {"bootstrap": {"servers": "s"}, "acks": []}}, "`kafka.acks` .* must be a string"),
        ("kafka", {"kafka": {"bootstrap.servers": "s"}, "topci": "t"}, "the sink `kafka` has no option `topci`"),
        ("kafka", {"kafka": {"bootstrap.servers": "s"}, "value": "column", "key": "k"}, "`key` is an option of"),
        ("memory", {"table": "a-b"}, "invalid name of a view: `a-b`"),
        ("spark-files", {"path": "s3a://b", "format": "xml"}, "invalid value of the option `format`"),
        ("console", {"truncat": "false"}, "has no option `truncat`"),
    ],
)
def test_mistakes_are_reported_by_verification(to: str, options: dict[str, Any], problem: str) -> None:
    """Also those in the author's code, and in options that are passed on."""
    values = {"to": to, "partition-by": "", "options": options}
    (reported,) = Sink().check_parameters(values)
    assert re.search(problem, reported.message), reported.message


def test_options_of_clients_are_passed_on() -> None:
    """In a blueprint they are objects in objects, in SQL one name; values are strings."""
    traits = SINKS["kafka"].traits
    nested = {"kafka": {"bootstrap": {"servers": "s"}, "enable.idempotence": True}}
    flat = {"kafka.bootstrap.servers": "s", "kafka.enable.idempotence": "true"}
    expected = {**flat, "value": "json", "guarantee": "at-least-once"}
    assert typed_options(traits, nested) == typed_options(traits, flat) == expected
