"""Another user of the machine tries to stop, read, alter and take over a run. One run is shared by all attempts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.spark.callback_server import REFUSED
from tests.crossings.other_user import as_nobody, only_as_root
from tests.crossings.probes import PROBES, answer, is_refusal

pytestmark = [pytest.mark.spark, pytest.mark.slow, only_as_root]

MODULE = """
from streamlets import AvroOutlet, SparkStreamlet, SparkStreamletLogic


class Feed(SparkStreamlet):
    rows = AvroOutlet(schema="value bigint, timestamp timestamp")

    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self):
            return self.write_stream(self.source("rate", format="rate"), self.streamlet.rows)
"""
BLUEPRINT = """
blueprint {
  streamlets { feed { class = attacked.Feed } }
  topics { rows { producers = [feed.rows] } }
}
flow.application = attacked
"""

ATTEMPTS = """
import ctypes, fcntl, json, os, signal, sys
root, app, runner, java = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
request = json.dumps({"id": "x", "command": "stop", "by": "nobody", "arguments": [], "reset": []})
attempts = {}
for entry in json.loads(sys.argv[5]):
    attempts["list " + entry] = lambda entry=entry: os.listdir(os.path.join(app, entry))
for file in json.loads(sys.argv[6]):
    path = os.path.join(app, file)
    attempts["read " + file] = lambda path=path: open(path).read()
    attempts["write " + file] = lambda path=path: open(path, "w")
    attempts["delete " + file] = lambda path=path: os.unlink(path)
def write(path):
    with open(path, "w") as file:
        file.write(request)
def trace(process):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, process, 0, 0) != 0:
        raise PermissionError(ctypes.get_errno())
attempts |= {
    "send a request": lambda: write(os.path.join(app, "control", "x.request")),
    "lock": lambda: fcntl.flock(os.open(os.path.join(app, "lock"), os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB),
    "rename the application": lambda: os.rename(app, app + "2"),
    "rename the state": lambda: os.rename(root, root + "2"),
    "open the directory": lambda: os.chmod(app, 0o777),
    "own the directory": lambda: os.chown(app, os.getuid(), -1),
    "make another application": lambda: os.mkdir(os.path.join(root, "other")),
    "replace a checkpoint": lambda: os.symlink("/tmp", os.path.join(app, "checkpoints", "feed", "rows2")),
}
for name, process in (("runner", runner), ("java", java)):
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP, signal.SIGQUIT, signal.SIGINT):
        attempts[f"{number.name} to {name}"] = lambda process=process, number=number: os.kill(process, number)
    for file in ("environ", "mem", "maps", "io"):
        attempts[f"read {file} of {name}"] = lambda p=process, f=file: open(f"/proc/{p}/{f}", "rb").read(1)
    attempts[f"list files of {name}"] = lambda process=process: os.listdir(f"/proc/{process}/fd")
    attempts[f"trace {name}"] = lambda process=process: trace(process)
outcomes = {}
for name, attempt in attempts.items():
    try:
        outcomes[name] = "worked: " + repr(attempt())[:80]
    except (PermissionError, BlockingIOError):
        outcomes[name] = "denied"
    except OSError as error:
        outcomes[name] = repr(error)
print(json.dumps(outcomes))
"""


@dataclass(frozen=True)
class Attacked:
    """A run that others attack."""

    process: subprocess.Popen[bytes]
    state: StateDirectory
    output: Path

    @property
    def java(self) -> psutil.Process:
        """Spark's process."""
        return next(child for child in self.children() if child.name() == "java")

    def children(self) -> list[psutil.Process]:
        """The processes of the run, without itself."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def status(self) -> str:
        """What the run has written about itself."""
        return self.state.status_file.read_text() if self.state.status_file.exists() else ""


def wait_until(reached: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait until something has happened."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def ports_of(process: psutil.Process) -> set[tuple[str, int]]:
    """The addresses and ports on which a process listens; none, when it has ended meanwhile."""
    with suppress(psutil.NoSuchProcess):
        return {
            (connection.laddr.ip.removeprefix("::ffff:"), connection.laddr.port)
            for connection in process.net_connections("inet")
            if connection.status in (psutil.CONN_LISTEN, psutil.CONN_NONE)
        }
    return set()


@pytest.fixture(scope="module")
def attacked() -> Iterator[Attacked]:
    """Start a run in a directory that all users can enter."""
    directory = Path(tempfile.mkdtemp(prefix="attacked-"))
    directory.chmod(0o755)
    (directory / "attacked.py").write_text(MODULE)
    (directory / "blueprint.conf").write_text(BLUEPRINT)
    output = directory / "output"
    with output.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlets", "run", str(directory)], stdout=out, stderr=subprocess.STDOUT
        )
    run = Attacked(process, StateDirectory(directory / ".flow", "attacked"), output)
    try:
        wait_until(lambda: '"running"' in run.status() or process.poll() is not None, 300, "the query runs")
        yield run
    finally:
        process.terminate()
        process.wait(120)
        shutil.rmtree(directory, ignore_errors=True)


def test_files_and_processes(attacked: Attacked) -> None:
    """He can neither enter the state directory nor act on a process; the run goes on."""
    directory = attacked.state.directory
    entries = ["", *sorted(entry.name for entry in directory.iterdir() if entry.is_dir())]
    files = ["lock", "descriptor.json", "status/status.json", "status/launch.json", "logs/run.log", "logs/spark.log"]
    result = as_nobody(
        ATTEMPTS, attacked.state.root, directory, attacked.process.pid, attacked.java.pid,
        json.dumps(entries), json.dumps(files),
    )  # fmt: skip
    outcomes: dict[str, Any] = json.loads(result.stdout or "{}")
    assert len(outcomes) >= 30, result.stderr
    assert {name: outcome for name, outcome in outcomes.items() if outcome != "denied"} == {}
    assert attacked.process.poll() is None
    assert not (attacked.state.root / "other").exists()


def test_ports(attacked: Attacked) -> None:
    """Each port of each process of the run is on the loopback interface, and refuses every protocol without its secret;
    the refusals are logged."""
    ports = set().union(*map(ports_of, (psutil.Process(attacked.process.pid), *attacked.children())))
    assert len(ports) >= 5  # py4j in both directions, RPCs, blocks, accumulators
    assert {host for host, _ in ports} == {"127.0.0.1"}
    probes = [(host, port, name) for host, port in ports for name in PROBES]
    with ThreadPoolExecutor(len(probes)) as strangers:  # a silent port is waited for
        received = strangers.map(lambda probe: answer(probe[:2], PROBES[probe[2]]), probes)
        answers = {probe[1:]: text for probe, text in zip(probes, received, strict=True)}
    assert {key: received for key, received in answers.items() if not is_refusal(received)} == {}
    wait_until(lambda: REFUSED in attacked.output.read_text(), 60, "the refusal is printed")
    assert "SaslMessage" in (attacked.state.logs / "spark.log").read_text()
    assert attacked.process.poll() is None


def test_secrets_of_spark(attacked: Attacked) -> None:
    """No command line has a secret, and no file of a run is open to others, below its directory."""
    for process in attacked.children():
        with suppress(psutil.NoSuchProcess):  # it has ended, or is about to
            assert "secret" not in " ".join(process.cmdline()).lower()
    assert attacked.state.directory.stat().st_mode & 0o777 == 0o700
    assert os.access(attacked.state.root, os.R_OK)
