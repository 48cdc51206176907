"""The lineage of the kiosk and of other small applications, built once with the Spark of the tests."""

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
def build(spark: SparkSession, directory: Path = KIOSK) -> ApplicationLineage:
    """Return the lineage of an application, which is built once for all tests of a process.

    Arguments:
        spark: the session of the tests.
        directory: the application; default: the kiosk.
    """
    collector = LineageCollector()
    with TemporaryDirectory() as scratch:
        verification = verify(
            source_at(directory / "blueprint.conf"),
            catalog=ProjectCatalog(),
            environment=os.environ,
            working_directory=Path.cwd(),
            logic=LogicChecker(spark, Path(scratch), observe=collector),
        )
    assert verification.plan is not None, verification.diagnostics
    return ApplicationLineage(verification.plan, collector.streamlets)
