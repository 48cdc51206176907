"""Accidents of ports in whole runs, in processes of their own and without Spark: a clock that is set, and requests that
meet an upgrade. `test_bad_ports.py` has the other accidents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.processes import killed_at_end, wait_until
from blueprint.plan import TopicPlan
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.runner.state_directory.directory import StateDirectory

REPOSITORY = Path(__file__).resolve().parents[2]

BLUEPRINT = """
blueprint {
  streamlets { feed = feeding.Feed, count = feeding.Feed }
  topics {
    theirs { producers = [feed.out], managed = no }
    counts { producers = [count.out], managed = no }
  }
}
flow { application = shop, retry.enabled = false, streamlets.feed.outlets.out.open-timeout = LIMIT }
"""

MODULE = """
import time
from pathlib import Path

from streamlets import AvroOutlet, GeneratorSpout

GO = Path(__file__).with_name("go")


class Feed(GeneratorSpout):
    out = AvroOutlet(schema="number long not null")

    def run(self, out, resume):
        for number in range(resume or 0, 3):
            yield out.transaction([{"number": number}], resume=number + 1)
            while not GO.exists():
                time.sleep(0.05)
"""

SHIFTED = """
import sys
import time
from pathlib import Path

wall, shift = time.time, Path(sys.argv.pop(1))
time.time = lambda: wall() + (float(shift.read_text()) if shift.exists() else 0.0)

from cli.main import main

main(sys.argv[1:])
"""
"""`flow` on a wall clock that is set by writing the difference into a file."""


class Application:
    """An application of two generators that deliver three numbers each, and go on when a file exists."""

    def __init__(self, directory: Path, limit: str) -> None:
        self.directory = directory
        self.state = StateDirectory(directory / ".flow", "shop")
        self.log, self.go, self.shift = directory / "run.log", directory / "go", directory / "shift"
        (directory / "blueprint.conf").write_text(BLUEPRINT.replace("LIMIT", limit))
        (directory / "feeding.py").write_text(MODULE)
        (directory / "shifted.py").write_text(SHIFTED)
        self.topic("counts").create()

    def topic(self, name: str) -> Any:
        return DeltaChannel(self.state.topics).topic(TopicPlan(name, name, "delta", True, (), (), {}))

    def numbers(self, name: str) -> list[int]:
        return [row["number"] for batch in self.topic(name).scan() for row in batch.to_pylist()]

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run the application until the block ends."""
        command = [sys.executable, str(self.directory / "shifted.py"), str(self.shift), "run", str(self.directory)]
        with (
            self.log.open("wb") as log,
            subprocess.Popen(command, stdout=log, stderr=log, env=self.environment) as run,
            killed_at_end(run),
        ):
            yield run

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(REPOSITORY)}

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Call a command in a process of its own."""
        command = [sys.executable, "-m", "cli.main", *arguments]
        return subprocess.run(
            command, env=self.environment, cwd=self.directory, capture_output=True, text=True, timeout=300, check=False
        )

    def wait_until(self, run: subprocess.Popen[bytes], reached: Callable[[], bool]) -> None:
        wait_until(run, self.log, reached)

    def shows(self, text: str) -> Callable[[], bool]:
        """Return a function that returns whether the run has printed a text."""
        return lambda: text in self.log.read_text(encoding="utf-8")


@pytest.mark.parametrize("hour", [3600, -3600], ids=["forward", "back"])
def test_a_clock_is_set_by_an_hour_during_a_wait(tmp_path: Path, hour: int) -> None:
    """The wait goes on, its text stays within the limit, and nothing is lost when the topic appears."""
    application = Application(tmp_path, "1000 s")
    with application.running() as run:
        application.wait_until(run, application.shows("feed: starting, waiting for the channel of theirs"))
        application.wait_until(run, application.shows("count: running"))
        application.shift.write_text(str(hour))
        before = json.loads(application.state.status_file.read_text(encoding="utf-8"))["written"]

        def is_written_again() -> bool:
            written = json.loads(application.state.status_file.read_text(encoding="utf-8"))["written"]
            return bool(abs(written - before) > 1800)

        application.wait_until(run, is_written_again)
        status = application.call("status", str(tmp_path))
        assert "waiting for the channel of theirs" in status.stdout, status.stdout + status.stderr
        assert "of 16 min 40 s" in status.stdout and "1 h" not in status.stdout.split("theirs;")[1].splitlines()[0]
        application.topic("theirs").create()
        application.go.touch()
        assert run.wait(300) == 0
    assert (application.numbers("theirs"), application.numbers("counts")) == ([0, 1, 2], [0, 1, 2])
    assert "failed" not in application.log.read_text(encoding="utf-8")


@pytest.mark.parametrize("hour", [3600, -3600], ids=["forward", "back"])
def test_a_wait_ends_although_the_clock_was_set(tmp_path: Path, hour: int) -> None:
    """Its limit is kept on another clock: set back by an hour, it would otherwise last an hour longer."""
    application = Application(tmp_path, "5 s")
    with application.running() as run:
        application.wait_until(run, application.shows("feed: starting, waiting for the channel of theirs"))
        application.shift.write_text(str(hour))
        application.wait_until(run, application.shows("feed: failed: the channel of theirs did not accept records"))
        application.go.touch()
        assert run.wait(300) == 1
    assert application.numbers("counts") == [0, 1, 2]


def test_requests_that_meet_an_upgrade(tmp_path: Path) -> None:
    """`flow scale` of a run that drains for its upgrade is refused with the reason, and the new version runs. A
    streamlet that waits for its channel does not delay the drain, and waits again in the new version."""
    application = Application(tmp_path, "1000 s")
    blueprint = tmp_path / "blueprint.conf"
    with application.running() as run:
        application.wait_until(run, application.shows("feed: starting, waiting for the channel of theirs"))
        application.wait_until(run, application.shows("count: running"))
        blueprint.write_text(blueprint.read_text() + "flow.streamlets.count.stuck-after = 9 min\n")
        command = [sys.executable, "-m", "cli.main", "upgrade", str(tmp_path)]
        with (
            subprocess.Popen(
                command, env=application.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            ) as upgrade,
            killed_at_end(upgrade),
        ):
            application.wait_until(run, application.shows("draining, within"))
            scaled = application.call("scale", "count", "2", "--path", str(tmp_path))
            assert scaled.returncode == 1
            assert "the run is being upgraded: repeat the command when the new version is up" in scaled.stderr
            application.go.touch()
            application.topic("theirs").create()
            output, _ = upgrade.communicate(timeout=300)
            assert upgrade.returncode == 0, output
        assert run.wait(300) == 0, application.log.read_text(encoding="utf-8")
    assert (application.numbers("theirs"), application.numbers("counts")) == ([0, 1, 2], [0, 1, 2])
