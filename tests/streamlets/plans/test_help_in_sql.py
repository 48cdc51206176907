"""The help of findings in SQL jobs is SQL, and a job that follows it has no finding."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from blueprint.diagnostics import Diagnostic
from blueprint.verification.verify import verify
from streamlets.plans import LogicChecker
from streamlets.project.catalog import ProjectCatalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PYTHON = re.compile(r"\.with|\bF\.|foreachBatch|=\"|self\.|dropDuplicates|DataFrame|create[A-Z]|name=")
STREAMS = "CREATE STREAM ticks FROM rate;\nCREATE STREAM tocks FROM rate;\n"
WINDOW = "window(timestamp, '10 minutes')"
LATE = "WATERMARK timestamp DELAY OF INTERVAL 10 MINUTES"
BOTH = f"ticks {LATE} AS a {{join}} tocks {LATE} AS b ON a.timestamp = b.timestamp AND a.value = b.value"

CASES = {
    "no watermark": (
        ("output-mode", f"SELECT count(*) AS n FROM ticks GROUP BY {WINDOW}", ""),
        (f"SELECT count(*) AS n FROM ticks {LATE} GROUP BY {WINDOW}", ""),
    ),
    "append": (
        ("output-mode", "SELECT max(value) AS most FROM ticks", ""),
        ("SELECT max(value) AS most FROM ticks", "OUTPUT MODE UPDATE"),
    ),
    "keys without a watermark": (
        ("unbounded-state", "SELECT value, count(*) AS n FROM ticks GROUP BY value", "OUTPUT MODE UPDATE"),
        (f"SELECT value, count(*) AS n FROM ticks {LATE} GROUP BY value, {WINDOW}", "OUTPUT MODE UPDATE"),
    ),
    "distinct": (
        ("unsupported-operator", "SELECT count(DISTINCT value) AS n FROM ticks", "OUTPUT MODE COMPLETE"),
        ("SELECT approx_count_distinct(value) AS n FROM ticks", "OUTPUT MODE COMPLETE"),
    ),
    "ranks": (
        (
            "unsupported-operator",
            "SELECT row_number() OVER (PARTITION BY value ORDER BY value) AS n FROM ticks", "",
        ),
        (f"SELECT max(value) AS most FROM ticks {LATE} GROUP BY {WINDOW}", ""),
    ),
    "order": (
        ("unsupported-operator", "SELECT value FROM ticks ORDER BY value", ""),
        ("SELECT value FROM ticks", ""),
    ),
    "inner join": (
        ("unbounded-state", "SELECT a.value FROM ticks AS a JOIN tocks AS b ON a.value = b.value", ""),
        (f"SELECT a.value FROM {BOTH.format(join='JOIN')}", ""),
    ),
    "outer join": (
        ("unsupported-operator", "SELECT a.value FROM ticks AS a LEFT JOIN tocks AS b ON a.value = b.value", ""),
        (f"SELECT a.value FROM {BOTH.format(join='LEFT JOIN')}", ""),
    ),
    "watermark on a number": (
        (
            "watermark-column",
            "SELECT count(*) AS n FROM ticks WATERMARK value DELAY OF INTERVAL 10 MINUTES GROUP BY value",
            "OUTPUT MODE UPDATE",
        ),
        (
            ("SELECT count(*) AS n FROM (SELECT *, timestamp_seconds(value) AS time FROM ticks)"
            " WATERMARK time DELAY OF INTERVAL 10 MINUTES GROUP BY time"),
            "OUTPUT MODE UPDATE",
        ),
    ),
    "a stream twice": (
        ("source-used-twice", "SELECT value FROM ticks UNION ALL SELECT value FROM ticks", ""),
        ("SELECT value FROM ticks UNION ALL SELECT value FROM tocks", ""),
    ),
    "real time": (
        ("real-time-plan", "SELECT value FROM ticks", "OUTPUT MODE UPDATE TRIGGER REAL TIME 5 MINUTES"),
        ("SELECT value FROM ticks", "OUTPUT MODE UPDATE TRIGGER 0 SECONDS"),
    ),
    "ambiguous": (
        ("plan-refused", f"SELECT value FROM {BOTH.format(join='JOIN')}", ""),
        (f"SELECT a.value FROM {BOTH.format(join='JOIN')}", ""),
    ),
}  # fmt: skip
"""The code, the view and the clauses of a wrong job, and the view and the clauses that its help leads to."""


def findings(spark: SparkSession, directory: Path, statements: str) -> tuple[Diagnostic, ...]:
    """Return the findings of a job."""
    (directory / "job.sql").write_text(STREAMS + statements)
    return verify(
        "job.sql", catalog=ProjectCatalog(), environment={}, working_directory=directory,
        logic=LogicChecker(spark, directory / "plans"),
    ).diagnostics  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_help_is_sql_and_helps(case: str, spark: SparkSession, tmp_path: Path) -> None:
    """There is one finding, with help without Python, and none in the job that follows the help."""
    (code, view, clauses), fixed = CASES[case]
    job = "CREATE TEMPORARY VIEW seen AS {};\nSAVE STREAM seen TO console {};\n"
    (found,) = findings(spark, tmp_path, job.format(view, clauses))
    assert found.code == code, found
    assert found.help and not PYTHON.search(" ".join(found.help)), found
    assert [item.headline for item in findings(spark, tmp_path, job.format(*fixed))] == []


def test_a_view_that_is_defined_later(spark: SparkSession, tmp_path: Path) -> None:
    """The help is to define it before; neither it nor the view itself is among the tables that there are."""
    first = "CREATE TEMPORARY VIEW first AS SELECT value FROM {};\n"
    second = "CREATE TEMPORARY VIEW second AS SELECT value FROM ticks;\n"
    save = "SAVE STREAM first TO console;\n"
    (found,) = findings(spark, tmp_path, first.format("second") + second + save)
    assert (found.code, found.help) == ("sql-unknown-name", ("define `second` before this statement",))
    (found,) = findings(spark, tmp_path, first.format("frist") + second + save)
    assert found.help == ("available: `ticks` and `tocks`",)
    assert findings(spark, tmp_path, second + first.format("second") + save) == ()
