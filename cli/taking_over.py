"""How a run is begun and how a newer version takes its place: same process, same folder, no moment without a lock."""

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

# Verification takes half a second; what hangs for so long never comes back.
_VERIFY_PATIENCE = 60.0


def arguments_of(app: Application) -> tuple[str, ...]:
    """What names an application on a command line from anywhere: absolute paths, `--conf` and settings."""
    conf = [each for file in app.conf for each in ("--conf", str(Path(file).absolute()))]
    return (str(app.blueprint.absolute()), *conf, *app.settings)


@dataclass(frozen=True, slots=True)
class ThisRun:
    """This process as it was started: what another version in its place is started with.

    Arguments:
        options: of `flow run`, without what names the application.
        interpreter: Python with its own options and the program.
        environment: before Spark's start changed it.
    """

    options: tuple[str, ...]
    interpreter: tuple[str, ...] = field(default_factory=lambda: _interpreter(sys.orig_argv, sys.argv))
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def check(self, arguments: Sequence[str], *options: str) -> str:
        """Verify another version as it would be started here; why it cannot run, empty when it can.

        Arguments:
            options: more of `flow verify`.
        """
        command = [*self.interpreter, "verify", "--format", "concise", *options, *arguments]
        try:
            done = subprocess.run(
                command, env=self.environment, capture_output=True, text=True, timeout=_VERIFY_PATIENCE, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"it cannot be verified in the runner's place: {error}"
        return "" if done.returncode == 0 else f"it does not verify in the runner's place:\n{done.stdout}{done.stderr}"

    def become(self, upgrade: Upgrade) -> NoReturn:
        """Run another version in place of this one: the process, its terminal and its supervisor stay."""
        from streamlets.runner.state_directory.directory import HANDED_OVER

        os.set_inheritable(upgrade.lock, True)
        sys.stdout.flush()
        sys.stderr.flush()
        environment = dict(self.environment) | {HANDED_OVER: str(upgrade.lock)}
        os.execve(self.interpreter[0], [*self.interpreter, "run", *self.options, *upgrade.arguments], environment)


def _interpreter(original: Sequence[str], given: Sequence[str]) -> tuple[str, ...]:
    """What stands before a program's own arguments: Python as it was called, and the program."""
    own = len(given) - 1
    before = original[1 : len(original) - own] if own else original[1:]
    return (sys.executable, *before)
