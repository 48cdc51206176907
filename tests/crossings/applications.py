"""An application of each kind, and its state directory in each state, for crossings with commands, without Spark."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from blueprint.avro.model import Contract
from blueprint.avro.tasks import task_contract
from blueprint.plan import ApplicationPlan, TopicPlan
from blueprint.verification.verify import verify
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.contract.types import arrow_schema
from streamlets.ingress.batch_sources.task_writer import TaskWriter
from streamlets.project.catalog import ProjectCatalog
from streamlets.runner.deployment import store_descriptor
from streamlets.runner.events.event import Event
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunEnded, RunStarted
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.status_file import StatusFile
from streamlets.runner.events.unit_events import UnitChanged
from streamlets.runner.state_directory.directory import StateDirectory

IMPORTED = "imported"
"""The file that the module of an application (`MODULE`) creates when it is imported."""

MODULE = """
from pathlib import Path

Path(__file__).with_name("imported").touch()
from streamlets import AvroInlet, AvroOutlet, BatchSource, SparkStreamlet, SparkStreamletLogic


class Double(SparkStreamlet):
    rows = AvroInlet("in", schema="n long")
    out = AvroOutlet(schema="n long", on_invalid="dead-letters")

    class Logic(SparkStreamletLogic["Double"]):
        def build_streaming_queries(self):
            return self.write_stream(self.read_stream(self.streamlet.rows), self.streamlet.out)


class Pages(BatchSource):
    out = AvroOutlet(schema="n long")

    def discover(self, eat, event):
        eat({"page": 1}, key="1")

    def prepare(self, task):
        self.left = [{"n": task["page"]}]

    def read_next(self):
        return self.left.pop() if self.left else None
"""
PYTHON = "double = app.Double"
SPOUT = 'feed { class = streamlets.Spout, outlets.out = "n long", parameters.cmd = [sleep, "60"] }'
SOURCE = "pages { class = app.Pages, parameters.discovery.triggerer = immediate }"


def _blueprint(streamlets: str, topics: str, more: str = "") -> str:
    return f"blueprint {{\n  streamlets {{\n{streamlets}\n  }}\n  topics {{\n{topics}\n  }}\n}}\n{more}"


_DOUBLED = "rows { consumers = [double.in], managed = false }\nout { producers = [double.out] }"
SERVERS = "127.0.0.1:9"
"""The address of Kafka: no broker answers there."""

_KAFKA = f'flow {{ channel = kafka, kafka.clusters.default.bootstrap.servers = "{SERVERS}" }}'
_JOB = (
    "CREATE STREAM ticks FROM rate OPTIONS ('rowsPerSecond' = 3);\nSAVE STREAM ticks TO json OPTIONS ('path' = 'out');"
)


@dataclass(frozen=True)
class Kind:
    """A kind of application.

    Arguments:
        file: the name of its blueprint or job.
        text: its content.
        streamlet: one of its streamlets.
        kinds: the kinds of its streamlets, as in the registry of kinds.
        query: a query of the streamlet; empty if it has none.
        topic: one of its topics; empty if it has none.
    """

    file: str
    text: str
    streamlet: str
    kinds: frozenset[str]
    query: str = ""
    topic: str = ""


KINDS = {
    "python": Kind("blueprint.conf", _blueprint(PYTHON, _DOUBLED), "double", frozenset({"spark"}), "out", "out"),
    "sql": Kind("ticks.sql", _JOB, "job", frozenset({"spark"}), "ticks"),
    "spout": Kind(
        "blueprint.conf", _blueprint(SPOUT, "lines { producers = [feed.out] }"), "feed", frozenset({"spout"}),
        topic="lines",
    ),
    "batch source": Kind(
        "blueprint.conf", _blueprint(SOURCE, "lines { producers = [pages.out] }"), "pages",
        frozenset({"batch-source"}), "read", "lines",
    ),
    "kafka": Kind(
        "blueprint.conf", _blueprint(PYTHON, _DOUBLED, _KAFKA), "double", frozenset({"spark"}), "out", "out"
    ),
    "mixed": Kind(
        "blueprint.conf",
        _blueprint(
            f"{PYTHON}\n{SPOUT}\n{SOURCE}",
            "rows { producers = [feed.out, pages.out], consumers = [double.in] }\nout { producers = [double.out] }",
        ),
        "double", frozenset({"spark", "spout", "batch-source"}), "out", "rows",
    ),
}  # fmt: skip
"""The kinds of applications by name; together they have streamlets of every kind in the registry."""


def write(kind: Kind, directory: Path) -> Path:
    """Write the files of an application, and return the path of its blueprint."""
    directory.mkdir()
    (directory / "app.py").write_text(MODULE, encoding="utf-8")
    (directory / kind.file).write_text(kind.text, encoding="utf-8")
    return directory / kind.file


def plan_of(blueprint: Path) -> ApplicationPlan:
    """Return the plan of an application."""
    result = verify(blueprint, catalog=ProjectCatalog(), environment={}, working_directory=blueprint.parent)
    assert result.plan is not None, result.diagnostics
    return result.plan


def state_of(blueprint: Path) -> StateDirectory:
    """Return the state directory of an application."""
    name = "ticks" if blueprint.suffix == ".sql" else blueprint.parent.name
    return StateDirectory(blueprint.parent / ".flow", name)


def never_ran(blueprint: Path) -> None:
    """Leave the application as it is written."""


def stopped(blueprint: Path) -> None:
    """Create the state that a run leaves that was stopped: topics with records and tasks, descriptor, status."""
    _run(blueprint, RunEnded(time.time(), 0))


def crashed(blueprint: Path) -> None:
    """Create the state that a killed run leaves: no end in its status."""
    _run(blueprint)


def damaged(blueprint: Path) -> None:
    """Create a state whose descriptor is cut, whose status is another's, and whose launch is empty."""
    stopped(blueprint)
    state = state_of(blueprint)
    state.descriptor_file.write_text(state.descriptor_file.read_text()[:100])
    state.status_file.write_text("[]")
    state.launch_file.write_text("")


