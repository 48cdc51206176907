"""A streamlet under test: records are written, queries are stepped, and records are read on real topics."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from streamlets import (
    AvroInlet,
    AvroOutlet,
    DurationParameter,
    IntegerParameter,
    PathParameter,
    Queries,
    SparkStreamlet,
    SparkStreamletLogic,
    StopCause,
    StreamletError,
    StringParameter,
    VolumeMount,
    triggers,
)
from streamlets.runner.checkpoints.watermark import BATCHES_WITHOUT_ROWS
from streamlets.testkit import StepFailedError, Testkit, TestkitError, preview

pytestmark = pytest.mark.spark

READING = "src string not null, ts timestamp not null, value double not null"


class MovingAverage(SparkStreamlet):
    """Mean of each gauge over a window."""

    readings = AvroInlet(schema=READING)
    averages = AvroOutlet(schema="src string, value double")
    window = DurationParameter("Length of the window", default="1 minute")

    class Logic(SparkStreamletLogic["MovingAverage"]):
        """Computes the mean."""

        def build_streaming_queries(self) -> Queries:
            """Return one query."""
            from pyspark.sql import functions as F

            me = self.streamlet
            mean = (
                self.read_stream(me.readings)
                .withWatermark("ts", "0 seconds")
                .groupBy(F.window("ts", self.value(me.window).sql), "src")
                .agg(F.avg("value").alias("value"))
            )
            return self.write_stream(mean.select("src", "value"), me.averages)


class Splitter(SparkStreamlet):
    """Writes two outlets with one query, and may break a contract."""

    readings = AvroInlet(schema=READING)
    high = AvroOutlet(schema="src string not null, value double", extra="drop", on_invalid="dead-letters")
    low = AvroOutlet(schema="src string, value double", extra="drop", partition_by=["SRC", "length(src)"])
    limit = IntegerParameter("What is high", default=10)

    class Logic(SparkStreamletLogic["Splitter"]):
        """Splits the readings by value."""

        def build_streaming_queries(self) -> Queries:
            """Return one query, in which a high reading of `?` loses its source."""
            from pyspark.sql import functions as F

            me, limit = self.streamlet, self.value(self.streamlet.limit)
            rows = self.read_stream(me.readings).withColumn("src", F.when(F.col("src") != "?", F.col("src")))
            return self.write_streams(
                rows,
                {
                    me.high: lambda part: part.where(F.col("value") >= limit),
                    me.low: lambda part: part.where(f"value < {limit}"),
                },
                name="split",
            )


class Strict(SparkStreamlet):
    """Copies readings; a negative value breaks the outlet's contract, which fails the query."""

    readings = AvroInlet(schema=READING)
    passed = AvroOutlet(schema="src string not null", extra="drop")

    class Logic(SparkStreamletLogic["Strict"]):
        """Copies the readings."""

        def build_streaming_queries(self) -> Queries:
            """Return one query."""
            rows = self.read_stream(self.streamlet.readings)
            return self.write_stream(rows.selectExpr("IF(value < 0, NULL, src) AS src"), self.streamlet.passed)


class Lenient(Strict):
    """A new version of `Strict`, which corrects negative values."""

    class Logic(SparkStreamletLogic["Lenient"]):
        """Copies corrected readings."""

        def build_streaming_queries(self) -> Queries:
            """Return the same query."""
            rows = self.read_stream(self.streamlet.readings)
            return self.write_stream(rows.selectExpr("IF(value < 0, 'negative', src) AS src"), self.streamlet.passed)


def reading(src: str, minute: int, value: float) -> dict[str, object]:
    """Return a reading at 12:<minute>."""
    return {"src": src, "ts": datetime.datetime(2024, 1, 1, 12, minute, tzinfo=datetime.UTC), "value": value}


def sources(rows: list[dict[str, Any]]) -> list[str]:
    """Return the sorted sources of rows."""
    return sorted(row["src"] for row in rows)


