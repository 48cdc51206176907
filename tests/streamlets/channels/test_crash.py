"""Crash points: they kill everything at once, and what a kill leaves is never half."""

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
    """Run a program that is to crash at a point."""
    environment = os.environ | {VARIABLE: at}
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip


def gone(process: int) -> bool:
    """Whether a process has ended (a zombie that nobody has waited for has)."""
    try:
        return " Z " in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True


def test_a_crash_point_kills_the_process_and_its_children() -> None:
    """At the second passage of the named point the process and what it started are killed; other points do nothing."""
    ended = run(WITH_CHILD, at="after-manifest:2")
    assert ended.returncode == -signal.SIGKILL
    (child,) = ended.stdout.split()
    end = time.monotonic() + 300
    while not gone(int(child)):
        assert time.monotonic() < end, "the child lives on"
        time.sleep(0.02)


def test_another_name_does_nothing() -> None:
    """A point that is not named is passed; one that is named later still kills."""
    ended = run(WITH_CHILD, at="before-spark-commit")
    assert ended.returncode == -signal.SIGKILL
    assert ended.stdout.split()[1:] == ["alive"]


@pytest.mark.parametrize("entry", [1, 2, 3])
def test_a_kill_during_rename_leaves_nothing_half(tmp_path: Path, entry: int) -> None:
    """Killed while making the topic, its table or the commit: nothing half is visible, and the same again succeeds."""
    assert run(APPEND, str(tmp_path), at=f"during-rename:{entry}").returncode == -signal.SIGKILL
    if entry == 3:
        assert ids_of(made(tmp_path).scan()) == []
        left = list((tmp_path / "readings" / READING.fingerprint / "_delta_log").glob(".*.tmp"))
        assert left, "it was killed between writing and naming"
    topic = made(tmp_path)
    add(topic, 1, range(10))
    assert ids_of(topic.scan()) == list(range(10))
