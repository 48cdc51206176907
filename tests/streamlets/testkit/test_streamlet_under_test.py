"""A streamlet under test: fed, stepped and read on real topics and checkpoints."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    StreamletError,
    StringParameter,
    VolumeMount,
    triggers,
)
from streamlets.testkit import StepFailedError, Testkit, TestkitError, preview

pytestmark = pytest.mark.spark

READING = "src string not null, ts timestamp not null, value double not null"


class MovingAverage(SparkStreamlet):
    """Mean of each gauge over a window."""

    readings = AvroInlet(schema=READING)
    averages = AvroOutlet(schema="src string, value double")
    window = DurationParameter("Length of the window", default="1 minute")

    class Logic(SparkStreamletLogic["MovingAverage"]):
        """A windowed mean."""

        def build_streaming_queries(self) -> Queries:
            """One query."""
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
    """One query, two outlets, and a row that may break a contract."""

    readings = AvroInlet(schema=READING)
    high = AvroOutlet(schema="src string not null, value double", extra="drop", on_invalid="dead-letters")
    low = AvroOutlet(schema="src string, value double", extra="drop", partition_by=["SRC", "length(src)"])
    limit = IntegerParameter("What is high", default=10)

    class Logic(SparkStreamletLogic["Splitter"]):
        """A split by value."""

        def build_streaming_queries(self) -> Queries:
            """One query; a high reading of `?` loses its source."""
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
    """Passes on; a negative value breaks the outlet's contract, which fails the query."""

    readings = AvroInlet(schema=READING)
    passed = AvroOutlet(schema="src string not null", extra="drop")

    class Logic(SparkStreamletLogic["Strict"]):
        """A pass."""

        def build_streaming_queries(self) -> Queries:
            """One query."""
            rows = self.read_stream(self.streamlet.readings)
            return self.write_stream(rows.selectExpr("IF(value < 0, NULL, src) AS src"), self.streamlet.passed)


class Lenient(Strict):
    """The next version of `Strict`, which mends what the first could not take."""

    class Logic(SparkStreamletLogic["Lenient"]):
        """A mending pass."""

        def build_streaming_queries(self) -> Queries:
            """The same query."""
            rows = self.read_stream(self.streamlet.readings)
            return self.write_stream(rows.selectExpr("IF(value < 0, 'negative', src) AS src"), self.streamlet.passed)


def reading(src: str, minute: int, value: float) -> dict[str, object]:
    """A reading at 12:<minute>."""
    return {"src": src, "ts": datetime.datetime(2024, 1, 1, 12, minute, tzinfo=datetime.UTC), "value": value}


def sources(rows: list[dict[str, Any]]) -> list[str]:
    """The sources of some rows, sorted."""
    return sorted(row["src"] for row in rows)


def test_a_window_comes_out_in_the_step_that_closes_it(kit: Testkit) -> None:
    """An open window is held, also over a restart; the record that moves the watermark past its end brings it out."""
    app = kit.streamlet(MovingAverage, parameters={"window": "1 minute"})
    app.inlet("readings").put([reading("a", 0, 1.0), reading("a", 0, 3.0)])
    first = app.step()
    assert (first.rows_in, first.held, app.outlet("averages").take()) == (2, 1, [])
    app.restart()
    app.inlet("readings").put([reading("a", 5, 7.0)])
    second = app.step()
    assert app.outlet("averages").take() == [{"src": "a", "value": 2.0}]
    assert second.queries["averages"].watermark == "2024-01-01T12:05:00.000Z"
    app.inlet("readings").put([reading("a", 1, 9.0)])
    third = app.step()
    assert (third.rows_in, third.late, app.outlet("averages").take()) == (1, 1, [])
    assert app.outlet("averages").all() == [{"src": "a", "value": 2.0}]