def test_a_window_is_output_in_the_step_that_closes_it(kit: Testkit) -> None:
    """An open window stays in state, also after a restart, until a record advances the watermark beyond its end."""
    app = kit.streamlet(MovingAverage, parameters={"window": "1 minute"})
    app.inlet("readings").put([reading("a", 0, 1.0), reading("a", 0, 3.0)])
    first = app.step()
    assert (first.rows_in, first.pending_rows, app.outlet("averages").take()) == (2, 1, [])
    app.restart()
    app.inlet("readings").put([reading("a", 5, 7.0)])
    second = app.step()
    assert app.outlet("averages").take() == [{"src": "a", "value": 2.0}]
    assert second.queries["averages"].watermark == "2024-01-01T12:05:00.000Z"
    app.inlet("readings").put([reading("a", 1, 9.0)])
    third = app.step()
    assert (third.rows_in, third.late, app.outlet("averages").take()) == (1, 1, [])
    assert app.outlet("averages").all() == [{"src": "a", "value": 2.0}]


def test_a_window_is_output_after_a_stop_behind_the_batch_that_closed_it(kit: Testkit) -> None:
    """Spark emits it in a batch without rows. A query that was killed before that batch emits it at its next start,
    although no row has come, and once."""
    app = kit.streamlet(MovingAverage, spark={BATCHES_WITHOUT_ROWS: "false"})
    app.inlet("readings").put([reading("a", 0, 1.0), reading("a", 5, 7.0)])
    assert app.step().rows_in == 2
    assert app.outlet("averages").all() == []
    app.context.session.conf.set(BATCHES_WITHOUT_ROWS, "true")
    assert [app.step().rows_in, app.step().rows_in] == [0, 0]
    assert app.outlet("averages").all() == [{"src": "a", "value": 1.0}]
    app.inlet("readings").put([reading("a", 9, 1.0)])
    assert app.step().rows_in == 1
    assert app.outlet("averages").all() == [{"src": "a", "value": 1.0}, {"src": "a", "value": 7.0}]


def test_one_query_writes_several_outlets_and_dead_letters(kit: Testkit) -> None:
    """A row that breaks a contract goes to the dead letters with the reason."""
    app = kit.streamlet(Splitter, parameters={"limit": 5})
    app.inlet("readings").put([reading("a", 0, 1.0), reading("b", 0, 7.0), reading("?", 0, 9.0)])
    step = app.step()
    assert list(step.queries) == ["split"]
    assert app.outlet("high").take() == [{"src": "b", "value": 7.0}]
    assert app.outlet("low").take() == [{"src": "a", "value": 1.0}]
    (letter,) = app.dead_letters.take()
    assert letter["port"] == "streamlet-under-test.high" and letter["reason"].startswith("`src`: ")


class Shaky(SparkStreamlet):
    """Has an outlet with dead letters, and a function that reads some rows of each batch twice."""

    readings = AvroInlet(schema=READING)
    high = AvroOutlet(schema="src string not null, value double", extra="drop", on_invalid="dead-letters")

    class Logic(SparkStreamletLogic["Shaky"]):
        """Writes with two queries."""

        def build_streaming_queries(self) -> Queries:
            """Return both queries."""
            from pyspark.sql import functions as F

            me = self.streamlet

            def look(batch: Any, _: int) -> None:
                batch.head(1)
                batch.collect()

            rows = self.read_stream(me.readings).withColumn("src", F.when(F.col("src") != "?", F.col("src")))
            return [self.write_stream(rows, me.high), self.query("look", rows.writeStream.foreachBatch(look))]


def test_rows_in_counts_each_record_once(kit: Testkit) -> None:
    """Spark may execute a batch several times, and a function may read only some of its rows."""
    app = kit.streamlet(Shaky)
    for broken in (1, 3, 0):
        app.inlet("readings").put([reading("?" if n < broken else "a", n, 1.0) for n in range(20)])
        assert {name: query.rows_in for name, query in app.step().queries.items()} == {"high": 20, "look": 20}
        assert len(app.dead_letters.take()) == broken


class Files(SparkStreamlet):
    """Reads rows from files, which may break the contract."""

    readings = AvroOutlet(schema="src string NOT NULL", on_invalid="dead-letters")
    directory = PathParameter("The directory of the files", kind="directory")

    class Logic(SparkStreamletLogic["Files"]):
        """Reads a source of Spark."""

        def build_streaming_queries(self) -> Queries:
            """Return one query that copies the rows."""
            options = {"path": str(self.value(self.streamlet.directory))}
            rows = self.source("files", format="json", schema="src string", options=options)
            return self.write_stream(rows, self.streamlet.readings)


