"""Fused streamlets in Spark: what of the logic and of the state forbids it, and what a fused query does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from blueprint.avro import parse_contract
from blueprint.fusion import fusion_of
from blueprint.plan import ApplicationPlan, InletPlan, OutletPlan
from blueprint.verification.verify import verify
from streamlets.channels.base import TopicResource
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.fused import NotFusableError, passed_on
from streamlets.contract.types import arrow_schema
from streamlets.project.catalog import ProjectCatalog
from streamlets.runner.checkpoints.checkpoint import read_checkpoint
from streamlets.runner.checkpoints.fused_queries import FusedQuery, fused_query
from streamlets.runner.events.fusion_events import StreamletsFused, TopicsNotFused
from streamlets.runner.events.status import UnitId
from streamlets.runner.supervision.facts import Fact, Seen
from streamlets.runner.units.fused_chain import FusedChain, HeadSite
from streamlets.runner.units.site import SiteContext
from streamlets.spark.failure import failure_of_text
from streamlets.spark.listener import QueryListener
from streamlets.spark.session import child_session
from tests.streamlets.channels.topics import append

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MODULE = """
from pyspark.sql import functions as F
from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, SparkStreamletLogic, triggers

ROW = "n bigint not null, name string"

class Source(SparkStreamlet):
    out = AvroOutlet(schema=ROW)
    class Logic(SparkStreamletLogic):
        def rows(self):
            path = str(self.context.directory / "in")
            return self.source("files", format="json", schema="n bigint, name string", options={"path": path})
        def build_streaming_queries(self):
            return self.write_stream(self.rows(), self.streamlet.out)

class Letters(Source):
    out = AvroOutlet(schema=ROW, on_invalid="dead-letters")

class Hooked(Source):
    class Logic(Source.Logic):
        def on_start(self): ...

class Split(Source):
    class Logic(Source.Logic):
        def build_streaming_queries(self):
            return self.write_streams(self.rows(), {self.streamlet.out: lambda rows: rows.where("n > 0")})

class Setting(Source):
    class Logic(Source.Logic):
        def build_streaming_queries(self):
            self.session.conf.set("spark.sql.ansi.enabled", "false")
            return super().build_streaming_queries()

class Now(Source):
    class Logic(Source.Logic):
        def build_streaming_queries(self):
            return self.write_stream(self.rows(), self.streamlet.out, trigger=triggers.available_now())

class Pair(Source):
    class Logic(Source.Logic):
        def rows(self):
            path = str(self.context.directory / "in")
            more = self.source("more", format="json", schema="n bigint, name string", options={"path": path})
            return super().rows().union(more)

class Step(SparkStreamlet):
    incoming = AvroInlet("in", schema="n bigint not null")
    out = AvroOutlet(schema="n bigint not null, twice bigint not null")
    class Logic(SparkStreamletLogic):
        def rows(self):
            return self.read_stream(self.streamlet.incoming)
        def build_streaming_queries(self):
            rows = self.rows().where("n % 2 = 0").select("n", (F.col("n") * 2).alias("twice"))
            return self.write_stream(rows, self.streamlet.out, name="steps")

class Counting(Step):
    class Logic(Step.Logic):
        def rows(self):
            return self.read_stream(self.streamlet.incoming).dropDuplicates(["n"])

class Marked(Step):
    class Logic(Step.Logic):
        def rows(self):
            return self.read_stream(self.streamlet.incoming, metadata=True)

class Twice(Step):
    class Logic(Step.Logic):
        def rows(self):
            again = self.read_stream(self.streamlet.incoming, name="again")
            return self.read_stream(self.streamlet.incoming).union(again)

class Static(Step):
    class Logic(Step.Logic):
        def rows(self):
            return self.read_stream(self.streamlet.incoming).join(self.session.range(100).toDF("n"), "n")

class Own(Step):
    class Logic(Step.Logic):
        def build_streaming_queries(self):
            return self.query("own", self.rows().writeStream.foreachBatch(lambda rows, batch: None))

class More(Step):
    class Logic(Step.Logic):
        def build_streaming_queries(self):
            rows = self.rows().select("n", F.col("n").alias("twice"))
            return [self.write_stream(rows, self.streamlet.out), self.query("own", rows.writeStream.format("noop"))]

class Update(Step):
    class Logic(Step.Logic):
        def build_streaming_queries(self):
            rows = self.rows().select("n", F.col("n").alias("twice"))
            return self.write_stream(rows, self.streamlet.out, output_mode="update")

class Slow(Step):
    class Logic(Step.Logic):
        def build_streaming_queries(self):
            rows = self.rows().select("n", F.col("n").alias("twice"))
            return self.write_stream(rows, self.streamlet.out, trigger=triggers.processing_time("1 minute"))

class Ending(Step):
    class Logic(Step.Logic):
        def on_stop(self, cause): ...

