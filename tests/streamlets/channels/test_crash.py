"""Crash points kill the process and its children, and a kill leaves no partial commit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from streamlets.storage.crash import VARIABLE
from tests.streamlets.channels.topics import READING, add, ids_of, made

REPOSITORY = Path(__file__).resolve().parents[3]

APPEND = """
import sys
from pathlib import Path
from tests.streamlets.channels.topics import add, made
add(made(Path(sys.argv[1])), 1, range(10))
"""

WITH_CHILD = """
import subprocess, sys
from streamlets.storage.crash import crash_point
child = subprocess.Popen(["sleep", "600"])
print(child.pid, flush=True)
crash_point("after-manifest")
crash_point("after-manifest")
print("alive", flush=True)
crash_point("before-spark-commit")
"""


def run(program: str, *arguments: str, at: str) -> subprocess.CompletedProcess[str]:
    """Run a program with a crash point."""
    environment = os.environ | {VARIABLE: at}
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip


def has_ended(process: int) -> bool:
    """Return whether a process has ended, also if it is a zombie."""
    try:
        return " Z " in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True


def test_a_crash_point_kills_the_process_and_its_children() -> None:
    """A process that reaches the point for the second time is killed with its children. Other points do nothing."""
    ended = run(WITH_CHILD, at="after-manifest:2")
    assert ended.returncode == -signal.SIGKILL
    (child,) = ended.stdout.split()
    end = time.monotonic() + 300
    while not has_ended(int(child)):
        assert time.monotonic() < end, "the child is still running"
        time.sleep(0.02)


def test_other_points_do_nothing() -> None:
    """The process passes other points, and is killed at the named one."""
    ended = run(WITH_CHILD, at="before-spark-commit")
    assert ended.returncode == -signal.SIGKILL
    assert ended.stdout.split()[1:] == ["alive"]


@pytest.mark.parametrize("entry", [1, 2, 3])
def test_a_kill_during_rename_leaves_nothing_incomplete(tmp_path: Path, entry: int) -> None:
    """After a kill during the creation of the topic, its table or the commit, no partial data is visible, and the same
    operation succeeds again."""
    assert run(APPEND, str(tmp_path), at=f"during-rename:{entry}").returncode == -signal.SIGKILL
    if entry == 3:
        assert ids_of(made(tmp_path).scan()) == []
        temporary = list((tmp_path / "readings" / READING.fingerprint / "_delta_log").glob(".*.tmp"))
        assert temporary, "it was killed between writing and renaming"
    topic = made(tmp_path)
    add(topic, 1, range(10))
    assert ids_of(topic.scan()) == list(range(10))