def test_rows_of_an_external_source_count_once(kit: Testkit, tmp_path: Path) -> None:
    """Spark executes a batch with an invalid row twice, and counts its rows twice."""
    (tmp_path / "rows.json").write_text('{"src": "a"}\n{"src": null}\n{"src": "b"}\n')
    app = kit.streamlet(Files, parameters={"directory": str(tmp_path)}, real=True)
    assert app.step().rows_in == 3
    assert len(app.dead_letters.take()) == 1


def test_a_step_without_new_records_does_nothing(kit: Testkit) -> None:
    """It reads and writes no records."""
    app = kit.streamlet(Strict)
    assert (app.step().rows_in, app.outlet("passed").take()) == (0, [])


def test_a_new_version_continues_after_a_failed_step(kit: Testkit) -> None:
    """A row that breaks the contract fails the query before any data is written; a corrected version reads it again."""
    app = kit.streamlet(Strict)
    app.inlet("readings").put([reading("a", 0, 1.0)])
    app.step()
    app.inlet("readings").put([reading("b", 0, 1.0), reading("c", 0, -1.0)])
    for _ in range(2):
        with pytest.raises(StepFailedError, match=r"the query `streamlet-under-test\.passed` failed") as raised:
            app.step()
        assert raised.value.__cause__ is not None and "`src`: is null" in raised.value.reason
    assert sources(app.outlet("passed").take()) == ["a"]
    app.restart(Lenient)
    app.step()
    assert sources(app.outlet("passed").take()) == ["b", "negative"]


def test_an_error_in_a_function_has_the_authors_frames(kit: Testkit) -> None:
    """Frames of Spark and of the framework are omitted."""

    class Failing(Strict):
        """Fails in a function of the author."""

        class Logic(SparkStreamletLogic["Failing"]):
            """Writes with a function that fails."""

            def build_streaming_queries(self) -> Queries:
                """Return one query."""

                def fail(batch: Any, number: int) -> None:
                    raise LookupError("no address")

                rows = self.read_stream(self.streamlet.readings)
                return self.query("mine", rows.writeStream.foreachBatch(fail))

    app = kit.streamlet(Failing)
    app.inlet("readings").put([reading("a", 0, 1.0)])
    with pytest.raises(StepFailedError) as raised:
        app.step()
    assert raised.value.reason == "LookupError: no address"
    assert [frame.endswith("in fail") for frame in raised.value.frames] == [True]


def test_a_step_has_several_batches_with_a_limit(kit: Testkit) -> None:
    """Five records with at most two per batch are three batches."""
    app = kit.streamlet(Strict, max_records={"readings": 2})
    for src in "abcde":
        app.inlet("readings").put([reading(src, 0, 1.0)])
    assert app.step().queries["passed"].batches == 3
    assert sources(app.outlet("passed").take()) == ["a", "b", "c", "d", "e"]


def test_records_of_an_older_writer_are_resolved(kit: Testkit) -> None:
    """Records with an older schema are promoted and get defaults, as in a run."""
    app = kit.streamlet(Reader)
    app.inlet("in").put([{"a": 7}], schema={"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]})
    app.inlet("in").put([{"a": 2**40, "b": "new"}])
    app.step()
    rows = app.outlet("out").take()
    assert sorted((row["a"], row["b"]) for row in rows) == [(7, "none"), (2**40, "new")]


class Reader(SparkStreamlet):
    """Has a wider number and a field that older writers do not have."""

    SCHEMA = {  # noqa: RUF012
        "type": "record",
        "name": "R",
        "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string", "default": "none"}],
    }
    in_ = AvroInlet("in", schema=SCHEMA)
    out = AvroOutlet(schema=SCHEMA)

    class Logic(SparkStreamletLogic["Reader"]):
        """Copies the readings."""

        def build_streaming_queries(self) -> Queries:
            """Return one query."""
            return self.write_stream(self.read_stream(self.streamlet.in_), self.streamlet.out)


