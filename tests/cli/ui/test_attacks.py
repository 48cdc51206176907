"""Attacks on the page of a real run, one after the other while it writes: each is refused, and no record is harmed."""

from __future__ import annotations

import http.client
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.processes import killed_at_end
from streamlets.channels.delta.channel import DeltaChannel
from tests.cli.ui.test_access import BODIES, CHANGES, JSON, PATHS, WITHOUT_SESSION
from tests.streamlets.channels.topics import topic_plan

REPOSITORY = Path(__file__).resolve().parents[3]
PATIENCE = 120.0
MODULE = """
from pathlib import Path
from streamlets import AvroOutlet, GeneratorSpout

HERE = Path(__file__).parent


class Numbers(GeneratorSpout):
    out = AvroOutlet(schema="n long")

    def run(self, out, resume):
        n = resume or 0
        while not (HERE / "enough").exists():
            yield out.transaction([{"n": n}], resume=n + 1)
            n += 1
            out.wait(0.02)
"""
BLUEPRINT = """
blueprint {
  streamlets.double = counted.Numbers
  topics.numbers { producers = [double.out] }
}
flow.application = plant
"""
HOSTS = ("evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", "")
RAW = (b"\x00" * 100, b"GET " + b"/" * 100_000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000)


@dataclass(frozen=True, slots=True)
class Attacker:
    """Sends requests to the page of a run.

    Arguments:
        port: the port of the page.
        session: a cookie of a real session.
        token: the token of its changes.
    """

    port: int
    session: str
    token: str

    def send(self, method: str, path: str, headers: Mapping[str, str], body: str | bytes | None = None) -> int:
        """Return the status of an answer; 0 if the connection was closed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        host = {} if "host" in headers else {"host": f"127.0.0.1:{self.port}"}
        try:
            connection.putrequest(method, path, skip_host=True)
            content = body.encode() if isinstance(body, str) else body
            length = {} if content is None else {"content-length": str(len(content))}
            for name, value in {**host, **headers, **length}.items():
                connection.putheader(name, value.encode("latin-1", "replace"))
            connection.endheaders(content)
            return connection.getresponse().status
        except (ConnectionError, http.client.HTTPException, ValueError):
            return 0
        finally:
            connection.close()

    def attacks(self) -> Iterator[tuple[str, int]]:
        """Make each attack; yield its name and the status of the answer."""
        for name, (method, path, headers) in WITHOUT_SESSION.items():
            yield name, self.send(method, path, headers)
        own = {"cookie": self.session, "origin": f"http://127.0.0.1:{self.port}", "x-flow-token": self.token, **JSON}
        actions, pause = "/api/applications/plant/actions", '{"action": "pause", "streamlet": "double"}'
        for host in HOSTS:
            yield f"host {host}", self.send("GET", "/api/applications", own | {"host": host.format(port=self.port)})
        for name, (change, _) in CHANGES.items():
            yield name, self.send("POST", actions, change(dict(own)), pause)
        for name, (body, _) in BODIES.items():
            yield name, self.send("POST", actions, own, body)
        for path in PATHS:
            yield path, self.send("GET", path, own)
        for number, request in enumerate(RAW):
            with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as client:
                try:
                    client.sendall(request)
                    answer = client.recv(100)
                except ConnectionError:
                    answer = b""
            yield f"raw {number}", int(answer.split()[1]) if answer else 0


def _entered(address: str) -> Attacker:
    """Open the printed address, as its owner does."""
    port, token = int(address.split(":")[2].split("/")[0]), address.split("token=")[1]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", f"/?token={token}")
    cookie = (connection.getresponse().getheader("set-cookie") or "").split(";")[0]
    connection.close()
    connection.request("GET", "/", headers={"cookie": cookie})
    page = connection.getresponse().read().decode()
    connection.close()
    found = re.search(r'name="flow-token" content="([^"]+)"', page)
    assert found, page
    return Attacker(port, cookie, found[1])


@pytest.mark.slow
def test_a_run_is_unharmed_by_attacks_on_its_page(tmp_path: Path) -> None:
    """All are refused; the spout was never paused, and the topic has each record once."""
    (tmp_path / "counted.py").write_text(MODULE)
    (tmp_path / "blueprint.conf").write_text(BLUEPRINT)
    command = [sys.executable, "-m", "streamlets", "run", str(tmp_path), "--ui", "0"]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "HOME": str(tmp_path)}
    pipe = subprocess.PIPE
    with (
        subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as run,
        killed_at_end(run),
    ):
        assert run.stderr is not None
        assert run.stdout is not None
        address = run.stderr.readline().split()[-1]
        while "double: running" not in (line := run.stdout.readline()):
            assert line
        attacker = _entered(address)
        assert attacker.send("GET", "/api/applications", {"cookie": attacker.session}) == 200
        answers = dict(attacker.attacks())
        assert len(answers) >= 40
        assert {name: status for name, status in answers.items() if status and not 400 <= status < 600} == {}
        assert attacker.send("GET", "/healthz", {}) == 200
        (tmp_path / "enough").touch()
        output, errors = run.communicate(timeout=PATIENCE)
        assert run.returncode == 0, errors
    assert "paused" not in output
    assert "double: completed" in output
    topic = DeltaChannel(tmp_path / ".flow" / "plant" / "topics").topic(topic_plan("numbers"))
    numbers = [row["n"] for batch in topic.scan() for row in batch.to_pylist()]
    assert numbers == list(range(len(numbers)))
    assert numbers
