"""Where the queries of a job keep their checkpoints, as a run starts them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from blueprint.core_settings import StreamletSettings
from blueprint.plan import StreamletPlan
from streamlets.api.errors import StreamletError
from streamlets.runner.checkpoints.checkpoint import checkpoints_in
from streamlets.runner.events.status import UnitId
from streamlets.runner.units.site import Site, SiteContext
from streamlets.spark.listener import QueryListener
from streamlets.spark.session import Spark

JOB = """
CREATE STREAM numbers (a INT) FROM json OPTIONS ('path' = 'in');
SAVE STREAM numbers TO json IDENTIFIED BY explicit OPTIONS ('path' = 'out/explicit', 'checkpointLocation' = 'wal');
SAVE STREAM numbers TO json IDENTIFIED BY by_rule OPTIONS ('path' = 'out/by_rule');
"""


def run(spark: SparkSession, project: Path, application: str = "job_id") -> None:
    """Run the job until it has processed all data."""
    values = {"statements": JOB, "file": "job.sql", "variables": {}}
    settings = StreamletSettings(spark={"spark.sql.streaming.checkpointLocation": str(project / "base")})
    descriptor: Any = None
    plan = StreamletPlan(
        ref="job",
        class_name="streamlets.Sql",
        descriptor=descriptor,
        parameters=values,
        settings=settings,
        directory=str(project),
    )
    process: subprocess.Popen[bytes] = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    running = Spark(spark, process)
    keeper: Any = SimpleNamespace(spark=lambda: running, alive=True, failure=lambda: None)
    context = SiteContext(
        application=application, directory=str(project), spark=keeper, topics={}, channels={},
        checkpoints=project / ".flow" / application / "checkpoints", listener=QueryListener(), bounded=True,
        report=lambda fact: None,
    )  # fmt: skip
    site = Site(plan, context)
    for query in [site.start(write) for write in site.build(UnitId("job"))]:  # type: ignore[arg-type]
        query.awaitTermination()


def written(project: Path, query: str) -> list[int]:
    """Return the numbers in the files of a query."""
    files = (project / "out" / query).glob("*.json")
    return sorted(json.loads(line)["a"] for file in files for line in file.read_text().splitlines())


@pytest.mark.spark
def test_checkpoints_are_where_the_option_and_the_setting_put_them(spark: SparkSession, tmp_path: Path) -> None:
    """A second run continues from them; another application that names one of them is refused before it reads."""
    (tmp_path / "in").mkdir()
    for number in (1, 2):
        (tmp_path / "in" / f"{number}.json").write_text(json.dumps({"a": number}))
        run(spark, tmp_path)
        assert written(tmp_path, "explicit") == written(tmp_path, "by_rule") == list(range(1, number + 1))
    found = {
        checkpoint.name: checkpoint.directory for checkpoint in checkpoints_in(tmp_path / ".flow/job_id/checkpoints")
    }
    assert {name: directory.resolve() for name, directory in found.items()} == {
        "job.explicit": tmp_path / "wal", "job.by_rule": tmp_path / "base" / "job_id" / "by_rule",
    }  # fmt: skip
    assert (tmp_path / "wal" / "commits" / "1").is_file()
    with pytest.raises(StreamletError, match=r"belongs to the query `job.explicit` of the application in .*job_id"):
        run(spark, tmp_path, "other_id")
    assert written(tmp_path, "explicit") == [1, 2]
