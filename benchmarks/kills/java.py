"""Streamlets that keep Spark objects, whose Java process is killed: each must process records again by itself.

Their modules keep functions, columns, schemas, broadcast variables, accumulators and tables that were created with the
killed Java process.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from benchmarks.kills.harness import Target
from benchmarks.kills.ledger import REPOSITORY
from benchmarks.processes import java_processes, started_by

APPLICATION = REPOSITORY / "benchmarks" / "held_objects"
STREAMLETS = frozenset({"functions", "columns", "schemas", "shared", "frames"})
_PATIENCE = 600.0  # seconds until a streamlet counts as lost


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
        [*command, *options], env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, stdout=subprocess.PIPE, text=True
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


class Java(Target):
    """One run of the application, whose Java processes are killed in each round."""

    kills = 10

    def __init__(self, directory: Path, dice: random.Random, options: Sequence[str] = ()) -> None:
        super().__init__(directory, dice)
        self._run = self.resources.enter_context(running(directory, *options))
        self._lost = self._idle(0)

    def play(self, round: str) -> tuple[bool, str]:
        """Kill Java, and wait until every streamlet has processed records again."""
        begun = time.monotonic()
        self._lost = self._idle(self._run.kill_java())
        return True, f"kill -9 of Java, all processed again after {time.monotonic() - begun:.0f} s"

    def _idle(self, since: int) -> list[str]:
        idle = self._run.processing(since, _PATIENCE)
        causes = [
            f"  {event['streamlet']}: {event['cause']} {event['frames']}"
            for event in self._run.events[since:]
            if event.get("streamlet") in idle and event.get("state") in ("backing-off", "failed")
        ]
        return [f"does not process: {', '.join(sorted(idle))}", *causes] if idle else []

    def problems(self) -> list[str]:
        """Return the streamlets that have not processed again."""
        return self._lost

    def settle(self) -> list[str]:
        """Return the streamlets that do not process."""
        return self._lost
