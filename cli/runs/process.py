"""The process of a run, and its replacement by a newer version: same process and directory, never unlocked."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from cli.application import Application
    from streamlets.runner.run import Upgrade

_VERIFY_TIMEOUT = 60.0
"""Seconds: verification takes half a second, so one that takes this long hangs."""


def arguments_of(app: Application) -> tuple[str, ...]:
    """Return the arguments that name an application from any directory: absolute paths, `--conf` and settings."""
    conf = [argument for file in app.conf for argument in ("--conf", str(Path(file).absolute()))]
    return (str(app.blueprint.absolute()), *conf, *app.settings)


@dataclass(frozen=True, slots=True)
class ThisRun:
    """This process as it was started; another version is started in the same way.

    Arguments:
        options: the options of `flow run`, without the arguments that name the application.
        interpreter: Python with its own options, and the program.
        environment: the environment before Spark's start changed it.
    """

    options: tuple[str, ...]
    interpreter: tuple[str, ...] = field(default_factory=lambda: _interpreter(sys.orig_argv, sys.argv))
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def check(self, arguments: Sequence[str], *options: str) -> str:
        """Verify another version in this process's environment.

        Arguments:
            arguments: the arguments that name the application.
            options: further options of `flow verify`.

        Returns:
            Why the version cannot run; empty when it can.
        """
        command = [*self.interpreter, "verify", "--format", "concise", *options, *arguments]
        try:
            process = subprocess.run(
                command, env=self.environment, capture_output=True, text=True, timeout=_VERIFY_TIMEOUT, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"`flow verify` failed in the runner's environment: {error}"
        if process.returncode == 0:
            return ""
        return f"`flow verify` found errors in the runner's environment:\n{process.stdout}{process.stderr}"

    def become(self, upgrade: Upgrade) -> NoReturn:
        """Replace this version by another one; the process, its terminal and its supervisor stay the same."""
        from streamlets.runner.state_directory.directory import HANDED_OVER

        os.set_inheritable(upgrade.lock, True)
        sys.stdout.flush()
        sys.stderr.flush()
        environment = dict(self.environment) | {HANDED_OVER: str(upgrade.lock)}
        os.execve(self.interpreter[0], [*self.interpreter, "run", *self.options, *upgrade.arguments], environment)


def _interpreter(original: Sequence[str], arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the words before a program's own arguments: Python with its options, and the program.

    Arguments:
        original: the command line of the process.
        arguments: the program and its own arguments.
    """
    own = len(arguments) - 1
    before = original[1 : len(original) - own] if own else original[1:]
    return (sys.executable, *before)
