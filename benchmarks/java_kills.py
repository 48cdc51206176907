"""Kills Spark's Java process under streamlets that keep Spark objects: `python -m benchmarks.java_kills`.

After each kill every streamlet must process records again, without intervention. Their modules keep functions, columns,
schemas, broadcast variables, accumulators and tables that were created with the killed Java process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from benchmarks.processes import java_processes, started_by

APPLICATION = Path(__file__).resolve().parent / "held_objects"
STREAMLETS = frozenset({"functions", "columns", "schemas", "shared", "frames"})
_REPOSITORY = APPLICATION.parent.parent


class Run:
    """A run of the application, and its events.

    Arguments:
        process: `flow run` with `--format json`.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.events: list[dict[str, Any]] = []
        self._changed = threading.Condition()
        self._ended = False
        threading.Thread(target=self._listen, daemon=True).start()

    def java(self) -> list[psutil.Process]:
        """Return the Java processes of the run."""
        return java_processes(started_by(self.process.pid))

    def kill_java(self) -> int:
        """Kill all Java processes of the run; return the number of events before."""
        before = len(self.events)
        for process in self.java():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        return before

    def processing(self, since: int, patience: float, streamlets: frozenset[str] = STREAMLETS) -> frozenset[str]:
        """Wait until streamlets have processed records.

        Arguments:
            since: the number of earlier events, which are ignored.
            patience: the maximum time in seconds.
            streamlets: the names of the streamlets.

        Returns:
            The streamlets that have not processed any.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._idle(since, streamlets) or self._ended, patience)
            return self._idle(since, streamlets)

    def _idle(self, since: int, streamlets: frozenset[str]) -> frozenset[str]:
        """Return the streamlets without a batch that was started and committed after their last start."""
        again: set[str] = set()
        busy: set[str] = set()
        for event in self.events[since:]:
            if event.get("state") == "running":
                again.add(event["streamlet"])
            elif event.get("event") == "unit-progressed" and event.get("rows_in") and event["streamlet"] in again:
                busy.add(event["streamlet"])
        return streamlets - busy

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                if line.startswith("{"):
                    self.events.append(json.loads(line))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


@contextmanager
def running(state: Path, *options: str) -> Iterator[Run]:
    """Run the application on a state directory, and stop it at the end."""
    command = [sys.executable, "-m", "cli.main", "run", str(APPLICATION), "--format", "json", "--state-dir", str(state)]
    process = subprocess.Popen(
        [*command, *options], env={**os.environ, "PYTHONPATH": str(_REPOSITORY)}, stdout=subprocess.PIPE, text=True
    )
    try:
        yield Run(process)
    finally:
        process.terminate()
        try:
            process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main() -> int:
    """Kill, wait, and count the kills after which every streamlet processed again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--isolation", choices=["none", "process"], default="none")
    parser.add_argument("--patience", type=float, default=600.0, help="seconds until a streamlet counts as lost")
    options = parser.parse_args()
    recovered = 0
    with tempfile.TemporaryDirectory() as directory, running(Path(directory), "--isolation", options.isolation) as run:
        since = 0
        for kill in range(options.kills + 1):
            began = time.monotonic()
            idle = run.processing(since, options.patience)
            what = f"kill {kill}" if kill else "start"
            lost = ", ".join(sorted(idle)) or "none"
            print(f"{what}: {time.monotonic() - began:.1f} s, not processing: {lost}", flush=True)
            for event in run.events[since:]:
                if event.get("streamlet") in idle and event.get("state") in ("backing-off", "failed"):
                    print(f"  {event['streamlet']}: {event['cause']} {event['frames']}")
            recovered += bool(kill) and not idle
            if kill < options.kills:
                since = run.kill_java()
    print(f"{recovered} of {options.kills} kills: every streamlet processed again")
    return 0 if recovered == options.kills else 1


if __name__ == "__main__":
    sys.exit(main())
