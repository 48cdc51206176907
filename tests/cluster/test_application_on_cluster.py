"""An application on a real standalone cluster: its executors get the modules and the environment as files of Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from benchmarks.processes import events, killed_at_end, wait_until
from streamlets.cluster.modules import ARCHIVE
from streamlets.spark.cluster_settings import COMMAND
from tests.cluster.standalone import Cluster

pytestmark = pytest.mark.slow

_FLOW = str(Path(sys.executable).with_name("flow"))
_BLUEPRINT = """
blueprint {
  streamlets {
    numbers = app.Numbers
    archive { class = streamlets.Sink, inlets.in = "n int, place string, environment string" }
  }
  topics { placed { producers = [numbers.out], consumers = [archive.in] } }
}
flow {
  application = placed
  cluster { secret.env = CLUSTER_SECRET, cores-max = 2, executor-memory = 600 MiB, start-timeout = 3 minutes }
  streamlets.archive.parameters { to = parquet, options.path = out }
}
"""
_APP = """
from pyspark.sql import functions as F

import places
from streamlets import AvroOutlet, SparkStreamlet, SparkStreamletLogic


class Numbers(SparkStreamlet):
    out = AvroOutlet("out", schema="n int, place string, environment string")

    class Logic(SparkStreamletLogic["Numbers"]):
        def build_streaming_queries(self):
            path = str(self.context.path("in"))
            rows = self.source("files", format="csv", schema="n int", options={"path": path})
            place, environment = F.udf(places.place), F.udf(places.environment)
            return self.write_stream(rows.select("n", place("n").alias("place"), environment("n").alias("environment")),
                                     self.streamlet.out)
"""
_PLACES = """
import json
import os


def place(n):
    return __file__


def environment(n):
    return os.environ.get("OF_ARCHIVE", "")
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return a secured cluster with two workers of a core each, which do not know where modules are."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), workers=2, secured=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPATH", raising=False)
        cluster.start()
    yield cluster
    cluster.stop()


def application(directory: Path) -> Path:
    """Write the application into a directory, and return it."""
    directory.mkdir()
    for name, text in (("blueprint.conf", _BLUEPRINT), ("app.py", _APP), ("places.py", _PLACES)):
        (directory / name).write_text(text)
    (directory / "in").mkdir()
    for number in range(4):
        (directory / "in" / f"{number}.csv").write_text("".join(f"{number * 10 + n}\n" for n in range(10)))
    return directory


