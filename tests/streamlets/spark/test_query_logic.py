"""What determines the state of a query is read from its plan, whatever is between the sources and the state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.datasource import DataSource, DataSourceReader

from blueprint.comparison.state_logic import compare_logic
from blueprint.quantities import Duration
from streamlets.channels.base import METADATA_DDL
from streamlets.channels.kafka.deduplication import Deduplication, deduplicated
from streamlets.spark.plan_queries import described
from streamlets.spark.plan_tree import plan_tree
from streamlets.spark.query_logic import query_logic
from streamlets.spark.session import active, child_session
from streamlets.testkit.session import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

MESSAGES = "key BINARY, value BINARY, topic STRING, partition INT, offset LONG"
INLET = (("k", "v"),)
HOUR = Duration(3_600_000_000_000)
Frame = Callable[["DataFrame"], "DataFrame"]


@pytest.fixture
def session(spark: SparkSession) -> Any:
    """Return a session, which is active."""
    own = child_session(spark, SETTINGS)
    with active(own):
        yield own


@pytest.fixture
def stream(session: SparkSession, tmp_path: Path) -> Callable[..., DataFrame]:
    """Return a function that returns a stream of files."""

    def of(schema: str, name: str = "in", **options: str) -> DataFrame:
        return session.readStream.schema(schema).options(**options).name(name).csv(str(tmp_path))

    return of


@pytest.mark.parametrize("metadata", [False, True])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (lambda rows: rows, lambda rows: rows.where("v > 5")),
        (lambda rows: rows.where("v > 5"), lambda rows: rows.where("v > 50")),
        (lambda rows: rows, lambda rows: rows.withColumn("k", rows.v.cast("string"))),
    ],
)
def test_steps_above_the_records_of_messages_count(session: SparkSession, tmp_path: Path, old: Frame, new: Frame,
                                                   metadata: bool) -> None:  # fmt: skip
    """A filter of records has their columns, too; the decoding of messages below them is not the author's."""
    from pyspark.sql import functions as F

    def logic(step: Frame, decoding: str = "string") -> Any:
        messages = session.readStream.schema(MESSAGES).name("in").parquet(str(tmp_path))
        columns = [F.col("key").cast(decoding).cast("string").alias("k"), F.length("value").alias("v")]
        rows = messages.select(*columns, *([F.struct("offset").alias("_meta")] if metadata else []))
        return query_logic(step(rows).groupBy("k").count(), "update", INLET)

    assert compare_logic(logic(old), logic(new)) != compare_logic(logic(old), logic(old))
    assert logic(old) == logic(old, "binary")


@pytest.mark.parametrize(
    "deduplication",
    [Deduplication(("k",), "at", HOUR), Deduplication((), "at", HOUR), Deduplication((), "", HOUR)],
    ids=["columns", "headers", "headers without a column"],
)
@pytest.mark.parametrize("metadata", [False, True])
def test_a_deduplicating_inlet_is_the_same_over_messages(
    session: SparkSession, tmp_path: Path, deduplication: Deduplication, metadata: bool
) -> None:
    """A run decodes messages below it, and `--plans` reads empty files."""
    from pyspark.sql import functions as F

    def logic(rows: DataFrame) -> Any:
        once = deduplicated(rows, deduplication, metadata=metadata)
        return query_logic(once.groupBy("k").count(), "append", (("k", "at"),))

    schema = f"k STRING, at TIMESTAMP, _meta {METADATA_DDL}"
    messages = session.readStream.schema(f"{MESSAGES}, {schema}").name("in").parquet(str(tmp_path))
    planned = logic(session.readStream.schema(schema).name("in").parquet(str(tmp_path)))
    run = logic(messages.select(F.upper(F.col("value").cast("string")).alias("k"), "at", "_meta"))
    assert [operator.name for operator in run.operators] == ["watermark", "dedupeWithinWatermark", "stateStoreSave"]
    assert run == planned


