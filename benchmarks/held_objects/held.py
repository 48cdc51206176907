"""Streamlets whose module keeps Spark objects: functions, columns, schemas, broadcast variables, tables.

Columns, broadcast variables and tables cannot be created before there is a session, so they are kept on first use.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import pandas as pd
from conversions import thrice  # type: ignore[import-not-found]
from pyspark import Accumulator, Broadcast
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import LongType, StringType, StructField, StructType

from streamlets import AvroInlet, AvroOutlet, Queries, SparkStreamlet, SparkStreamletLogic

NUMBERS = "n bigint not null"
RECORD = StructType([StructField("n", LongType()), StructField("label", StringType())])
NAMES = {0: "zero", 1: "one", 2: "two"}

twice = F.udf(lambda n: 2 * n, LongType())


@F.udf(returnType=RECORD)
def record(n: int) -> tuple[int, str]:
    """Return a struct of a number and its label."""
    return n, str(n)


@pandas_udf(LongType())  # type: ignore[call-overload, untyped-decorator]
def half(n: pd.Series) -> pd.Series:
    """Return half of a number, rounded down."""
    return n // 2


@functools.cache
def even() -> Column:
    """Return a condition that is created once."""
    return F.col("n") % 2 == 0


_broadcasts: dict[str, Broadcast[dict[int, str]]] = {}
_accumulators: dict[str, Accumulator[int]] = {}


def names(session: SparkSession) -> Broadcast[dict[int, str]]:
    """Return a broadcast variable that is created once."""
    if "names" not in _broadcasts:
        _broadcasts["names"] = session.sparkContext.broadcast(NAMES)
    return _broadcasts["names"]


def seen(session: SparkSession) -> Accumulator[int]:
    """Return an accumulator that is created once."""
    if "seen" not in _accumulators:
        _accumulators["seen"] = session.sparkContext.accumulator(0)
    return _accumulators["seen"]


@functools.cache
def lookup(session: SparkSession) -> DataFrame:
    """Return a static table that is created once."""
    return session.createDataFrame(list(NAMES.items()), "key bigint, name string")


class Functions(SparkStreamlet):
    """Functions created at module level, in this module and in another one."""

    numbers = AvroOutlet(schema=NUMBERS)

    class Logic(SparkStreamletLogic["Functions"]):
        def build_streaming_queries(self) -> Queries:
            rows = _numbers(self).select((twice("n") + half("n") + thrice("n")).alias("n"))
            return self.write_stream(_not_null(rows), self.streamlet.numbers)


class Columns(SparkStreamlet):
    """Columns in a cached function and in a class attribute."""

    numbers = AvroOutlet(schema=NUMBERS)
    odd: ClassVar[Column | None] = None

    class Logic(SparkStreamletLogic["Columns"]):
        def build_streaming_queries(self) -> Queries:
            if Columns.odd is None:
                Columns.odd = F.col("n") % 2 == 1
            return self.write_stream(_numbers(self).where(even() | Columns.odd), self.streamlet.numbers)


class Schemas(SparkStreamlet):
    """A schema created at module level, for the result of a function and for parsing."""

    numbers = AvroOutlet(schema=NUMBERS)

    class Logic(SparkStreamletLogic["Schemas"]):
        def build_streaming_queries(self) -> Queries:
            records = _numbers(self).select(F.from_json(F.to_json(record("n")), RECORD).alias("record"))
            return self.write_stream(_not_null(records.select("record.n")), self.streamlet.numbers)


class Shared(SparkStreamlet):
    """A broadcast variable and an accumulator, used by a function."""

    numbers = AvroOutlet(schema=NUMBERS)

    class Logic(SparkStreamletLogic["Shared"]):
        def build_streaming_queries(self) -> Queries:
            kept, count = names(self.session), seen(self.session)

            def length(n: int) -> int:
                count.add(1)
                return len(kept.value[n % 3])

            rows = _numbers(self).select(F.udf(length, LongType())("n").alias("n"))
            return self.write_stream(_not_null(rows), self.streamlet.numbers)


class Frames(SparkStreamlet):
    """A static table."""

    numbers = AvroInlet(schema=NUMBERS)

    class Logic(SparkStreamletLogic["Frames"]):
        def build_streaming_queries(self) -> Queries:
            rows, table = self.read_stream(self.streamlet.numbers), lookup(self.session)
            joined = rows.join(table, rows.n % 3 == table.key)
            return self.query("out", joined.writeStream.format("noop"))


def _numbers(logic: SparkStreamletLogic[Any]) -> DataFrame:
    """Return a stream with five numbers per second."""
    rows = logic.source("ticks", format="rate", options={"rowsPerSecond": 5, "numPartitions": 1})
    return _not_null(rows.select(F.col("value").alias("n")))


def _not_null(rows: DataFrame) -> DataFrame:
    """Return rows whose column is not nullable."""
    return rows.select(F.coalesce("n", F.lit(0)).alias("n"))