def test_one_query_writes_several_outlets_and_dead_letters(kit: Testkit) -> None:
    """Rows go to their outlets; one that breaks a contract goes to the dead letters with its reason."""
    app = kit.streamlet(Splitter, parameters={"limit": 5})
    app.inlet("readings").put([reading("a", 0, 1.0), reading("b", 0, 7.0), reading("?", 0, 9.0)])
    step = app.step()
    assert list(step.queries) == ["split"]
    assert app.outlet("high").take() == [{"src": "b", "value": 7.0}]
    assert app.outlet("low").take() == [{"src": "a", "value": 1.0}]
    (letter,) = app.dead_letters.take()
    assert letter["port"] == "streamlet-under-test.high" and letter["reason"].startswith("`src`: ")


class Shaky(SparkStreamlet):
    """One outlet that buries what breaks its contract, beside an egress that looks at some rows, twice."""

    readings = AvroInlet(schema=READING)
    high = AvroOutlet(schema="src string not null, value double", extra="drop", on_invalid="dead-letters")

    class Logic(SparkStreamletLogic["Shaky"]):
        """A query for each."""

        def build_streaming_queries(self) -> Queries:
            """Two queries."""
            from pyspark.sql import functions as F

            me = self.streamlet

            def look(batch: Any, _: int) -> None:
                batch.head(1)
                batch.collect()

            rows = self.read_stream(me.readings).withColumn("src", F.when(F.col("src") != "?", F.col("src")))
            return [self.write_stream(rows, me.high), self.query("look", rows.writeStream.foreachBatch(look))]


def test_rows_in_are_those_that_were_read(kit: Testkit) -> None:
    """Not as often as the batch was executed, as for its first broken row, nor only those that somebody looked at."""
    app = kit.streamlet(Shaky)
    for broken in (1, 3, 0):
        app.inlet("readings").put([reading("?" if n < broken else "a", n, 1.0) for n in range(20)])
        assert {name: query.rows_in for name, query in app.step().queries.items()} == {"high": 20, "look": 20}
        assert len(app.dead_letters.take()) == broken


class Files(SparkStreamlet):
    """Rows from files, which may break the contract."""

    readings = AvroOutlet(schema="src string NOT NULL", on_invalid="dead-letters")
    folder = PathParameter("Where the files are", kind="directory")

    class Logic(SparkStreamletLogic["Files"]):
        """One query from a source of Spark's."""

        def build_streaming_queries(self) -> Queries:
            """Rows as they are."""
            options = {"path": str(self.value(self.streamlet.folder))}
            rows = self.source("files", format="json", schema="src string", options=options)
            return self.write_stream(rows, self.streamlet.readings)


def test_rows_of_a_foreign_source_count_once(kit: Testkit, tmp_path: Path) -> None:
    """Spark counts them twice in a batch with its first broken row, which is executed twice."""
    (tmp_path / "rows.json").write_text('{"src": "a"}\n{"src": null}\n{"src": "b"}\n')
    app = kit.streamlet(Files, parameters={"folder": str(tmp_path)}, real=True)
    assert app.step().rows_in == 3
    assert len(app.dead_letters.take()) == 1


def test_a_step_without_news_does_nothing(kit: Testkit) -> None:
    """No rows in, nothing out, no error."""
    app = kit.streamlet(Strict)
    assert (app.step().rows_in, app.outlet("passed").take()) == (0, [])


def test_a_failed_step_loses_nothing_and_a_new_version_carries_on(kit: Testkit) -> None:
    """A row that breaks the contract fails the query before anything is written; a mended version reads it again."""
    app = kit.streamlet(Strict)
    app.inlet("readings").put([reading("a", 0, 1.0)])
    app.step()
    app.inlet("readings").put([reading("b", 0, 1.0), reading("c", 0, -1.0)])
    for _ in range(2):
        with pytest.raises(StepFailedError, match=r"the query `streamlet-under-test\.passed` failed") as caught:
            app.step()
        assert caught.value.__cause__ is not None and "`src`: is null" in caught.value.reason
    assert sources(app.outlet("passed").take()) == ["a"]
    app.restart(Lenient)
    app.step()
    assert sources(app.outlet("passed").take()) == ["b", "negative"]