def test_a_common_table_expression_is_a_part_of_its_query(
    session: SparkSession, stream: Callable[..., DataFrame]
) -> None:
    """Spark has it beside the query; its stateful operators and sources are those of the query nevertheless."""
    stream("k STRING, v INT").createOrReplaceTempView("rows")
    common = session.sql("WITH r AS (SELECT * FROM rows WHERE v > 5) SELECT k, count(*) AS n FROM r GROUP BY k")
    plain = session.sql("SELECT k, count(*) AS n FROM rows WHERE v > 5 GROUP BY k")
    assert query_logic(common, "update") == query_logic(plain, "update")
    above = session.sql("WITH r AS (SELECT * FROM rows WHERE v > 5) SELECT * FROM r").groupBy("k").count()
    assert query_logic(above, "update").operators == query_logic(plain, "update").operators
    query = described(plan_tree(common), "update", named=True)
    assert (query.sources, query.operators) == (("in",), ("stateStoreSave",))


def test_sources_that_are_not_inlets_are_compared(stream: Callable[..., DataFrame]) -> None:
    """Their format, path and options are, without secrets and the size of batches; topics are in the blueprint."""

    def rules(inlets: tuple[str, ...], **options: str) -> list[str]:
        logic = query_logic(stream("k STRING", **options).groupBy("k").count(), "update", inlet_sources=inlets)
        return [rule for rule in logic.rules if rule.startswith("source ")]

    assert rules(("in",), sep=";") == []
    (rule,) = rules((), sep=";", password="x7secret", maxFilesPerTrigger="3")
    assert rule.endswith(" password=(secret) sep=;")
    assert "x7secret" not in rule
    assert rules((), maxFilesPerTrigger="3") == rules(()) != rules((), header="true")


class Letters(DataSource):
    """A table of this test."""

    @classmethod
    def name(cls) -> str:
        return "letters"

    def schema(self) -> str:
        return "k STRING"

    def reader(self, schema: Any) -> DataSourceReader:
        return _LettersReader()


class _LettersReader(DataSourceReader):
    def read(self, partition: Any) -> Any:
        yield ("a",)


def test_tables_of_other_systems_are_compared(session: SparkSession, stream: Callable[..., DataFrame]) -> None:
    """By their options, with passwords and those in addresses hidden."""
    session.dataSource.register(Letters)

    def rules(table: DataFrame) -> str:
        return str(query_logic(stream("k STRING").join(table, "k").groupBy("k").count(), "update").rules)

    def letters(**options: str) -> str:
        return rules(session.read.format("letters").options(password="x7secret", **options).load())

    def database(name: str) -> str:
        url = f"jdbc:derby:memory:{name};create=true;password=x7secret"
        query = "SELECT * FROM (VALUES 'a') AS t(k)"
        return rules(session.read.format("jdbc").option("url", url).option("query", query).load().toDF("k"))

    assert letters(kind="1") == letters(kind="1") != letters(kind="2")
    assert database("one") == database("one") != database("two")
    for text in (letters(), database("one")):
        assert "x7secret" not in text and "{?}" not in text


def test_rows_and_literals_have_no_secrets(session: SparkSession, stream: Callable[..., DataFrame]) -> None:
    """Neither those in a query, nor those in the rows of a table, and numbers are not made of them."""
    stream("k STRING, v INT").createOrReplaceTempView("rows")
    frame = session.sql(
        "SELECT k, count(*) FROM rows JOIN VALUES ('x7secret') AS t(s) ON k = s WHERE v > 7331 + 0 OR k = 'x7secret' "
        "OR from_json(k, 'a INT', map('timeZone', 'x7secret')).a = 1 GROUP BY k"
    )
    text = str(query_logic(frame, "update", mask=lambda text: text.replace("x7secret", "***").replace("7331", "***")))
    assert "x7secret" not in text and "7331" not in text


def test_an_unknown_seed_is_not_a_change(stream: Callable[..., DataFrame]) -> None:
    """Spark draws one each time the logic is built if the author sets none."""

    def logic(*seed: int) -> Any:
        return query_logic(stream("k STRING").sample(0.5, *seed).groupBy("k").count(), "update")

    assert logic() == logic()
    assert len({str(logic(1)), str(logic(2)), str(logic())}) == 3


def test_what_cannot_be_read_is_unknown(stream: Callable[..., DataFrame]) -> None:
    """Rows of Python code are an example: nobody knows whether they have changed."""
    rows = stream("k STRING")
    other = rows.sparkSession.createDataFrame([("a",)], "k STRING")
    logic = query_logic(rows.join(other, "k").groupBy("k").count(), "update")
    assert compare_logic(logic, logic).unknown
