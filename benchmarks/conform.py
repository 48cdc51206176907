"""The cost of `conform`, compared with plain casts: 5 million rows from Parquet, best of three.

python -m benchmarks.conform [ROWS]
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from blueprint.avro import Contract, parse_contract
from streamlets.contract import conformance, spark_schema
from streamlets.testkit import start_session

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
BEST_OF = 3


def _contract(*fields: tuple[str, Any]) -> Contract:
    record = {"type": "record", "name": "Bench", "fields": [{"name": name, "type": kind} for name, kind in fields]}
    return parse_contract(json.dumps(record))


_FLAT = (
    ("id", "long"),
    ("src", "string"),
    ("kind", {"type": "enum", "name": "Kind", "symbols": ["A", "B", "C"]}),
    ("value", "double"),
    ("count", ["null", "long"]),
    ("ts", {"type": "long", "logicalType": "timestamp-micros"}),
)
_PART = {
    "type": "record",
    "name": "Part",
    "fields": [{"name": "x", "type": "double"}, {"name": "y", "type": ["null", "string"]}],
}

_FLAT_ROWS = (
    "cast(id % 1000000 as int) id",
    "concat('sensor-', id % 1000) src",
    "element_at(array('A', 'B', 'C'), cast(id % 3 + 1 as int)) kind",
    "cast(id as float) / 2 value",
    "if(id % 10 = 0, null, cast(id % 100000 as int)) count",
    "timestamp_micros(id) ts",
)
_NESTED_ROWS = (
    "named_struct('x', cast(id as double), 'y', concat('p', id % 7)) part",
    "named_struct('member0', if(id % 2 = 0, id, null), 'member1', if(id % 2 = 1, 'odd', null)) either",
)
_ARRAY_ROWS = ("transform(array(1, 2, 3), i -> named_struct('x', id + cast(i as double), 'y', 'p')) parts",)

CASES: dict[str, tuple[Contract, tuple[str, ...], bool]] = {
    "6 flat fields": (_contract(*_FLAT), _FLAT_ROWS, True),
    "and a record and a union": (
        _contract(*_FLAT, ("part", _PART), ("either", ["long", "string"])),
        (*_FLAT_ROWS, *_NESTED_ROWS),
        True,
    ),
    "and an array of 3 records": (
        _contract(*_FLAT, ("parts", {"type": "array", "items": _PART})),
        (*_FLAT_ROWS, *_ARRAY_ROWS),
        True,
    ),
    "the same, not checked deeply": (
        _contract(*_FLAT, ("parts", {"type": "array", "items": _PART})),
        (*_FLAT_ROWS, *_ARRAY_ROWS),
        False,
    ),
}


def _best(*frames: DataFrame) -> list[float]:
    """Return the best time of each frame, measured in turns, so that other load affects all of them."""
    best = [float("inf")] * len(frames)
    for _ in range(BEST_OF + 1):
        for number, frame in enumerate(frames):
            started = time.perf_counter()
            _run(frame)
            best[number] = min(best[number], time.perf_counter() - started)
    return best


def _run(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


def main() -> None:
    """Measure, and print seconds and ratios."""
    session = start_session("local[2]")
    session.sparkContext.setLogLevel("ERROR")
    directory = Path(tempfile.mkdtemp(prefix="streamlets-conform-"))
    print(f"{ROWS:,} rows, best of {BEST_OF}; seconds for plain casts, for conform, and their ratio")
    for name, (contract, expressions, deep) in CASES.items():
        path = str(directory / f"{len(list(directory.iterdir()))}")
        session.range(ROWS, numPartitions=2).selectExpr(*expressions).write.parquet(path)
        rows = session.read.parquet(path)  # all columns are nullable, as in most sources
        casts = rows.select(*(F.col(f.name).cast(f.dataType.simpleString()) for f in spark_schema(contract).fields))
        conversion = conformance(rows.schema, contract, deep=deep)
        kept = rows.where(conversion.reason.isNull()) if conversion.reason is not None else rows
        plain, conformed = _best(casts, kept.select(*conversion.columns))  # as a channel writes a batch
        checks = "no check" if conversion.reason is None else "checked"
        print(f"  {name:30} {plain:6.2f} {conformed:6.2f}   {conformed / plain:5.2f} ({checks})")
    shutil.rmtree(directory)
    session.stop()


if __name__ == "__main__":
    main()
