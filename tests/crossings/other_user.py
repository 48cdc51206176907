"""A second user of the machine: `nobody`, as whom a test runs Python. Only root can do that, as CI does."""

from __future__ import annotations

import contextlib
import functools
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

NOBODY = pwd.getpwnam("nobody").pw_uid

only_as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def as_nobody(program: str, *arguments: object, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Run a program in Python's language as another user, without any group, and with an empty environment.

    It runs in the root directory, with the Python of the system: the other user may not read the project.

    Arguments:
        program: its text.
        arguments: of the program.
        timeout: seconds until it is ended.
    """
    return subprocess.run(
        [_python(), "-I", "-c", program, *map(str, arguments)],
        user=NOBODY, group=NOBODY, extra_groups=(), cwd="/", env={"PATH": os.defpath},
        capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip


def made_by_nobody(path: Path) -> Path:
    """Give a file, directory or link to the other user."""
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    return path


@functools.cache
def _python() -> str:
    """Return a Python that the other user can run; that of the tests may be in a directory of their user.

    The test is skipped if there is none.
    """
    for python in (os.path.realpath(sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"):
        with contextlib.suppress(OSError):  # PermissionError, FileNotFoundError
            subprocess.run([python, "-c", ""], user=NOBODY, group=NOBODY, extra_groups=(), cwd="/", check=True)
            return python
    pytest.skip("no Python here can be run by another user")
