"""A streamlet that needs more memory than its Java process has: only its own driver fails, and recovers.

`test_isolation.py` has the smaller version: a Java process that is killed.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.processes import command_line, events, java_processes, killed_at_end, started_by, wait_until
from blueprint.plan import TopicPlan
from streamlets.channels.delta.channel import DeltaChannel

pytestmark = [pytest.mark.spark, pytest.mark.full]

_MODULE = '''
from pathlib import Path
from pyspark.sql import functions as F
from streamlets import AvroOutlet, SparkStreamlet, SparkStreamletLogic

class Modest(SparkStreamlet):
    """Numbers."""
    out = AvroOutlet(schema="n bigint")

    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self):
            ticks = self.source("ticks", format="rate", options={"rowsPerSecond": 50})
            return self.write_stream(self.rows(ticks), self.streamlet.out)

        def rows(self, ticks):
            return ticks.select(F.col("value").alias("n"))

class Greedy(Modest):
    """Numbers, and once, when a file says so, an array of 6 GiB in Spark's heap."""
    class Logic(Modest.Logic):
        def rows(self, ticks):
            hunger = Path("FOLDER/hunger")

            @F.udf("bigint")
            def wanted(n):
                if not hunger.exists():
                    return 1
                hunger.unlink()
                return 800_000_000

            size = F.size(F.sequence(F.lit(1).cast("bigint"), wanted("value")))
            return ticks.select("value", size.alias("size")).where("size > 0").select(F.col("value").alias("n"))
'''
_BLUEPRINT = """
blueprint {
  streamlets { modest = appetites.Modest, greedy = appetites.Greedy }
  topics { plain { producers = [modest.out] }, large { producers = [greedy.out] } }
}
flow { isolation = process, trigger.processing-time = 500 ms, retry.min-backoff = 500 ms }
flow.runtimes.spark.driver.memory = 1g
"""


def _changes(directory: Path) -> list[tuple[str, str, str]]:
    """Return the changes of state of all queries: streamlet, state, cause."""
    changes = [event for event in events(directory / "run.out") if event.get("query") and event.get("state")]
    return [(event["streamlet"], event["state"], event.get("cause") or "") for event in changes]


def _numbers(directory: Path, topic: str) -> Counter[int]:
    """Return how often each number is in a topic."""
    resource = DeltaChannel(directory / ".flow" / directory.name / "topics").topic(
        TopicPlan(topic, topic, "delta", True, (), (), {})
    )
    found: Counter[int] = Counter()
    for batch in resource.scan():
        found.update(batch.column("n").to_pylist())
    return found


def test_out_of_memory_in_one_driver_leaves_the_other_running(tmp_path: Path) -> None:
    """Spark's Java process of a streamlet runs out of memory and exits. The cause has the setting to change.
    The streamlet is started again, the other processes keep running, and no number is lost or duplicated."""
    (tmp_path / "appetites.py").write_text(_MODULE.replace("FOLDER", str(tmp_path)))
    (tmp_path / "blueprint.conf").write_text(_BLUEPRINT)
    command = [
        sys.executable,
        "-c",
        "from cli.main import main; main()",
        "run",
        str(tmp_path),
        "--format",
        "json",
    ]
    with (tmp_path / "run.out").open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=tmp_path)
    with killed_at_end(process):

        def until(reached: Callable[[], bool]) -> None:
            wait_until(process, tmp_path / "run.out", reached, seconds=300.0, poll=0.2)

        def ups(streamlet: str) -> int:
            return sum(change[:2] == (streamlet, "running") for change in _changes(tmp_path))

        until(lambda: bool(ups("modest") and ups("greedy")))
        modest = [each for each in started_by(process.pid) if command_line(each).endswith(" modest")]
        modest += java_processes(modest[0].children())
        (tmp_path / "hunger").touch()
        until(lambda: not (tmp_path / "hunger").exists())
        until(lambda: ups("greedy") > 1)
        assert all(each.is_running() for each in modest)
        before = len(_numbers(tmp_path, "large"))
        until(lambda: len(_numbers(tmp_path, "large")) > before + 100)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0, (tmp_path / "run.out").read_text()

    causes = {(streamlet, cause) for streamlet, state, cause in _changes(tmp_path) if state == "backing-off"}
    why = "exit code 3, out of memory; increase `spark.driver.memory` in `flow.runtimes.spark`"
    assert causes == {("greedy", f"Spark's Java process exited ({why})")}
    for topic in ("plain", "large"):
        found = _numbers(tmp_path, topic)
        assert found == Counter(range(len(found))), topic
