"""A thousand records with the values that formats, quoting, calendars and file systems are known to change."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Rows = dict[int, dict[str, Any]]

COUNT = 1000

TEXTS = (
    *('q"q', '"', '""', '","', "a,b", "a;b", "a\tb", "a|b", "\\", 'a\\"b', "a\\", "'", "#x", "x\ny", "x\ry", "x\r\ny"),
    *(
        "\n",
        "\r",
        " lead",
        "trail ",
        " ",
        "\t",
        "",
        "NULL",
        "null",
        "\\N",
        "None",
        "NaN",
        "-",
        "=1+1",
        "a b",
        "ä",
        "日本",
        "😀",
    ),
    *("\u2028", "\x85", "\ufeffx", "\x01", "\x1f", "e\u0301", "{}", "[1]", "0012", "1e5", "true", "2024-01-01", None),
)
PARTS = (
    "a",
    "A b",
    "a/b=c%d",
    "ä日",
    "%2F",
    "{x}[1]*?",
    "_u",
    ".d",
    "x:y",
    "a'b\"",
    "\u2028",
    "1",
    "01",
    "+1",
    " s ",
    None,
)
DATES = ("0001-01-01", "1500-02-28", "1582-10-04", "1582-10-15", "1969-12-31", "2024-02-29", "9999-12-31", None)
TIMES = (
    *("0001-01-02T00:00:00", "1582-10-04T23:59:59.999999", "1850-06-01T12:00:00.000001", "1969-12-31T23:59:58.999999"),
    *(
        "2024-03-31T01:59:59.123456",
        "2024-10-27T00:30:00.000001",
        "2024-10-27T01:30:00.1",
        "9999-12-30T23:59:59.999999",
    ),
    *("2024-02-29T12:30:15", None),
)
RATIOS = (0.1, -0.0, 1e300, 5e-324, math.nan, math.inf, -math.inf, 123456789.125, None)
AMOUNTS = ("0.000000", "0.000001", "-99999999999999.999999", "12345678901234.5", "1", None)

SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "text": pa.string(),
        "part": pa.string(),
        "flag": pa.bool_(),
        "tiny": pa.int8(),
        "number": pa.int32(),
        "big": pa.int64(),
        "single": pa.float32(),
        "ratio": pa.float64(),
        "amount": pa.decimal128(20, 6),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "local": pa.timestamp("us"),
        "raw": pa.binary(),
        "names": pa.list_(pa.string()),
        "place": pa.struct({"x": pa.float64(), "label": pa.string(), "at": pa.timestamp("us", "UTC")}),
        "counts": pa.map_(pa.string(), pa.int64()),
    }
)
NESTED = ("raw", "names", "place", "counts")
"""The columns that sinks without nested or binary columns do not write."""


def record(id: int) -> dict[str, Any]:
    """Return a record; each of its values depends only on its number."""

    def of(values: Sequence[Any]) -> Any:
        return values[id % len(values)]

    time = None if of(TIMES) is None else datetime.datetime.fromisoformat(of(TIMES))
    at = time and time.replace(tzinfo=datetime.UTC)
    text = of(TEXTS)
    return {
        "id": id,
        "text": text,
        "part": of(PARTS),
        "flag": of((True, False, None)),
        "tiny": of((-128, 0, 127, None)),
        "number": of((-(2**31), 0, 2**31 - 1, None)),
        "big": of((-(2**63), 2**53 + 1, 2**63 - 1, None)),
        "single": of((0.5, -1.25, math.nan, None)),
        "ratio": of(RATIOS),
        "amount": None if of(AMOUNTS) is None else Decimal(of(AMOUNTS)),
        "day": None if of(DATES) is None else datetime.date.fromisoformat(of(DATES)),
        "at": at,
        "local": time,
        "raw": of((b"", b"\x00\xff", b"abc", None)),
        "names": of(([], ["a", None, text], None)),
        "place": of(({"x": 0.5, "label": text, "at": at}, None, {"x": None, "label": None, "at": None})),
        "counts": of(({}, {"a": 1, 'k"\n': None}, None)),
    }


RECORDS = {id: record(id) for id in range(COUNT)}
"""The records by number."""


def write_input(path: Path) -> None:
    """Write the records to a Parquet file, without Spark."""
    rows = [{**row, "counts": row["counts"] and list(row["counts"].items())} for row in RECORDS.values()]
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path)


def plain(value: Any) -> Any:
    """Return a value in a form that compares by meaning: NaN equals NaN, and timestamps are in UTC."""
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case datetime.datetime() if value.tzinfo is not None:
            return value.astimezone(datetime.UTC).replace(tzinfo=datetime.UTC)
        case dict():
            return {key: plain(part) for key, part in value.items()}
        case list():
            return [plain(part) for part in value]
        case _:
            return value


NANOSECONDS = (1678, 2261)
"""The years whose instants fit into 64 bits of nanoseconds since 1970, as which pyarrow reads those of ORC files. It
does not convert days of the Julian calendar, either, in which they have those before 1582."""


def _in_nanoseconds(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _in_nanoseconds(part) for name, part in value.items()}
    match value:
        case datetime.datetime() if not NANOSECONDS[0] <= value.year <= NANOSECONDS[1]:
            return None
        case datetime.date() if value.year < NANOSECONDS[0]:
            return None
        case _:
            return value


def expressions(sink: str, columns: Sequence[str]) -> list[str]:
    """Return the columns that are written to a sink of files, as expressions of Spark."""

    def modern(name: str) -> str:
        return f"IF(year({name}) BETWEEN {NANOSECONDS[0]} AND {NANOSECONDS[1]}, {name}, NULL)"

    special = {"text": {"id": "cast(id AS string)"}}
    place = f"IF(place IS NULL, NULL, named_struct('x', place.x, 'label', place.label, 'at', {modern('place.at')}))"
    day = f"IF(year(day) >= {NANOSECONDS[0]}, day, NULL)"
    special["orc"] = {"at": modern("at"), "local": modern("local"), "place": place, "day": day}
    return [f"{special.get(sink, {}).get(name, name)} AS {name}" for name in columns]


def expected(sink: str, columns: Sequence[str]) -> Rows:
    """Return the records with the columns that are written to a sink, by number."""
    kept = _in_nanoseconds if sink == "orc" else lambda value: value
    return {id: {name: plain(kept(row[name])) for name in columns} for id, row in RECORDS.items()}


def same(found: Rows, columns: Sequence[str], sink: str = "") -> None:
    """Check that rows are the records, all of them and each once.

    Arguments:
        found: the rows by number.
        columns: the columns that must be there.
        sink: the sink to which they were written.
    """
    assert len(found) == COUNT
    for id, row in expected(sink, columns).items():
        assert set(found[id]) == set(row)
        differences = {name: (value, found[id][name]) for name, value in row.items() if found[id][name] != value}
        assert not differences, (id, differences)
