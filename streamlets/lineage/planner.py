"""The lineage of a plan, computed by a process of its own: beside a run, with low priority, and without its Spark.

`python -m streamlets.lineage.planner FILE` reads a pickled plan from the standard input, which nobody else can see, and
writes the lineage of its streamlets to the file.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.lineage.model import StreamletLineage

if TYPE_CHECKING:
    from blueprint.plan import ApplicationPlan

_NICENESS = 19
_LAST = 2_000
"""Characters of the end of the output of a planner that failed."""


class PlannerError(Exception):
    """The lineage could not be computed; the message says why."""


class Planner:
    """A process that computes the lineage of an application.

    Arguments:
        plan: the application.
    """

    def __init__(self, plan: ApplicationPlan) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="streamlets-lineage-")
        self._file = Path(self._directory.name) / "lineage"
        self._output = (Path(self._directory.name) / "output").open("w+b")
        self._process = subprocess.Popen(
            # -P: files in the working directory do not shadow modules of Python.
            [sys.executable, "-P", "-m", "streamlets.lineage.planner", str(self._file)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that its Java ends with it
        )
        assert self._process.stdin is not None
        with suppress(BrokenPipeError), self._process.stdin as pipe:  # `result` reports why it has exited
            pipe.write(pickle.dumps(plan))

    def result(self) -> Mapping[str, StreamletLineage]:
        """Wait for the process, and return the lineage by streamlet.

        Raises:
            PlannerError: it failed, or was stopped.
        """
        code = self._process.wait()
        try:
            if code == 0:
                known: Mapping[str, StreamletLineage] = pickle.loads(self._file.read_bytes())
                return known
        except (OSError, pickle.PickleError) as error:
            raise PlannerError(f"the result of the planner cannot be read: {error}") from None
        self._output.seek(0)
        lines = self._output.read()[-_LAST:].decode(errors="replace").strip().splitlines()
        raise PlannerError(f"the planner exited with code {code}{f': {lines[-1]}' if lines else ''}")

    def stop(self) -> None:
        """Stop the process, and delete its files."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._output.close()
        self._directory.cleanup()


def main(file: str) -> None:
    """Compute the lineage of the plan on the standard input, and write it to a file."""
    from streamlets.lineage.buildable import buildable_application
    from streamlets.lineage.collector import LineageCollector
    from streamlets.plans import check_logic

    os.nice(_NICENESS)
    plan = pickle.load(sys.stdin.buffer)
    collector = LineageCollector()
    check_logic(buildable_application(plan), collector)
    Path(file).write_bytes(pickle.dumps(collector.streamlets))


if __name__ == "__main__":
    main(sys.argv[1])