class Ticks(SparkStreamlet):
    """An ingress that produces records over time."""

    ticks = AvroOutlet(schema="value long not null")

    class Logic(SparkStreamletLogic["Ticks"]):
        """Reads Spark's rate source."""

        def build_streaming_queries(self) -> Queries:
            """Return one query with a trigger."""
            rows = self.source("rate", format="rate", options={"rowsPerSecond": 20})
            me = self.streamlet
            return self.write_stream(rows.select("value"), me.ticks, trigger=triggers.processing_time("200ms"))


def test_an_ingress_runs_until_a_condition_is_true(kit: Testkit) -> None:
    """Time-driven sources run as in `flow run`, and then stop."""
    app = kit.streamlet(Ticks)
    app.run_until(lambda: len(app.outlet("ticks").all()) >= 5)
    values = [row["value"] for row in app.outlet("ticks").all()]
    assert sorted(values) == list(range(len(values))) and len(values) >= 5
    with pytest.raises(TestkitError, match=r"was not true within 0\.1 seconds"):
        app.run_until(lambda: False, seconds=0.1)


class ToFiles(SparkStreamlet):
    """An egress that writes files to a mounted directory."""

    in_ = AvroInlet("in")
    name = StringParameter("Of the folder", optional=True)
    out = VolumeMount(path="/out")

    class Logic(SparkStreamletLogic["ToFiles"]):
        """Writes JSON files."""

        def build_streaming_queries(self) -> Queries:
            """Return one query."""
            me = self.streamlet
            directory = self.mounted_path(me.out) / self.value(me.name, "json")
            return self.query(
                "files", self.read_stream(me.in_).writeStream.format("json").option("path", str(directory))
            )


def test_a_sink_of_the_author_writes_to_the_copy_of_its_mount(kit: Testkit, tmp_path: Path) -> None:
    """Schemas, optional parameters and volume mounts come from the test; the real mount may contain the kit."""
    app = kit.streamlet(ToFiles, schemas={"in": "a int"}, volume_mounts={"out": tmp_path})
    app.inlet("in").put([{"a": 1}])
    app.step()
    texts = [file.read_text() for file in (app.path("out") / "json").glob("*.json")]
    assert "".join(texts) == '{"a":1}\n'
    assert not (tmp_path / "json").exists()
    assert app.sink().take() == [{"a": 1}]


def test_a_preview_is_a_data_frame_with_the_schema_of_the_outlet(spark: Any) -> None:
    """It deletes its files."""
    frame = preview(Strict, {"readings": [reading("a", 0, 1.0)]}, spark=spark)
    assert [row.asDict() for row in frame.collect()] == [{"src": "a"}]
    assert frame.schema.simpleString() == "struct<src:string>"
    with pytest.raises(TestkitError, match="pass the `outlet` to show: the streamlet has high, low"):
        preview(Splitter, spark=spark)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            lambda kit: kit.streamlet(Splitter, parameters={"limt": 1}),
            "there is no parameter `limt`; did you mean `limit`?",
        ),
        (
            lambda kit: kit.streamlet(Splitter, parameters={"limit": "x"}),
            "`limit`: `x` is not a whole number",
        ),
        (lambda kit: kit.streamlet(Splitter, schemas={"left": "a int"}), "there is no port `left`"),
        (lambda kit: kit.streamlet(ToFiles), "the inlet `in` has no schema"),
        (lambda kit: kit.streamlet(Strict).inlet("passed"), "has no inlet `passed`; available: readings"),
        (
            lambda kit: kit.streamlet(Strict).dead_letters,
            'has no dead letters: no port has on_invalid="dead-letters"',
        ),
        (lambda kit: [kit.streamlet(Strict), kit.streamlet(Strict)], "duplicate streamlet name `streamlet-under-test`"),
    ],
)
def test_a_mistake_in_a_test_is_an_error(kit: Testkit, use: Callable[[Testkit], object], message: str) -> None:
    """Names and values are checked as in a blueprint, with suggestions."""
    with pytest.raises(TestkitError) as raised:
        use(kit)
    assert message in str(raised.value)


