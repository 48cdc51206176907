"""`flow run --ui`: the page of a run begins before it and ends with it, whatever ends it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.processes import killed_at_end
from cli.ui import run_view
from cli.ui.run_view import RunPage
from streamlets.runner.views import ViewContext, ViewError
from tests.cli.conftest import Flow

REPOSITORY = Path(__file__).resolve().parents[3]
PATIENCE = 120.0
MODULE = """
from streamlets import AvroOutlet, GeneratorSpout


class Numbers(GeneratorSpout):
    out = AvroOutlet(schema="n long")

    def run(self, out, resume):
        for n in range(resume or 0, 3):
            yield out.transaction([{"n": n}], resume=n + 1)
        while not out.wait(3600):
            pass
"""
BLUEPRINT = """
blueprint {
  streamlets.numbers = counted.Numbers
  topics.numbers { producers = [numbers.out] }
}
flow.application = counted
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project without Spark, in the working directory."""
    (tmp_path / "counted.py").write_text(MODULE)
    (tmp_path / "blueprint.conf").write_text(BLUEPRINT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "streamlets", "run", ".", *arguments]


@contextmanager
def _running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """Run the application; yield the process, the printed address and the rest of what leads there."""
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    pipe = subprocess.PIPE
    with (
        subprocess.Popen(_command(*arguments), stdout=pipe, stderr=pipe, text=True, env=environment) as run,
        killed_at_end(run),
    ):
        assert run.stderr is not None
        line = run.stderr.readline()
        found = re.search(r"(http://127\.0\.0\.1:\d+)(/\?token=\S+)", line)
        assert found, line
        yield run, found[1], found[2]


def _ends(address: str) -> None:
    """Wait until nobody listens at an address."""
    port = int(address.rpartition(":")[2])
    for _ in range(int(PATIENCE * 20)):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=0.05).close()
        except OSError:
            return
        signal.sigtimedwait([], 0.05)
    raise AssertionError("the page has not ended")


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_the_page_ends_with_its_run(project: Path, end: signal.Signals) -> None:
    """It answers while the run lives; without the printed token nobody is let in."""
    with _running("--ui", "0") as (run, address, entrance):
        with urllib.request.urlopen(f"{address}/healthz", timeout=PATIENCE) as answer:
            assert answer.read() == b"ok\n"
        with pytest.raises(urllib.error.HTTPError, match=r"401|403"):
            urllib.request.urlopen(f"{address}/api/applications", timeout=PATIENCE)
        jar = urllib.request.HTTPCookieProcessor()
        with urllib.request.build_opener(jar).open(address + entrance, timeout=PATIENCE) as answer:
            assert answer.status == 200
        assert run.stdout is not None
        while "numbers: running" not in run.stdout.readline():
            assert run.poll() is None
        run.send_signal(end)
        run.communicate(timeout=PATIENCE)
        assert run.returncode == (0 if end is signal.SIGTERM else -end)
        _ends(address)


@pytest.mark.parametrize("missing", ["port", "package"])
@pytest.mark.parametrize("taken_over", [False, True], ids=["first start", "after an upgrade"])
def test_a_page_that_cannot_start(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: str, taken_over: bool
) -> None:
    """It is an error before anything is created or has run, with the remedy. A new version that takes over runs without
    a page."""
    monkeypatch.setattr(run_view, "_PATIENCE", 0.0)
    plan: Any = SimpleNamespace(blueprint="blueprint.conf")
    state: Any = SimpleNamespace(root=project / ".flow", application="counted", taken_over=taken_over)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port, path = str(taken.getsockname()[1]), str(REPOSITORY)
        if missing == "package":
            (project / "absent").mkdir()
            (project / "absent" / "starlette.py").write_text("raise ModuleNotFoundError(name='starlette')\n")
            port, path = "0", os.pathsep.join((str(project / "absent"), path))
        monkeypatch.setenv("PYTHONPATH", path)
        context = ViewContext(plan=plan, state=state, argument=port)
        reason = {
            "port": f"cannot listen on 127.0.0.1, port {port}: Address already in use\n  help: choose another port "
            "with `--ui PORT`, or 0 for any",
            "package": 'the page needs the package `starlette`\n  help: install it with `pip install "streamlets[ui]"`',
        }[missing]
        if taken_over:
            with RunPage().open(context):
                pass
            assert capsys.readouterr().err == f"warning: the run has no page: {reason}\n"
        else:
            with pytest.raises(ViewError) as caught:
                RunPage().open(context)
            assert str(caught.value) == reason
    assert not (project / ".flow").exists()


@pytest.mark.parametrize("value", [".", "65536", "-1"])
def test_the_port_is_a_number(flow: Flow, project: Path, value: str) -> None:
    """A path after the option is not taken for a port."""
    result = flow("run", "--ui", value)
    assert result.code == 2
    assert f"`{value}` is not a port" in result.err or value == "-1"
    assert not (project / ".flow").exists()
