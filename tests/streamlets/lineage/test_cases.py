"""The lineage of logics with known answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamlets.api.building import SOURCE_EVOLUTION
from tests.streamlets.lineage.cases import CASES, SQL, Case
from tests.streamlets.lineage.checks import Checker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def checker(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Checker:
    """A checker with a session of its own, in whose catalog the cases have views."""
    session = spark.newSession()
    session.conf.set(SOURCE_EVOLUTION, "false")  # its sources have no names
    return Checker(session, tmp_path_factory.mktemp("lineage"))


def test_there_are_enough_cases() -> None:
    """There are 60 cases or more, 20 of them SQL, each with a name of its own."""
    assert len(CASES) >= 60 and len(SQL) >= 20
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_lineage(checker: Checker, case: Case) -> None:
    """Each column and the rows of a logic come from the known columns, and nothing is unknown."""
    assert checker.differences(case) == []
