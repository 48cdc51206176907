"""`streamlets.Sink` writes records of a topic to files or to the terminal, by configuration alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from streamlets import Sink, StreamletError
from streamlets.testkit import Testkit, TestkitError

pytestmark = pytest.mark.spark

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Reading",
        "fields": [
            {"name": "src", "type": "string"},
            {"name": "value", "type": ["null", "double"]},
            {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
        ],
    }
)
ROWS: list[dict[str, Any]] = [
    {"src": "a", "value": 1.5, "tags": ["x"]},
    {"src": "b", "value": None, "tags": []},
    {"src": "[b]c[/b]", "value": 3.0, "tags": []},
]


def sink(spark: SparkSession, tmp_path: Path, *, real: Any = False, **parameters: Any) -> Any:
    """Return a sink under test with three records to write."""
    parameters = {key.replace("_", "-"): value for key, value in parameters.items()}
    kit = Testkit(spark, tmp_path / "kit")
    tested = kit.streamlet(Sink, ref="archive", parameters=parameters, schemas={"in": SCHEMA}, real=real)
    tested.inlet("in").put(ROWS)
    return tested


def test_records_become_parquet(spark: SparkSession, tmp_path: Path) -> None:
    """The directory has the records of the topic, partitioned by the configured columns."""
    archive = sink(spark, tmp_path, to="parquet", options={"path": "out"}, partition_by="src")
    out = archive.sink().path
    archive.step()
    archive.inlet("in").put([{"src": "a", "value": 2.0, "tags": []}])
    archive.step()
    table = ds.dataset(out, partitioning="hive").to_table().sort_by([("src", "ascending"), ("value", "ascending")])
    assert table.select(["src", "value", "tags"]).to_pylist() == [
        {"src": "[b]c[/b]", "value": 3.0, "tags": []},
        {"src": "a", "value": 1.5, "tags": ["x"]},
        {"src": "a", "value": 2.0, "tags": []},
        {"src": "b", "value": None, "tags": []},
    ]


def test_records_are_shown(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The terminal shows the first rows of a batch unchanged, and whether there are more."""
    sink(spark, tmp_path, real=True, to="terminal", options={"rows": "2"}).step()
    shown = capsys.readouterr().out
    assert "archive, batch 0, the first 2 rows" in shown
    assert "│ 1.5 │" in shown.replace("│   1.5 │", "│ 1.5 │")
    assert "[b]c" not in shown


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        (
            {"to": "csv", "options": {"path": "x"}},
            "the sink `csv` cannot write the nested or binary column `tags`",
        ),
        (
            {"to": "json", "options": {"path": "x"}, "partition-by": "scr"},
            "`partition-by` has `scr`, which is not a column",
        ),
        ({"to": "json", "options": {"path": "x"}, "partition-by": "src,value, tags"}, "has all columns"),
    ],
)
def test_unsupported_columns_are_reported_before_the_start(
    spark: SparkSession, tmp_path: Path, parameters: dict[str, Any], problem: str
) -> None:
    """Each mistake in the configuration is reported."""
    with pytest.raises(StreamletError) as caught:
        sink(spark, tmp_path, **parameters).step()
    assert problem in caught.value.message


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"to": "parquet", "options": {"pat": "x"}}, "has no option `pat`\n    did you mean `path`?"),
        ({"to": "parquet"}, "requires the option `path`"),
        ({"to": "terminal", "partition-by": "src"}, "does not support `partition-by`"),
    ],
)
def test_the_testkit_rejects_the_same_parameters_as_verification(
    spark: SparkSession, tmp_path: Path, parameters: dict[str, Any], problem: str
) -> None:
    """Parameters that the streamlet rejects are reported before it is created."""
    with pytest.raises(TestkitError, match="`Sink` rejects these parameters") as caught:
        sink(spark, tmp_path, **parameters)
    assert problem in str(caught.value)
