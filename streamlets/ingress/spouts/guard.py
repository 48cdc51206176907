"""The process between the runner and the program of a spout: it ends the program and all descendants.

It uses only the standard library, as it is started with `python -I -S`. The runner holds the other end of a socket. Its
closing means that the runner has exited, for whatever reason. Descendants of the program that leave its process group
become children of this process when their parents exit, so that they are found.

    runner to guard: b"T" sends SIGTERM to the group, b"K" and the end of the socket end everything
    guard to runner: a line of JSON with the process id of the program, `pid`, before the program can write anything; a
        line when it has ended, with `code` and `left`, or `error` if it cannot be started
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Run the command in the arguments after the number of the socket's file descriptor."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    awake, wake = socket.socketpair()
    wake.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        program = subprocess.Popen(sys.argv[2:], start_new_session=True, preexec_fn=lambda: _begin(control))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        _report(control, {"error": getattr(error, "strerror", None) or str(error)})
        return
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # the streams end when the program and its descendants have ended
        os.dup2(null, stream)
    code: int | None = None
    while code is None:
        ready, _, _ = select.select([control, awake], [], [])
        if awake in ready:
            awake.recv(1024)
        if control in ready:
            order = control.recv(1)
            if order == b"T":
                _signal_group(program.pid, signal.SIGTERM)
            else:
                _end_all(program.pid)
        code = _exit_code(program.pid)
    left = _end_all(program.pid)
    _report(control, {"code": code, "left": left})


def _begin(control: socket.socket) -> None:
    """Prepare the process of the program: it ends with the guard, and the runner knows its id."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _report(control, {"pid": os.getpid()})


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):  # Linux only
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _exit_code(leader: int) -> int | None:
    """Reap the children that have exited; return the exit code of the program if it is one of them, else None."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while True:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process == 0:
                break
            if process == leader:
                code = os.waitstatus_to_exitcode(status)
    return code


def _end_all(leader: int) -> int:
    """End the group and all other descendants; return how many there were besides the program."""
    found: set[int] = set()
    while True:
        children = _children()
        found.update(child for child, running in children.items() if running)
        _signal_group(leader, signal.SIGKILL)
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        if not set(children) - {leader}:  # the program itself is reaped with its exit code
            return len(found - {leader})
        for child in children:
            if child != leader:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(child, 0)


def _children() -> dict[int, bool]:
    """Return whether each child of this process that was not reaped is running; {} on systems without `/proc`."""
    own = os.getpid()
    children = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):  # noqa: PTH208 - as few imports as possible
            if name.isdigit():
                with contextlib.suppress(OSError, IndexError), open(f"/proc/{name}/stat") as file:  # noqa: PTH123
                    state, parent = file.read().rpartition(")")[2].split()[:2]
                    if int(parent) == own:
                        children[int(name)] = state != "Z"
    return children


def _signal_group(leader: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _report(control: socket.socket, result: dict[str, object]) -> None:
    with contextlib.suppress(OSError):  # the runner has exited
        control.sendall(json.dumps(result).encode() + b"\n")


if __name__ == "__main__":
    main()
