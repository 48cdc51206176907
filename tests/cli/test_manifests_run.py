"""The command of a written pod as a process: it answers probes, drains on SIGTERM, and reports why it is refused."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Flow
from tests.pages import REPOSITORY

_INIT = """
import signal, subprocess, sys
child = subprocess.Popen(sys.argv[1:])
signal.signal(signal.SIGTERM, lambda *_: child.terminate())
sys.exit(child.wait())
"""
"""An init as the one in the image: it passes SIGTERM to its child only, and exits as it does."""

_BLUEPRINT = """
blueprint {
  streamlets.ticks { class = streamlets.Spout, outlets.out = "n INT", parameters.cmd = [sh, -c, "sleep 600 & wait"] }
  topics { ticks { producers = [ticks.out] } }
}
flow { application = shop, metrics.port = PORT, kubernetes.drain-timeout = 20 seconds }
"""

_READER = """
blueprint.streamlets.show { class = streamlets.Sink, inlets.in = "n INT", parameters.to = terminal }
blueprint.topics.ticks.consumers = [show.in]
"""


@pytest.fixture
def port() -> int:
    """A free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Pod:
    """A pod of the manifests in a directory, whose paths are in a directory of this machine."""

    def __init__(self, manifests: Path, root: Path) -> None:
        (self.spec,) = (document["spec"]["template"]["spec"] for document in _documents(manifests / "statefulset.yaml"))
        (self.container,) = self.spec["containers"]
        data = next(_documents(manifests / "configmap.yaml"))["data"]
        for mount in self.container["volumeMounts"]:
            if mount["name"] == "configuration":
                file = root / mount["mountPath"].removeprefix("/")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(data[mount["subPath"]])
        tops = {mount["mountPath"].split("/")[1] for mount in self.container["volumeMounts"]} - {"tmp"}
        words = [*self.container["command"], *self.container["args"]]
        self.command = [
            f"{root}{word}" if word.split("/")[1:2] and word.split("/")[1] in tops else word for word in words
        ]
        self.environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}

    def start(self, **options: Any) -> subprocess.Popen[bytes]:
        """Start the container's command under an init."""
        assert self.command[:3] == ["/usr/bin/tini", "--", "flow"]
        flow = [sys.executable, "-m", "cli.main", *self.command[3:]]
        return subprocess.Popen([sys.executable, "-c", _INIT, *flow], env=self.environment, **options)


def _documents(file: Path) -> Iterator[Any]:
    yield from yaml.safe_load_all(file.read_text())


def _answer(port: int, path: str) -> int:
    """Return the status of the answer to a probe; 0 without an answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def test_a_pod_drains_within_its_grace_period(flow: Flow, tmp_path: Path, port: int) -> None:
    """The probes answer; SIGTERM to the init drains the run, which ends with 0 before Kubernetes would kill it."""
    app = tmp_path / "app"
    app.mkdir()
    (app / "blueprint.conf").write_text(_BLUEPRINT.replace("PORT", str(port)))
    assert flow("manifests", str(app), str(tmp_path / "k8s")).code == 0
    pod = Pod(tmp_path / "k8s", tmp_path)
    assert pod.spec["terminationGracePeriodSeconds"] == 20 + 20 + 10
    probes = {pod.container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")}
    assert probes == {"/healthz", "/readyz"}
    with pod.start(stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            until = time.monotonic() + 60
            while {_answer(port, path) for path in probes} != {200}:
                assert process.poll() is None, process.stdout and process.stdout.read()
                assert time.monotonic() < until, "the probes do not answer"
                time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            assert process.wait(pod.spec["terminationGracePeriodSeconds"]) == 0
        finally:
            process.kill()
    status = json.loads(flow("status", "--state-dir", str(tmp_path / "state"), "--format", "json").out)
    assert status["shop"]["health"] == "ended"


def test_a_refused_version_is_in_the_end_of_its_output(flow: Flow, tmp_path: Path, port: int) -> None:
    """Kubernetes shows the last 2 KiB of the output of a container that ends with an error: it has the finding."""
    app = tmp_path / "app"
    app.mkdir()
    (app / "blueprint.conf").write_text(_BLUEPRINT.replace("PORT", str(port)))
    with (app / "blueprint.conf").open("a") as blueprint:
        blueprint.write(_READER)
    state = tmp_path / "state" / "shop"
    (state / "topics" / "ticks").mkdir(parents=True)
    (state / "checkpoints" / "show" / "out").mkdir(parents=True)
    (state / "checkpoints" / "show" / "out" / "metadata").write_text('{"id":"x"}')
    flow("describe", str(app), "-o", str(state / "descriptor.json"))
    with (app / "blueprint.conf").open("a") as blueprint:
        blueprint.write("blueprint.topics.ticks.topic.name = moved\n")
    assert flow("manifests", str(app), str(tmp_path / "k8s")).code == 0
    pod = Pod(tmp_path / "k8s", tmp_path)
    assert pod.container["terminationMessagePolicy"] == "FallbackToLogsOnError"
    with pod.start(stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            output, _ = process.communicate(timeout=60)
        finally:
            process.terminate()
    assert process.returncode == 2, output
    assert b"change-" in output[-2048:]
