"""The lineage of the kiosk, built once with the Spark of the tests."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from blueprint.sql.source import source_at
from blueprint.verification.verify import verify
from streamlets.lineage.application import ApplicationLineage
from streamlets.lineage.collector import LineageCollector
from streamlets.plans import LogicChecker
from streamlets.project.catalog import ProjectCatalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KIOSK = Path(__file__).parent / "kiosk"


@cache
def build(spark: SparkSession) -> ApplicationLineage:
    """Return the lineage of the kiosk, which is built once for all tests of a process.

    Arguments:
        spark: the session of the tests.
    """
    collector = LineageCollector()
    with TemporaryDirectory() as directory:
        verification = verify(
            source_at(KIOSK / "blueprint.conf"),
            catalog=ProjectCatalog(),
            environment=os.environ,
            working_directory=Path.cwd(),
            logic=LogicChecker(spark, Path(directory), observe=collector),
        )
    assert verification.plan is not None, verification.diagnostics
    return ApplicationLineage(verification.plan, collector.streamlets)