def run(cluster: Cluster, directory: Path, *arguments: str) -> list[dict[str, Any]]:
    """Run the application until it has processed everything, and return the rows of its files, sorted."""
    command = [_FLOW, "run", "--master", cluster.url, "--available-now", "--format", "lines", *arguments]
    ended = subprocess.run(command, cwd=directory, env=environment(cluster), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return rows_in(directory)


def environment(cluster: Cluster) -> dict[str, str]:
    """Return the environment variables of a run on the cluster."""
    return os.environ | cluster.environment | {"CLUSTER_SECRET": cluster.settings["spark.authenticate.secret"]}


def rows_in(directory: Path) -> list[dict[str, Any]]:
    """Return the rows of the files of the application, sorted."""
    rows = [row for file in (directory / "out").glob("*.parquet") for row in pq.read_table(file).to_pylist()]
    return sorted(rows, key=lambda row: row["n"])


@pytest.mark.parametrize("isolation", ["none", pytest.param("process", marks=pytest.mark.full)])
def test_executors_get_modules_and_environment_as_files(cluster: Cluster, tmp_path: Path, isolation: str) -> None:
    """Each record is in the files once, computed by a module from the zip with the Python of the archive. With a driver
    process for each streamlet, each probes executors of its own."""
    home = application(tmp_path / "app")
    wrapper = tmp_path / "environment" / "bin" / COMMAND
    wrapper.parent.mkdir(parents=True)
    wrapper.write_text(f'#!/bin/sh\nOF_ARCHIVE=yes exec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    with tarfile.open(tmp_path / "environment.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "environment", ".")
    packed = f"flow.cluster.environment={tmp_path}/environment.tar.gz"
    arguments = ["flow.cluster.modules=files", packed, "--isolation", isolation]
    rows = run(cluster, home, *arguments)
    assert [row["n"] for row in rows] == list(range(40))
    assert {row["environment"] for row in rows} == {"yes"}
    assert all(f"{ARCHIVE}/places.py" in row["place"] for row in rows), rows[0]
    (home / "in" / "9.csv").write_text("90\n")
    (home / "places.py").write_text(_PLACES.replace("return __file__", 'return "changed"'))
    rows = run(cluster, home, *arguments)
    assert [row["n"] for row in rows] == [*range(40), 90]
    assert rows[-1]["place"] == "changed"


def test_an_idle_run_whose_master_has_forgotten_it_has_executors_again(cluster: Cluster, tmp_path: Path) -> None:
    """Without executors and without a master, an idle run waits, and its status says so. A master that is started again
    without recovery does not know the application, so Spark is started again, once, before any record comes."""
    home, out = application(tmp_path / "app"), tmp_path / "run.out"
    command = [_FLOW, "run", "--master", cluster.url, "--format", "json", "flow.cluster.modules=files"]

    def seen(event: str) -> list[dict[str, Any]]:
        return [line for line in events(out) if line["event"] == event]

    def executors() -> dict[str, Any]:
        answer = subprocess.run([_FLOW, "status", "--format", "json"], cwd=home, capture_output=True, text=True)
        return dict(next(iter(json.loads(answer.stdout)["placed"]["executors"]), {}))

    with out.open("wb") as file:
        started = subprocess.Popen(command, cwd=home, env=environment(cluster), stdout=file, stderr=file)
    with killed_at_end(started) as run:
        wait_until(run, out, lambda: len(rows_in(home)) == 40)
        cluster.kill_master()
        for executor in cluster.executors():
            executor.kill()
        wait_until(run, out, lambda: any(lost["number"] == 0 for lost in seen("executor-lost")))
        wait_until(run, out, lambda: bool(seen("master-unreachable")))
        wait_until(run, out, lambda: None not in (executors()["missing_since"], executors()["master_lost_since"]))
        joined = len(seen("executors-added"))
        cluster.start_master()
        wait_until(run, out, lambda: len(seen("executors-added")) > joined)
        wait_until(run, out, lambda: executors().get("missing_since", 0.0) is None)
        (home / "in" / "9.csv").write_text("90\n")
        wait_until(run, out, lambda: len(rows_in(home)) == 41)
    assert "does not know the application any more" in out.read_text()
    assert len(seen("spark-up")) == 2


@pytest.mark.full
def test_executors_send_exactly_once(cluster: Cluster, kafka_broker: str, tmp_path: Path) -> None:
    """A batch that is too large for the driver is sent by a task of each executor, in transactions."""
    home = application(tmp_path / "app")
    (home / "in" / "many.csv").write_text("".join(f"{n}\n" for n in range(100, 30_100)))
    rows = run(
        cluster, home, "flow.channel=kafka", f'flow.kafka.clusters.default.bootstrap.servers="{kafka_broker}"',
        f"flow.topics.placed.topic.name=placed-{uuid.uuid4().hex[:8]}", "flow.topics.placed.topic.partitions=2",
        "flow.streamlets.numbers.outlets.out.guarantee=exactly-once",
    )  # fmt: skip
    assert [row["n"] for row in rows] == [*range(40), *range(100, 30_100)]
    (decision,) = (home / ".flow" / "placed" / "topics" / "_kafka" / "staged").glob("*/*/_shares.json")
    (part,) = json.loads(decision.read_text())["parts"].values()
    assert len(part["tasks"]) == 2
