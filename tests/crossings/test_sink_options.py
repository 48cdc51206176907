"""Each option of each sink of files, with each format and partitioning: 1,000 records that other tools read back.

The options, their values and the sinks are those of the registry. An option without values here fails a test.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from blueprint.catalog import ParameterType, SinkOption
from streamlets.egress import SINKS
from streamlets.egress.files.type import FORMATS
from tests.crossings import sink_readers
from tests.crossings.combinations import together
from tests.crossings.sink_rows import COUNT, NESTED, SCHEMA, expressions, same, write_input
from tests.crossings.sink_writes import Written

VALUES: Mapping[str, Sequence[Any]] = {
    "path": ("out", "odd [x]{1}*? é%20/out", "a:b#c"),
    "compact": ("0 seconds",),
    "max-records-per-file": (1000, 170, 7),
    "separator": (",", ";", "\t", "|", "\x01"),
    "null-value": ("n/a", "\\N!"),
    "date-format": ("dd.MM.yyyy",),
    "timestamp-format": ("yyyy-MM-dd HH:mm:ss.SSSSSS XX",),
    "timestamp-ntz-format": ("yyyy-MM-dd HH:mm:ss.SSSSSS",),
}
"""Values of the options that have neither choices nor two values."""

OFFSET = timedelta(hours=5, minutes=45)
ZONE = "spark.timeZone"

PASSED_ON: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "csv": {
        "spark.escape": ("\\",),
        "spark.quoteAll": (True,),
        "spark.lineSep": ("\r\n",),
        "spark.emptyValue": ('""',),
        ZONE: ("+05:45",),
    },
    "json": {"spark.pretty": (False,), ZONE: ("+05:45",), "spark.lineSep": ("\n",)},
    "parquet": {"spark.parquet.block.size": (1024 * 64,), "spark.parquet.enable.dictionary": (False,)},
    "orc": {"spark.orc.stripe.size": (1024 * 64,), "spark.orc.bloom.filter.columns": ("id",)},
    "text": {"spark.lineSep": ("\n",)},
}
"""Options of Spark's writers."""

PARTITIONS: tuple[tuple[str, ...], ...] = ((), ("part",), ("flag", "day"), ("at",))
"""Partition columns."""

UNREADABLE = {"spark.escape", "spark.quoteAll", "spark.lineSep"}
"""Options of Spark for csv whose output is not RFC 4180; only the number of records is compared."""


@dataclass(frozen=True)
class Case:
    """A sink with options, and a partitioning."""

    sink: str
    options: Mapping[str, Any]
    partition_by: tuple[str, ...]

    def __str__(self) -> str:
        return "-".join((self.sink, ascii(self.options), *self.partition_by))


def values_of(option: SinkOption) -> Sequence[Any]:
    """Return the values of an option that are tested."""
    if option.choices:
        return option.choices
    return (True, False) if option.type is ParameterType.BOOLEAN else VALUES[option.name]


def options_of(sink: str) -> Iterator[tuple[str, Any]]:
    """Yield each option of a sink with each of its values."""
    for option in FORMATS[sink].options:
        yield from ((option.name, value) for value in values_of(option))
    yield from ((name, value) for name, values in PASSED_ON[sink].items() for value in values)


def is_compared(option: str) -> bool:
    """Return whether other tools read the values that are written with an option as they were."""
    return option not in UNREADABLE and not option.endswith("-format")


def all_cases(sink: str) -> list[Case]:
    """Return each value of each option of a sink with each partitioning."""
    return [Case(sink, {option: value}, some) for option, value in options_of(sink) for some in PARTITIONS]


