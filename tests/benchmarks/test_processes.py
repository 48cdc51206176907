"""The view of processes that benchmarks and tests of complete runs have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from benchmarks.processes import alive, command_line, cpu_seconds, events, family, left_behind, wait_until

WORK = "import time\nwhile time.process_time() < 0.2: pass"


def test_waiting_for_a_run_that_has_ended_shows_its_output(tmp_path: Path) -> None:
    """A condition that can no longer become true is an error; one that is true at the end is not."""
    out = tmp_path / "run.out"
    with out.open("wb") as output:
        process = subprocess.Popen([sys.executable, "-c", "print('it broke'); exit(3)"], stdout=output)
    with pytest.raises(RuntimeError, match=r"(?s)ended with exit code 3.*it broke"):
        wait_until(process, out, lambda: False)
    wait_until(process, out, lambda: "it broke" in out.read_text())


def test_waiting_ends_after_its_time(tmp_path: Path) -> None:
    """If the condition never becomes true, the wait ends after the given time."""
    out = tmp_path / "run.out"
    out.write_text("all is well\n")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        with pytest.raises(RuntimeError, match=r"(?s)condition is not true after 0 s.*all is well"):
            wait_until(process, out, lambda: False, seconds=0.1)
        process.kill()


def test_events_are_complete_lines_from_an_offset(tmp_path: Path) -> None:
    """Events of an earlier run, other lines and incomplete lines are skipped."""
    out = tmp_path / "run.out"
    out.write_text('{"n": 0}\n')
    since = out.stat().st_size
    out.write_text('{"n": 0}\n{"n": 1}\nWARNING\n{"n": 2}\n{"n": ')
    assert events(out, since) == [{"n": 1}, {"n": 2}]


def test_the_time_of_ended_children_counts_on_request() -> None:
    """The processor time of a child is added to its parent's when the parent has waited for it."""
    me = [psutil.Process()]
    own, with_ended = cpu_seconds(me), cpu_seconds(me, ended=True)
    subprocess.run([sys.executable, "-c", WORK], check=True)
    assert cpu_seconds(me, ended=True) - with_ended >= cpu_seconds(me) - own + 0.1


def test_a_process_that_has_ended_is_not_alive() -> None:
    """A zombie has ended, too: it has no command line, and uses no time."""
    command = [sys.executable, "-c", "print('up', flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"  # Before that it may have no command line yet.
        member = psutil.Process(process.pid)
        assert member in family(os.getpid())
        assert alive([member]) == left_behind([member], seconds=0.0) == [member]
        assert "input()" in command_line(member)
        process.kill()
        assert left_behind([member]) == []
    assert (command_line(member), cpu_seconds([member])) == ("", 0.0)
