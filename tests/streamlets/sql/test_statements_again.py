"""Every statement that a job may have, executed again in the same session, as at a restart of its streamlet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from blueprint.sql.spark_statements import CREATED, SESSION
from blueprint.verification.verify import verify
from streamlets.plans import LogicChecker
from streamlets.project.catalog import ProjectCatalog
from streamlets.sql import Sql
from streamlets.testkit import Testkit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STATEMENTS = {
    "ADD": ("ADD FILE '{directory}/added.txt'",),
    "CREATE FUNCTION": (
        "CREATE TEMPORARY FUNCTION twice (n BIGINT) RETURNS BIGINT RETURN n * 2",
        "CREATE OR REPLACE TEMPORARY FUNCTION thrice (n BIGINT) RETURNS BIGINT RETURN n * 3",
    ),
    "CREATE VIEW": (
        "CREATE TEMPORARY VIEW other AS SELECT id FROM numbers",
        "CREATE OR REPLACE TEMP VIEW again AS SELECT id FROM numbers",
    ),
    "DECLARE": (
        "DECLARE VARIABLE most INT DEFAULT 3",
        "DECLARE less INT = 1",
        "DECLARE OR REPLACE VARIABLE some STRING",
        "DECLARE VARIABLE `odd one` DATE DEFAULT current_date()",
    ),
    "RESET": ("RESET spark.sql.shuffle.partitions",),
    "SET": (
        "SET spark.sql.ansi.enabled = false",
        "SET TIME ZONE 'Europe/Oslo'",
        "DECLARE VARIABLE n INT DEFAULT 0; SET VAR n = n + 1",
        "DECLARE VARIABLE m INT DEFAULT 0; SET VARIABLE m = 7",
    ),
    "USE": ("USE DATABASE default", "USE spark_catalog", "USE SCHEMA default"),
}
"""Statements by the row of the table that allows them. Several are separated by `;`."""

STATEMENTS_ALONE = tuple(statement for statements in STATEMENTS.values() for statement in statements)
TOGETHER = "; ".join(STATEMENTS_ALONE)
EACH = pytest.mark.parametrize(
    "statements",
    [
        pytest.param(TOGETHER, id="all of them"),
        *(pytest.param(statement, id=statement, marks=pytest.mark.full) for statement in STATEMENTS_ALONE),
    ],
)


def test_every_allowed_statement_has_a_case() -> None:
    """A row that is added to the tables needs statements here."""
    assert set(STATEMENTS) == {*SESSION, *(f"CREATE {noun}" for noun in CREATED)}


@EACH
def test_statements_can_be_executed_again(statements: str, spark: SparkSession, tmp_path: Path) -> None:
    """`--plans` builds the logic twice in one session, as the runner does at a restart, and finds nothing."""
    (tmp_path / "added.txt").write_text("text")
    (tmp_path / "numbers").mkdir()
    job = tmp_path / "job.sql"
    job.write_text(
        "CREATE STREAM numbers (id BIGINT) FROM json OPTIONS ('path' = 'numbers');\n"
        f"{statements.format(directory=tmp_path)};\n"
        "SAVE STREAM numbers TO json OPTIONS ('path' = 'out');\n"
    )
    verification = verify(
        "job.sql", catalog=ProjectCatalog(), environment={}, working_directory=tmp_path,
        logic=LogicChecker(spark, tmp_path / "plans"),
    )  # fmt: skip
    assert [item.headline for item in verification.diagnostics] == []


@EACH
def test_the_testkit_executes_them_again(statements: str, kit: Testkit, tmp_path: Path) -> None:
    """The step after a failed one builds the logic again in the same session, and continues."""
    (tmp_path / "added.txt").write_text("text")
    job = f"{statements.format(directory=tmp_path)}; SAVE STREAM numbers TO copied;"
    schema = {"numbers": "id bigint not null"}, {"copied": "id bigint not null"}
    app = kit.streamlet(Sql, inlets=schema[0], outlets=schema[1], parameters={"statements": job})
    for number in range(2):
        app.inlet("numbers").put([{"id": number}])
        app.run_until(lambda: bool(app.outlet("copied").all()))  # builds the logic each time
    app.step()
    assert sorted(row["id"] for row in app.outlet("copied").all()) == [0, 1]


def test_a_setting_after_a_view_does_not_change_it_at_a_restart(kit: Testkit) -> None:
    """The session is as before the first statement, so the rows of a view are the same before and after a restart."""
    job = """
        CREATE TEMPORARY VIEW hours AS SELECT id, cast(hour(timestamp_seconds(id)) AS bigint) AS at FROM numbers;
        SET spark.sql.session.timeZone = Asia/Tokyo;
        CREATE TEMPORARY VIEW zones AS SELECT id, at, current_timezone() AS zone FROM hours;
        SAVE STREAM zones TO read;
    """
    app = kit.streamlet(
        Sql, inlets={"numbers": "id bigint"}, outlets={"read": "id bigint, at bigint, zone string"},
        parameters={"statements": job},
    )  # fmt: skip
    zones = []
    for number in range(2):
        app.inlet("numbers").put([{"id": 0}])
        app.run_until(lambda expected=number + 1: len(app.outlet("read").all()) == expected)  # type: ignore[misc]
        zones.append(app.context.session.conf.get("spark.sql.session.timeZone"))
    first, second = app.outlet("read").all()
    assert first == second and zones == ["Asia/Tokyo"] * 2