Body = Callable[[Any], Any]


def misuse_error(kit: Testkit, body: Body) -> StreamletError:
    """Return the error of a logic with a function as its body."""

    class Misused(Strict):
        """Misuses the API."""

        class Logic(SparkStreamletLogic["Misused"]):
            """Calls the function."""

            def build_streaming_queries(self) -> Any:
                """Return the result of the function."""
                return body(self)

    with pytest.raises(StreamletError) as raised:
        kit.streamlet(Misused).step()
    assert raised.value.place is not None and raised.value.place.file == __file__
    return raised.value


class Connected(SparkStreamlet):
    """A sink with a connection of its own."""

    readings = AvroInlet(schema=READING)

    class Logic(SparkStreamletLogic["Connected"]):
        """Its hooks are recorded, and may fail."""

        calls: ClassVar[list[str]] = []
        error: ClassVar[Exception | None] = None

        def on_start(self) -> None:
            """Open it."""
            if self.error is not None:
                raise self.error
            self.connection = self.calls.copy()
            self.calls.append("on_start")

        def on_stop(self, cause: StopCause) -> None:
            """Close it."""
            self.calls.append(f"on_stop {cause}")

        def build_streaming_queries(self) -> Queries:
            """Return one query, which needs the connection."""
            rows = self.read_stream(self.streamlet.readings)
            return self.query("sink", rows.writeStream.foreachBatch(lambda rows, batch: self.connection.clear()))


def test_hooks_frame_the_steps(spark: Any, tmp_path: Path) -> None:
    """The first step calls `on_start`, a restart and the end call `on_stop`; what a hook raises is raised here."""
    calls = Connected.Logic.calls
    calls.clear()
    with Testkit(spark, tmp_path) as kit:
        app = kit.streamlet(Connected)
        assert calls == []
        app.inlet("readings").put([reading("a", 0, 1.0)])
        assert [app.step().rows_in, app.step().rows_in] == [1, 0]
        assert calls == ["on_start"]
        app.restart()
        assert calls == ["on_start", "on_stop stopped"]
        Connected.Logic.error = ConnectionError("refused")
        with pytest.raises(ConnectionError, match="refused"):
            app.step()
        Connected.Logic.error = None
        app.step()
    assert calls[2:] == ["on_start", "on_stop stopped"]


def test_a_query_needs_a_streaming_data_frame(kit: Testkit) -> None:
    """A batch DataFrame is an error."""
    passed = Strict.passed
    error = misuse_error(kit, lambda logic: logic.write_stream(logic.session.range(3), passed))
    assert error.message.startswith("`write_stream` expects a streaming DataFrame")


def test_a_query_cannot_use_a_source_twice(kit: Testkit) -> None:
    """A second source name solves the problem."""

    def union(logic: Any, again: str | None) -> Any:
        first = logic.read_stream(Strict.readings)
        second = logic.read_stream(Strict.readings, name=again) if again else first.where("value > 0")
        return logic.write_stream(first.union(second).select("src"), Strict.passed)

    error = misuse_error(kit, lambda logic: union(logic, None))
    assert error.message == (
        "the DataFrame passed to `write_stream` uses the source `readings` twice, which Spark rejects: "
        'read it a second time under another name, such as `name="readings_again"`'
    )

    class Doubled(Strict):
        """Reads its inlet twice."""

        class Logic(SparkStreamletLogic["Doubled"]):
            """Unites the inlet with itself."""

            def build_streaming_queries(self) -> Any:
                """Return a query with two sources on one topic."""
                return union(self, "again")

    app = kit.streamlet(Doubled, ref="doubled")
    app.inlet("readings").put([reading("a", 0, 1.0)])
    app.step()
    assert sources(app.outlet("passed").take()) == ["a", "a"]


def test_a_query_takes_a_writer(kit: Testkit) -> None:
    """The message explains that `start` must not be called."""
    error = misuse_error(kit, lambda logic: logic.query("mine", logic.read_stream(Strict.readings)))
    assert error.message == (
        "`query` expects a `DataStreamWriter`, found a `DataFrame`: "
        "pass `df.writeStream...` without `.start()`, because the runner starts it"
    )