STATES: dict[str, Callable[[Path], None]] = {
    "never ran": never_ran, "running": crashed, "stopped": stopped, "crashed": crashed, "damaged": damaged,
}  # fmt: skip
"""How each state is made; a running application is one whose lock a process holds (`owner`)."""


def _run(blueprint: Path, *events: Event) -> None:
    plan, state = plan_of(blueprint), state_of(blueprint)
    with state.locked():
        store_descriptor(state, plan)
        state.keep_launch((str(blueprint),))
        for topic in plan.topics:
            if topic.channel == "delta":
                _fill(plan, topic, state)
        file = StatusFile(state.status_file)
        publisher = Publisher([file])
        publisher.publish(RunStarted(time.time(), plan.name, tuple(s.ref for s in plan.streamlets)))
        for streamlet in plan.streamlets:
            publisher.publish(UnitChanged(time.time(), UnitId(streamlet.ref, ""), "running"))
        for event in events:
            publisher.publish(event)
        file.write(time.time())
    for streamlet in plan.streamlets:
        if streamlet.kind.name != "spout":
            _checkpoint(state.checkpoints / streamlet.ref / "out")


def _fill(plan: ApplicationPlan, topic: TopicPlan, state: StateDirectory) -> None:
    resource = DeltaChannel(state.topics).topic(replace(topic, managed=True))
    if topic.name.startswith("tasks."):
        resource.create([task_contract()])
        writer = TaskWriter(resource, topic.producers[0], time.time)
        writer.begin("start")
        writer.eat({"page": 1}, key="1")
        writer.finish()
        writer.close()
        return
    contract = _contract(plan, topic)
    resource.create([contract] if contract is not None else [])
    if contract is not None and not topic.name.startswith("dead-letters."):
        rows = pa.RecordBatch.from_pylist([{"n": n} for n in range(5)], schema=arrow_schema(contract))
        with resource.appender(contract, writer="a/b") as appender:
            appender.append([rows], 0)


def _contract(plan: ApplicationPlan, topic: TopicPlan) -> Contract | None:
    for streamlet in plan.streamlets:
        contracts = {port.topic: port.contract for port in streamlet.inlets}
        contracts |= {port.topic: port.contract for port in streamlet.outlets}
        if topic.id in contracts:
            return contracts[topic.id]
    return None


def _checkpoint(directory: Path) -> None:
    for name in ("offsets", "commits"):
        (directory / name).mkdir(parents=True)
    (directory / "metadata").write_text(json.dumps({"id": "8f5e"}))


class Owner:
    """A process that holds the lock of a state directory, as a run does, and answers nothing."""

    _CODE = """
import fcntl, os, sys, time
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
os.truncate(lock, 0)
os.pwrite(lock, b"%d\\n" % os.getpid(), 0)
print(flush=True)
time.sleep(3600)
"""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def hold(self, state: StateDirectory) -> None:
        """Hold the lock of a directory; the process of an earlier one is ended."""
        self.release()
        arguments = [sys.executable, "-S", "-c", self._CODE, str(state.directory / "lock")]
        self._process = subprocess.Popen(arguments, stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"]})
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def release(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def copy(prepared: Path, directory: Path) -> Path:
    """Return the blueprint of a fresh copy of a prepared application; `directory` keeps the name of the application."""
    if directory.exists():
        shutil.rmtree(directory)
    shutil.copytree(prepared.parent, directory, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    return directory / prepared.name