def test_a_failure_in_the_authors_function_shows_the_authors_line(kit: Testkit) -> None:
    """Not Spark's frames, nor this project's."""

    class Failing(Strict):
        """Fails in a function of its own."""

        class Logic(SparkStreamletLogic["Failing"]):
            """A sink that refuses."""

            def build_streaming_queries(self) -> Queries:
                """One query."""

                def refuse(batch: Any, number: int) -> None:
                    raise LookupError("nobody is at home")

                rows = self.read_stream(self.streamlet.readings)
                return self.query("mine", rows.writeStream.foreachBatch(refuse))

    app = kit.streamlet(Failing)
    app.inlet("readings").put([reading("a", 0, 1.0)])
    with pytest.raises(StepFailedError) as caught:
        app.step()
    assert caught.value.reason == "LookupError: nobody is at home"
    assert [frame.endswith("in refuse") for frame in caught.value.frames] == [True]


def test_a_step_takes_as_many_batches_as_the_limit_asks_for(kit: Testkit) -> None:
    """Five records, two a batch: three batches, all records once."""
    app = kit.streamlet(Strict, max_records={"readings": 2})
    for src in "abcde":
        app.inlet("readings").put([reading(src, 0, 1.0)])
    assert app.step().queries["passed"].batches == 3
    assert sources(app.outlet("passed").take()) == ["a", "b", "c", "d", "e"]


def test_records_of_an_older_writer_are_resolved(kit: Testkit) -> None:
    """What was written with another schema is read with the inlet's: promotion and default, as the runtime does."""
    app = kit.streamlet(Reader)
    app.inlet("in").put([{"a": 7}], schema={"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]})
    app.inlet("in").put([{"a": 2**40, "b": "new"}])
    app.step()
    rows = app.outlet("out").take()
    assert sorted((row["a"], row["b"]) for row in rows) == [(7, "none"), (2**40, "new")]


class Reader(SparkStreamlet):
    """Wants a wider number and a field that older writers do not have."""

    SCHEMA = {  # noqa: RUF012
        "type": "record",
        "name": "R",
        "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string", "default": "none"}],
    }
    in_ = AvroInlet("in", schema=SCHEMA)
    out = AvroOutlet(schema=SCHEMA)

    class Logic(SparkStreamletLogic["Reader"]):
        """A pass."""

        def build_streaming_queries(self) -> Queries:
            """One query."""
            return self.write_stream(self.read_stream(self.streamlet.in_), self.streamlet.out)


class Ticks(SparkStreamlet):
    """An ingress whose records come with time."""

    ticks = AvroOutlet(schema="value long not null")

    class Logic(SparkStreamletLogic["Ticks"]):
        """Spark's rate source."""

        def build_streaming_queries(self) -> Queries:
            """One query, with the author's trigger."""
            rows = self.source("rate", format="rate", options={"rowsPerSecond": 20})
            me = self.streamlet
            return self.write_stream(rows.select("value"), me.ticks, trigger=triggers.processing_time("200ms"))


def test_an_ingress_runs_until_its_records_are_there(kit: Testkit) -> None:
    """Time-driven sources run as in `flow run` until a condition holds, and then stop."""
    app = kit.streamlet(Ticks)
    app.run_until(lambda: len(app.outlet("ticks").all()) >= 5)
    values = [row["value"] for row in app.outlet("ticks").all()]
    assert sorted(values) == list(range(len(values))) and len(values) >= 5
    with pytest.raises(TestkitError, match=r"did not hold within 0\.1 seconds"):
        app.run_until(lambda: False, seconds=0.1)


class ToFiles(SparkStreamlet):
    """An egress into a sink of the author's own, in a mounted folder."""

    in_ = AvroInlet("in")
    name = StringParameter("Of the folder", optional=True)
    out = VolumeMount(path="/out")

    class Logic(SparkStreamletLogic["ToFiles"]):
        """JSON files."""

        def build_streaming_queries(self) -> Queries:
            """One query."""
            me = self.streamlet
            folder = self.mounted_path(me.out) / self.value(me.name, "json")
            return self.query("files", self.read_stream(me.in_).writeStream.format("json").option("path", str(folder)))


