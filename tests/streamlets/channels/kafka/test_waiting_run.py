"""A run whose broker stops and comes back: its spout waits for the channel, and continues where it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.processes import killed_at_end, wait_until
from blueprint.plan import TopicPlan
from streamlets.channels.kafka.channel import KafkaChannel
from tests.kafka.broker import Broker

REPOSITORY = Path(__file__).resolve().parents[4]

BLUEPRINT = """
blueprint {
  streamlets { count = counting.Count }
  topics { numbers { producers = [count.out] } }
}
flow {
  application = shop
  channel = kafka
  kafka.clusters.default { bootstrap.servers = "SERVERS", producer-config { message.timeout.ms = 3000 } }
  streamlets.count.outlets.out.open-timeout = 1000 s
}
"""

MODULE = """
import time
from pathlib import Path

from streamlets import AvroOutlet, GeneratorSpout

GO = Path(__file__).with_name("go")


class Count(GeneratorSpout):
    out = AvroOutlet(schema="number long not null")

    def run(self, out, resume):
        number = resume or 0
        while number < 20 or not GO.exists():
            yield out.transaction([{"number": number}], resume=number + 1)
            number += 1
            time.sleep(0.1)
"""


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.spark  # the broker needs Java
def test_a_spout_waits_for_a_broker_that_has_stopped(tmp_path: Path) -> None:
    """It fails, waits until the broker answers again, and delivers each record once."""
    project, log = tmp_path / "project", tmp_path / "run.log"
    project.mkdir()
    (project / "counting.py").write_text(MODULE)
    with Broker(tmp_path / "broker") as broker:
        (project / "blueprint.conf").write_text(BLUEPRINT.replace("SERVERS", broker.servers))

        def shows(text: str) -> bool:
            return text in log.read_text(encoding="utf-8")

        command = [sys.executable, "-m", "cli.main", "run", str(project)]
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
        with (
            log.open("wb") as output,
            subprocess.Popen(command, stdout=output, stderr=output, env=environment) as run,
            killed_at_end(run),
        ):
            wait_until(run, log, lambda: shows("to out"))
            broker.kill()
            wait_until(run, log, lambda: shows("count: backing-off"))
            wait_until(
                run, log, lambda: log.read_text(encoding="utf-8").count("waiting for the channel of numbers") > 1
            )
            broker.start()
            (project / "go").touch()
            assert run.wait(300) == 0, log.read_text(encoding="utf-8")
        plan = TopicPlan("numbers", "numbers", "kafka", True, (), (), {"bootstrap.servers": broker.servers})
        topic = KafkaChannel(tmp_path / "reader").topic(plan)
        numbers = [row["number"] for batch in topic.scan() for row in batch.to_pylist()]
    assert numbers == list(range(len(numbers))) and len(numbers) >= 20