class Broken(Step):
    class Logic(Step.Logic):
        def rows(self):
            raise ValueError("a mistake")

class Explode(Step):
    class Logic(Step.Logic):
        def rows(self):
            unique = F.udf(lambda n: n + 0, "bigint")
            rows = self.read_stream(self.streamlet.incoming).select(F.explode(F.array("n", "n")).alias("n"))
            return rows.select(unique("n").alias("n")).repartition(2)
"""
BLUEPRINT = """
blueprint {{
  streamlets {{ source = chained.{source}, step = chained.{step} }}
  topics {{
    raw  {{ producers = [source.out], consumers = [step.in], durable = false }}
    done {{ producers = [step.out] }}
  }}
}}
flow.application = chained
"""


class Chained:
    """A source and a step in a directory, on a Spark of the tests."""

    def __init__(self, spark: SparkSession, directory: Path, source: str = "Source", step: str = "Step") -> None:
        self.directory, self.spark, self.facts = directory, spark, list[Fact]()
        (directory / "in").mkdir(exist_ok=True)
        (directory / "chained.py").write_text(MODULE)
        (directory / "blueprint.conf").write_text(BLUEPRINT.format(source=source, step=step))
        self.plan = self._planned()
        self.channel = DeltaChannel(directory / "topics")
        self.topics: dict[str, TopicResource] = {topic.id: self.channel.topic(topic) for topic in self.plan.topics}
        for topic in self.topics.values():
            topic.create(())
        self.checkpoints = directory / "checkpoints"

    def _planned(self) -> ApplicationPlan:
        verification = verify(
            "blueprint.conf", catalog=ProjectCatalog(), environment={}, working_directory=self.directory
        )
        assert verification.plan is not None, verification.diagnostics
        return verification.plan

    def head(self) -> HeadSite:
        """Return the site of the source, as for a new run."""
        spark = SimpleNamespace(child=lambda settings: child_session(self.spark, settings))
        keeper: Any = SimpleNamespace(spark=lambda: spark, alive=True, failure=lambda: None)
        context = SiteContext(
            application="chained", directory=str(self.directory), spark=keeper, topics=self.topics,
            channels={"delta": self.channel}, checkpoints=self.checkpoints, listener=QueryListener(), bounded=True,
            report=self.facts.append,
        )  # fmt: skip
        (topics,) = fusion_of(self.plan).chains
        streamlets = {streamlet.ref: streamlet for streamlet in self.plan.streamlets}
        return HeadSite(streamlets["source"], context, FusedChain(topics, streamlets, context))

    def decided(self) -> str:
        """Return why the topic is not fused; "" if it is."""
        self.facts.clear()
        head = self.head()
        fused = head.chain.query(head)
        events = [fact.event for fact in self.facts if isinstance(fact, Seen)]
        why = [event.why for event in events if isinstance(event, TopicsNotFused)]
        assert bool(fused.queries) == any(isinstance(event, StreamletsFused) for event in events)
        assert bool(fused.queries) != bool(why)
        return "".join(why)

    def feed(self, name: str, *rows: Mapping[str, object]) -> None:
        """Add a file."""
        (self.directory / "in" / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(self) -> str | None:
        """Run the source to the end of its files; return the failure of its query."""
        head = self.head()
        (write,) = head.build(UnitId("source"))
        query = head.start(write)  # type: ignore[arg-type]
        try:
            query.awaitTermination()
        except Exception as error:  # noqa: BLE001 - the failure is the result
            return str(error)
        return None

    def records(self, topic: str) -> list[dict[str, Any]]:
        """Return the records of a topic."""
        return [row for batch in self.topics[topic].scan() for row in batch.to_pylist()]


@pytest.mark.parametrize(("source", "step", "reason"), [
    ("Letters", "Step", "rows of `source.out` may break its contract, and go to the dead letters then"),
    ("Hooked", "Step", "`source` has `on_start`"),
    ("Split", "Step", "`source` computes its records from batches"),
    ("Setting", "Step", "sets spark.sql.ansi.enabled of its session"),
    ("Now", "Step", "`available-now` or `real-time`"),
    ("Pair", "Step", "Union"),
    ("Source", "Counting", "Deduplicate"),
    ("Source", "Marked", "`step` reads the metadata of records"),
    ("Source", "Twice", "`step` reads its inlet more than once"),
    ("Source", "Static", "Join"),
    ("Source", "Own", "`step` writes to a sink of its own"),
    ("Source", "More", "`step` has 2 queries, not one"),
    ("Source", "Update", "the output mode `update`"),
    ("Source", "Slow", "`step` has another trigger than `source`"),
    ("Source", "Ending", "`step` has `on_stop`"),
    ("Source", "Broken", "ValueError: a mistake"),
    ("Source", "Step", ""),
    ("Source", "Explode", ""),
])  # fmt: skip
def test_logic_that_is_not_from_row_to_row_is_not_fused(
    spark: SparkSession, tmp_path: Path, source: str, step: str, reason: str
) -> None:
    """Whatever is not known to depend on single rows has a topic, and the reason is reported."""
    why = Chained(spark, tmp_path, source, step).decided()
    assert reason in why
    assert bool(reason) == bool(why)


def test_a_fused_query_writes_the_records_of_its_last_streamlet(spark: SparkSession, tmp_path: Path) -> None:
    """The topic between stays empty, and its records are counted. A row that breaks its contract fails the query as it
    would fail the source alone, although the step would drop it, and nothing of its batch is published."""
    chained = Chained(spark, tmp_path)
    chained.feed("a", *({"n": n} for n in range(4)))
    assert chained.run() is None
    assert chained.records("raw") == []
    assert sorted(row["twice"] for row in chained.records("done")) == [0, 4]
    checkpoint = chained.checkpoints / "source" / "out"
    assert fused_query(checkpoint) == FusedQuery(("step.steps",), ("raw",))
    assert not (chained.checkpoints / "step").exists()
    chained.feed("b", {"n": 8}, {"n": None, "name": "the broken one"})
    text = chained.run()
    assert text is not None
    failure = failure_of_text(text, building=False)
    assert failure.fatal.startswith("the same batch is replayed with the same rows")
    assert "a row breaks the contract" in failure.cause
    assert "`source.out`: `n`: is null" in failure.cause
    assert "the broken one" in failure.cause
    assert len(chained.records("done")) == 2


def test_records_of_the_topic_are_read_before_it_is_fused(spark: SparkSession, tmp_path: Path) -> None:
    """Also records that somebody appended after that, such as a replay of dead letters."""
    chained = Chained(spark, tmp_path)
    contract = parse_contract(json.dumps({"type": "record", "name": "Row", "fields": [
        {"name": "n", "type": "long"}, {"name": "name", "type": ["null", "string"]}]}))  # fmt: skip
    rows = pa.RecordBatch.from_pylist([{"n": 1, "name": None}], schema=arrow_schema(contract))
    append(chained.topics["raw"], [rows], contract, 0)
    assert chained.decided() == (
        "`step.steps` has not read 1 records of the topic `raw` yet; the start after that fuses them"
    )


def test_a_batch_is_finished_as_it_was_begun(spark: SparkSession, tmp_path: Path) -> None:
    """The fused query does not finish a batch of the source alone, nor the reverse if it may have been written."""
    chained = Chained(spark, tmp_path)
    chained.feed("a", {"n": 2})
    assert chained.run() is None
    checkpoint = chained.checkpoints / "source" / "out"
    (checkpoint / "commits" / "0").unlink()
    (checkpoint / "commits" / ".0.crc").unlink(missing_ok=True)
    assert read_checkpoint(checkpoint).planned is not None
    assert chained.decided() == ""
    record = checkpoint / "fused.json"
    text = record.read_text()
    record.unlink()
    assert chained.decided() == "its last batch is not finished yet; the start after that fuses them"
    record.write_text(text)
    (chained.directory / "blueprint.conf").write_text(BLUEPRINT.format(source="Source", step="Ending"))
    chained.plan = chained._planned()
    text = ""
    try:
        chained.run()
    except Exception as error:  # noqa: BLE001 - the failure is the result
        text = str(error)
    assert text.startswith("the batch 0 of `source.out` is not finished, and was begun with step.steps fused into it")
    (checkpoint / "commits" / "0").write_text('v1\n{"nextBatchWatermarkMs":0}')
    chained.feed("b", {"n": 3})
    assert chained.run() is None
    assert [row["n"] for row in chained.records("raw")] == [3]
    assert not record.exists()


def test_rows_of_an_outlet_with_dead_letters_pass_if_their_types_prove_the_contract(spark: SparkSession) -> None:
    """The columns that the inlet does not have are omitted."""
    contract = parse_contract(json.dumps({"type": "record", "name": "Row", "fields": [
        {"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}]}))  # fmt: skip
    narrow = parse_contract(json.dumps({"type": "record", "name": "Row", "fields": [{"name": "id", "type": "long"}]}))
    outlet = OutletPlan("a", "out", None, contract, "raw", on_invalid="dead-letters")
    inlet = InletPlan("b", "in", None, narrow, "raw")
    rows = spark.readStream.format("rate").name("rate").load().selectExpr("1L AS id", "'x' AS name")
    assert passed_on(rows, outlet, inlet).columns == ["id"]
    nullable = spark.readStream.format("rate").name("rate").load().selectExpr("value AS id", "'x' AS name")
    with pytest.raises(NotFusableError, match="may break its contract"):
        passed_on(nullable, outlet, inlet)
