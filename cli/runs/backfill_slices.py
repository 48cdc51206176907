"""A range in slices of time, each of which is a backfill of its own, in a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from streamlets.backfills.model import Backfill
    from streamlets.backfills.store import Store

_LOOK_EVERY = 0.2


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice of a range, with its begin and end in seconds since the epoch."""

    begin: float
    end: float

    @property
    def bounds(self) -> tuple[str, str]:
        """Its begin and end as the values of `--from` and `--to`."""
        from streamlets.backfills.ranges import shown_time

        return shown_time(self.begin), shown_time(self.end)

    @property
    def label(self) -> str:
        """Its begin as a part of a name of a file or a backfill."""
        return self.bounds[0].replace(":", "-")


def slices(begin: float, end: float | None, every: float, now: float) -> list[Slice]:
    """Return the slices of a range.

    Arguments:
        begin: its begin, in seconds since the epoch.
        end: its end, where the last slice ends; None for all whole slices until now.
        every: the length of a slice in seconds.
        now: the current time.

    Raises:
        click.UsageError: there is no slice.
    """
    limit = now if end is None else end
    found: list[Slice] = []
    while (first := begin + len(found) * every) < limit and (end is not None or first + every <= limit):
        found.append(Slice(first, min(first + every, limit)))
    if not found:
        raise click.UsageError("there is no slice: the range is shorter than --every, or --from is not before --to")
    return found


@dataclass(slots=True)
class Slices:
    """Carries out the backfills of slices.

    Arguments:
        store: the backfills of the application.
        name: the first part of their names.
        command: returns the arguments of `flow` for a slice with a name.
        parallel: how many run at the same time.
        say: takes a slice, what happened, and the backfill if it is known.
    """

    store: Store
    name: str
    command: Callable[[Slice, str], Sequence[str]]
    parallel: int
    say: Callable[[Slice, str, Backfill | None], None]
    _running: dict[Slice, subprocess.Popen[bytes]] = field(default_factory=dict)
    _stopping: bool = False

    def carry_out(self, planned: Sequence[Slice], *, again: bool) -> bool:
        """Carry out the slices that are not done, and return whether all are done.

        A signal drains those that run, and no other one begins.

        Arguments:
            planned: the slices.
            again: whether to repeat those that are done.
        """
        waiting = [each for each in planned if again or not self._is_done(each)]
        for each in planned:
            if each not in waiting:
                self.say(each, "was done", self._stored(each))
        complete = True
        self.store.state.backfills.mkdir(exist_ok=True)
        with self._signals():
            while self._running or (waiting and not self._stopping):
                while waiting and len(self._running) < self.parallel and not self._stopping:
                    self._start(waiting.pop(0))
                time.sleep(_LOOK_EVERY)
                complete = self._look() and complete
        return complete and not waiting

    def _full_name(self, of: Slice) -> str:
        return f"{self.name}.{of.label}"

    def _log(self, of: Slice) -> Path:
        return self.store.state.backfills / f"{self._full_name(of)}.log"

    def _stored(self, of: Slice) -> Backfill | None:
        return self.store.read(self._full_name(of))

    def _is_done(self, of: Slice) -> bool:
        known = self._stored(of)
        return known is not None and known.phase == "done"

    def _start(self, of: Slice) -> None:
        with self._log(of).open("ab") as log:
            self._running[of] = subprocess.Popen(
                [sys.executable, "-m", "streamlets", *self.command(of, self._full_name(of))],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.say(of, "begins", None)

    def _look(self) -> bool:
        """Report the slices that have ended; return whether all of them are done."""
        complete = True
        for each, process in list(self._running.items()):
            code = process.poll()
            if code is None:
                continue
            del self._running[each]
            if code and not self._stopping:
                self.say(each, f"failed with code {code}, see {self._log(each)}", self._stored(each))
            else:
                self.say(each, "stopped" if code else "done", self._stored(each))
            complete = complete and code == 0
        return complete

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Pass signals to the running processes, which the terminal does not signal."""

        def stop(number: int, frame: object) -> None:
            self._stopping = True
            for process in self._running.values():
                process.send_signal(signal.SIGTERM)

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