def test_an_egress_of_the_authors_own_writes_where_it_is_mounted(kit: Testkit, tmp_path: Path) -> None:
    """Schemas left to the configuration, optional parameters and volume mounts come from the test; its mount is a copy,
    also of a directory that the kit is in."""
    app = kit.streamlet(ToFiles, schemas={"in": "a int"}, volume_mounts={"out": tmp_path})
    app.inlet("in").put([{"a": 1}])
    app.step()
    texts = [file.read_text() for file in (app.path("out") / "json").glob("*.json")]
    assert "".join(texts) == '{"a":1}\n'
    assert not (tmp_path / "json").exists()
    assert app.sink().take() == [{"a": 1}]


def test_a_preview_is_a_frame_of_the_outlets_schema(spark: Any) -> None:
    """For notebooks: records in, a DataFrame out, nothing left behind."""
    frame = preview(Strict, {"readings": [reading("a", 0, 1.0)]}, spark=spark)
    assert [row.asDict() for row in frame.collect()] == [{"src": "a"}]
    assert frame.schema.simpleString() == "struct<src:string>"
    with pytest.raises(TestkitError, match="say which `outlet` to show: there are high, low"):
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
            'has on_invalid="dead-letters", so there are none',
        ),
        (lambda kit: [kit.streamlet(Strict), kit.streamlet(Strict)], "has a streamlet `streamlet-under-test` already"),
    ],
)
def test_a_slip_of_the_tests_is_told(kit: Testkit, use: Callable[[Testkit], object], message: str) -> None:
    """Names and values are checked as in a blueprint, with what is near."""
    with pytest.raises(TestkitError) as caught:
        use(kit)
    assert message in str(caught.value)


Body = Callable[[Any], Any]


def misused(kit: Testkit, body: Body) -> StreamletError:
    """What a logic with this body is told."""

    class Misused(Strict):
        """Misuses the API."""

        class Logic(SparkStreamletLogic["Misused"]):
            """What the test gives."""

            def build_streaming_queries(self) -> Any:
                """The test's."""
                return body(self)

    with pytest.raises(StreamletError) as caught:
        kit.streamlet(Misused).step()
    assert caught.value.place is not None and caught.value.place.file == __file__
    return caught.value


def test_a_frame_that_is_no_stream_is_refused(kit: Testkit) -> None:
    """Batch DataFrames, and things that are no DataFrame."""
    passed = Strict.passed
    error = misused(kit, lambda logic: logic.write_stream(logic.session.range(3), passed))
    assert error.message.startswith("`write_stream` expects a streaming DataFrame")


def test_a_source_used_twice_in_one_query_is_refused(kit: Testkit) -> None:
    """Spark would refuse the checkpoint with its own words; a second name mends it."""

    def union(logic: Any, again: str | None) -> Any:
        one = logic.read_stream(Strict.readings)
        two = logic.read_stream(Strict.readings, name=again) if again else one.where("value > 0")
        return logic.write_stream(one.union(two).select("src"), Strict.passed)

    error = misused(kit, lambda logic: union(logic, None))
    assert error.message == (
        "write_stream got a DataFrame that uses the source `readings` twice, which Spark refuses: "
        'read it a second time under a name of its own, such as `name="readings_again"`'
    )

    class Doubled(Strict):
        """Reads its inlet twice."""

        class Logic(SparkStreamletLogic["Doubled"]):
            """A union with itself."""

            def build_streaming_queries(self) -> Any:
                """Two sources of one topic."""
                return union(self, "again")

    app = kit.streamlet(Doubled, ref="doubled")
    app.inlet("readings").put([reading("a", 0, 1.0)])
    app.step()
    assert sources(app.outlet("passed").take()) == ["a", "a"]


def test_a_started_query_is_no_writer(kit: Testkit) -> None:
    """`query` wants `writeStream` without `start`."""
    error = misused(kit, lambda logic: logic.query("mine", logic.read_stream(Strict.readings)))
    assert (
        error.message == "query takes `df.writeStream...` without `.start()`, not a `DataFrame`: the runner starts it"
    )
