"""The example of spouts: its programs deliver what they should, without Spark."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.processes import killed_at_end, wait_until
from blueprint.plan import TopicPlan
from streamlets.channels.base import TopicLostError
from streamlets.channels.delta.channel import DeltaChannel

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLE = REPOSITORY / "examples" / "spouts"


def records(application: Path, name: str) -> list[dict[str, object]]:
    """Return the records of a topic; [] if the run has not created it yet."""
    channel = DeltaChannel(application / ".flow" / "spouts" / "topics")
    try:
        topic = channel.topic(TopicPlan(name, name, "delta", True, (), (), {}))
        return [row for batch in topic.scan() for row in batch.to_pylist()]
    except TopicLostError:
        return []


def free_port() -> int:
    """Return a port that was free just now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def send(port: int, text: bytes) -> bytes:
    """Send lines, and return the answer; b"" if nobody listens yet."""
    try:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(100)
    except OSError:
        return b""


@pytest.mark.slow
def test_the_programs_deliver(tmp_path: Path) -> None:
    """The script delivers the file systems, and the server the lines of a connection; it answers with their number."""
    application = shutil.copytree(EXAMPLE, tmp_path / "example", ignore=shutil.ignore_patterns(".flow", "out"))
    text = (application / "blueprint.conf").read_text()  # without the sink, no Spark is needed
    sink = text[text.index("    archive {") : text.index("  }\n  topics")]
    text = text.replace(sink, "").replace(", consumers = [archive.in]", "")
    (application / "blueprint.conf").write_text(text)
    port = free_port()
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    command = [
        sys.executable, "-m", "cli.main", "run", str(application), "--format", "json",
        f"flow.streamlets.lines.parameters.service.port={port}",
    ]  # fmt: skip
    out = tmp_path / "run.out"
    with out.open("wb") as file:
        run = subprocess.Popen(
            command, stdout=file, stderr=file, env=os.environ | {"PATH": path, "PYTHONPATH": str(REPOSITORY)}
        )
    with killed_at_end(run):
        wait_until(run, out, lambda: send(port, b"hello\nworld\n") == b"2\n")
        wait_until(run, out, lambda: bool(records(application, "disks")))
    lines = [row["line"] for row in records(application, "lines")]
    assert lines == ["hello", "world"] * (len(lines) // 2)
    disks = records(application, "disks")
    assert all(str(disk["mount"]).startswith("/") for disk in disks)
