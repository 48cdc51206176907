"""Programs of spouts: their end, that of all that they have started, their output and their environment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from queue import SimpleQueue

import psutil
import pytest

from benchmarks.processes import alive, left_behind
from streamlets.ingress.spouts.output_log import LINES_PER_SECOND, OutputLog
from streamlets.ingress.spouts.program import Program, ProgramEnd, environment

LIMIT = 120.0


class Started:
    """A program that was started for a test, its lines and its end."""

    def __init__(self, directory: Path, script: str, *, stdin: str = "", command: tuple[str, ...] = ()) -> None:
        self.lines: SimpleQueue[tuple[str, str]] = SimpleQueue()
        self._ends: SimpleQueue[ProgramEnd] = SimpleQueue()
        self.program = Program(
            command or ("sh", "-c", script),
            environment=environment({"OWN": "1"}),
            directory=directory,
            stdin=stdin,
            line=lambda stream, line: self.lines.put((stream, line)),
            ended=self._ends.put,
        )

    def line(self) -> str:
        """Return its next line."""
        return self.lines.get(timeout=LIMIT)[1]

    def end(self) -> ProgramEnd:
        """Wait for its end."""
        return self._ends.get(timeout=LIMIT)


@pytest.mark.parametrize(
    ("script", "end"),
    [
        ("exit 0", ProgramEnd(0)),
        ("exit 3", ProgramEnd(3)),
        ("kill -9 $$", ProgramEnd(-9)),
        ("sleep 1000 & exit 2", ProgramEnd(2, left=1)),
    ],
)
def test_the_end_of_a_program(tmp_path: Path, script: str, end: ProgramEnd) -> None:
    """It has the exit code or the signal, and the number of processes that were ended with the program."""
    assert Started(tmp_path, script).end() == end


def test_the_end_in_words() -> None:
    """An exit code, a signal with its name, or the error."""
    ends = (ProgramEnd(3), ProgramEnd(-9), ProgramEnd(-63), ProgramEnd(None, "no such file"))
    assert [end.text for end in ends] == ["exit code 3", "ended by SIGKILL", "ended by signal 63", "no such file"]


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    """The end has the reason of the system."""
    assert Started(tmp_path, "", command=(str(tmp_path / "none"),)).end() == ProgramEnd(
        None, "cannot be started: No such file or directory"
    )
    with pytest.raises(OSError, match="none"):
        Started(tmp_path / "none", "exit 0")


def test_standard_input_output_and_environment(tmp_path: Path) -> None:
    """The program reads the lines that were set, its output arrives by stream, and only few variables are inherited."""
    started = Started(tmp_path, "cat; echo warning >&2; env | cut -d= -f1 | sort | tr '\\n' ' '", stdin="a\nb\n")
    assert started.end() == ProgramEnd(0)
    lines = [started.lines.get() for _ in range(started.lines.qsize())]
    assert [line for stream, line in lines if stream == "stderr"] == ["warning"]
    *own, names = [line for stream, line in lines if stream == "stdout"]
    assert own == ["a", "b"]
    allowed = {"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "OWN", "PATH", "PWD", "TMPDIR", "TZ", "USER", "_"}
    assert {"OWN", "PATH"} <= set(names.split()) <= allowed | {"SHLVL", "OLDPWD"}


def test_a_process_that_leaves_the_group_ends_with_the_program(tmp_path: Path) -> None:
    """A daemon of its own session, whose parent has exited, is found and ended."""
    daemon = textwrap.dedent(
        """
        import os, sys, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                print(os.getpid(), flush=True)
                time.sleep(1000)
            os._exit(0)
        os.wait()
        time.sleep(1000)
        """
    )
    started = Started(tmp_path, "", command=(sys.executable, "-c", daemon))
    left = psutil.Process(int(started.line()))
    started.program.kill()
    started.end()
    assert left_behind([left]) == []


def test_a_program_that_ignores_sigterm(tmp_path: Path) -> None:
    """It goes on after SIGTERM, and is ended by SIGKILL."""
    started = Started(tmp_path, "trap 'echo ignored' TERM; echo ready; while true; do sleep 0.1; done")
    assert started.line() == "ready"
    started.program.terminate()
    while started.line() != "ignored":  # the shell may also report the end of `sleep`
        pass
    started.program.kill()
    assert started.end().code == -signal.SIGKILL


@pytest.mark.parametrize("victim", ["runner", "guard"])
def test_the_program_ends_with_the_runner(tmp_path: Path, victim: str) -> None:
    """However the runner ends, and also if the process between them is killed."""
    script = textwrap.dedent(
        """
        import sys, threading
        from pathlib import Path
        from streamlets.ingress.spouts.program import Program, environment
        program = Program(
            ["sh", "-c", "sleep 1000 & echo $$ $!; wait"], environment=environment({}), directory=Path("."), stdin="",
            line=lambda stream, line: print(program.pid, line, flush=True), ended=lambda end: None,
        )
        threading.Event().wait()
        """
    )
    repository = Path(__file__).parents[4]
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=repository) as runner:
        assert runner.stdout is not None
        guard, leader, child = map(int, runner.stdout.readline().split())
        processes = [psutil.Process(process) for process in ((leader, child) if victim == "runner" else (leader,))]
        assert alive(processes) == processes
        os.kill(runner.pid if victim == "runner" else guard, signal.SIGKILL)
        try:
            assert left_behind(processes) == []
        finally:
            runner.kill()
            if psutil.pid_exists(child):
                os.kill(child, signal.SIGKILL)


def test_a_flood_of_lines_is_limited(tmp_path: Path) -> None:
    """The lines of a second above the limit are counted, not logged; the next second begins again."""
    now = [0.0]
    log = OutputLog(tmp_path / "feed.log", clock=lambda: now[0])
    for number in range(LINES_PER_SECOND + 5):
        log.line("stderr", f"error {number}")
    log.line("spout", "what the runner reports is not limited")
    now[0] = 1.0
    log.line("stdout", "the end")
    log.close()
    lines = [line.partition(" ")[2] for line in (tmp_path / "feed.log").read_text().splitlines()]
    assert len(lines) == LINES_PER_SECOND + 3
    assert lines[-2:] == ["spout: 5 lines were not logged: more than 1,000 in a second", "stdout: the end"]


def test_the_traceback_at_the_end_is_known(tmp_path: Path) -> None:
    """One that the program has survived is not why it ended."""
    log = OutputLog(tmp_path / "feed.log")
    trace = [
        "Traceback (most recent call last):",
        '  File "feed.py", line 5, in <module>',
        "    parse()",
        "ValueError: x",
    ]
    for line in trace * 2:
        log.line("stderr", line)
    assert log.last_traceback.splitlines() == ["", *trace[1:]]
    log.line("stderr", "trying again")
    assert log.last_traceback == ""
    log.close()


def test_secrets_do_not_reach_the_log(tmp_path: Path) -> None:
    """Neither the file nor the last error has them."""
    log = OutputLog(tmp_path / "feed.log", mask=lambda text: text.replace("hunter2", "***"))
    log.line("stderr", "login with hunter2")
    assert log.last_error == "login with ***"
    log.close()
    assert "hunter2" not in (tmp_path / "feed.log").read_text()


@pytest.mark.parametrize("script", ["sleep 1000 & echo up; wait", "sh -c 'sleep 1000 & echo up; wait' & wait"])
def test_a_killed_guard_is_named(tmp_path: Path, script: str) -> None:
    """The end of the program names the killed process. Processes that the program has started end, too: they would hold
    its output for as long as they run."""
    started = Started(tmp_path, script)
    assert started.line() == "up"
    processes = psutil.Process(started.program.pid).children(recursive=True)
    assert len(processes) >= 2
    os.kill(started.program.pid, signal.SIGKILL)
    text = "was ended, because the process that watches it for the runner (`guard.py`) was killed"
    assert started.end().text == text
    assert left_behind(processes) == []


def test_a_killed_guard_is_named_beside_a_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has left the session of the program and holds its output does not delay the end for ever."""
    monkeypatch.setattr("streamlets.ingress.spouts.program._LAST_OUTPUT", 0.5)
    started = Started(tmp_path, "setsid sh -c 'echo up; exec sleep 1000' & wait")
    assert started.line() == "up"
    processes = psutil.Process(started.program.pid).children(recursive=True)
    try:
        os.kill(started.program.pid, signal.SIGKILL)
        assert "was killed" in started.end().text
    finally:
        for process in alive(processes):
            process.kill()