def few_cases(sink: str) -> list[Case]:
    """Return a case for each value of each option of a sink. Options that other tools do not read meet each other only,
    and `compact` none. The partitionings take turns, but for files that are merged: those of many directories would
    take long."""
    groups: dict[object, list[Mapping[str, Any]]] = {}
    for option, value in options_of(sink):
        group = "compact" if option == "compact" else is_compared(option)
        groups.setdefault(group, []).append({option: value})
    found = [options for group in groups.values() for options in together(group)]
    return [
        Case(sink, options, () if "compact" in options else PARTITIONS[number % len(PARTITIONS)])
        for number, options in enumerate(found)
    ]


@pytest.fixture(scope="module")
def rows(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Return the records, in two tasks."""
    path = tmp_path_factory.mktemp("rows") / "records.parquet"
    write_input(path)
    return spark.newSession().read.parquet(str(path)).repartition(2, "id").cache()


def columns(sink: str, partition_by: Sequence[str]) -> list[str]:
    """Return the columns that a sink can write, in their order."""
    if sink == "text":
        return ["id", *partition_by]
    return [name for name in SCHEMA.names if FORMATS[sink].nested or name not in NESTED]


def check(case: Case, root: Path, written: Sequence[str]) -> None:
    """Compare what was written with the records."""
    reader = sink_readers.READERS[case.sink]
    if not all(map(is_compared, case.options)):
        if case.sink == "csv" and not UNREADABLE & set(case.options):
            assert len(sink_readers.python_csv(root)) >= COUNT
        return
    settings: dict[str, Any] = {}
    if case.sink == "csv":
        known = {"header": "header", "separator": "separator", "null-value": "null"}
        settings = {"header": True} | {known[name]: value for name, value in case.options.items() if name in known}
    found = reader(root, written, **settings)
    if ZONE in case.options and "at" in case.partition_by:  # names of directories have no offset
        found = {id: row | {"at": row["at"] and row["at"] - OFFSET} for id, row in found.items()}
    same(found, written, case.sink)


def run(case: Case, rows: DataFrame, root: Path) -> None:
    """Write the records as several batches if files are merged, and else as one."""
    options = {"path": "out", **case.options}
    written = columns(case.sink, case.partition_by)
    frame = rows.selectExpr(*expressions(case.sink, written))
    sink = Written(case.sink, root, options, case.partition_by)
    if "compact" in case.options:
        for batch in range(4):
            sink.write(frame.where(f"pmod(id, 4) = {batch}"), batch)
    else:
        sink.write(frame)
    assert sum(sink.batches) == COUNT
    check(case, root / str(options["path"]), written)


@pytest.mark.spark
@pytest.mark.parametrize("sink", FORMATS)
def test_each_option_with_a_partitioning(rows: DataFrame, tmp_path: Path, sink: str) -> None:
    """Each value of each option meets values of others, and one partitioning."""
    cases = few_cases(sink)
    assert all(any(case.options.get(option) == value for case in cases) for option, value in options_of(sink))
    _run_all(cases, rows, tmp_path)


@pytest.mark.spark
@pytest.mark.full
@pytest.mark.parametrize("sink", FORMATS)
def test_each_option_with_each_partitioning(rows: DataFrame, tmp_path: Path, sink: str) -> None:
    """All combinations."""
    _run_all(all_cases(sink), rows, tmp_path)


def _run_all(cases: Sequence[Case], rows: DataFrame, tmp_path: Path) -> None:
    failures = {}
    for number, case in enumerate(cases):
        (root := tmp_path / str(number)).mkdir()
        try:
            run(case, rows, root)
        except Exception as error:  # noqa: BLE001 - all failures are shown
            failures[str(case)] = f"{type(error).__name__}: {str(error)[:600]}"
    assert not failures, "\n".join(f"{case}: {error}" for case, error in failures.items())


def test_every_option_has_values() -> None:
    """A new option of a sink of files is tested the day it is added."""
    options = itertools.chain.from_iterable(traits.options for traits in FORMATS.values())
    assert all(values_of(option) for option in options)
    assert set(PASSED_ON) == set(FORMATS) == {name for name in SINKS if name in FORMATS}
