"""`HookedLogic`: the logic of a streamlet while queries of it are running, and the calls of its hooks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from blueprint.wording import time_limit
from streamlets.api.hooks import Hook, StopCause
from streamlets.api.logic import SparkStreamletLogic
from streamlets.runner.events.status import UnitId
from streamlets.runner.units.stack_frames import authors_frames
from streamlets.spark.failure import Failure, failure_of, text_of

Logic = SparkStreamletLogic[Any]

# As many calls of a hook may hang at the same time; each keeps a thread, and perhaps a connection.
_MOST_HANGING = 10
_NOT_REPEATED = "its queries have ended, and what they have committed stays; a restart would not call it again"


class HookError(Exception):
    """A hook raised an exception, or has not returned in time; `failure` says which, and why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.cause)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class HookLimits:
    """The time limits of the hooks in seconds."""

    on_start: float
    on_stop: float


class HookedLogic:
    """The logic of a streamlet, which its units share from the start of the first query to the end of the last.

    Its methods may be called from any thread; only `opened` and `close` wait for hooks.

    Arguments:
        limits: the time limits of the hooks.
        prepare: called in the thread of a hook before the hook, with the logic.
        log: takes the text of an exception of `on_stop` that is not the failure of a unit.
    """

    def __init__(self, limits: HookLimits, prepare: Callable[[Logic], None], log: Callable[[str], None]) -> None:
        self._limits, self._prepare, self._log = limits, prepare, log
        self._lock = threading.Lock()
        self._logic: Logic | None = None
        self._units: set[UnitId] = set()
        self._failed = ""  # the message of the first failure of a unit
        self._closed = threading.Event()  # whether the hooks of the logic before have returned
        self._closed.set()
        self._hanging: list[threading.Thread] = []

    def opened(self, unit: UnitId, create: Callable[[], Logic]) -> Logic:
        """Return the logic for a build by a unit; without one, create it and call its `on_start`.

        Builds of a streamlet must not overlap.

        Arguments:
            unit: the unit, which then uses the logic until it is given to `leave`.
            create: creates a logic.

        Raises:
            HookError: `on_start` failed.
            BaseException: the logic cannot be created.
        """
        self._closed.wait()
        with self._lock:
            if self._logic is not None:
                self._units.add(unit)
                return self._logic
        logic = create()
        self._start(logic)
        with self._lock:
            self._logic, self._units, self._failed = logic, {unit}, ""
        return logic

    def hand_over(self, unit: UnitId, parts: Collection[UnitId]) -> None:
        """Let the parts of a unit use its logic in its place; also those that have not been started."""
        with self._lock:
            if unit in self._units:
                self._units = self._units - {unit} | set(parts)

    def leave(self, unit: UnitId, cause: StopCause, then: Callable[[Failure | None], None]) -> None:
        """Tell that a unit has ended; after the last one `on_stop` is called, in a thread of its own.

        Arguments:
            cause: why the unit has ended.
            then: called at the end, here or in that thread, with the failure of `on_stop`.
        """
        with self._lock:
            self._units.discard(unit)
            self._failed = self._failed or (cause.error if cause.state == "failed" else "")
            logic = None if self._units else self._logic
            if logic is not None:
                self._logic = None
                if not _overrides(logic, "on_stop"):
                    logic = None
                else:
                    self._closed.clear()
            stop = StopCause("failed", self._failed) if self._failed else cause
        if logic is None:
            then(None)
            return
        stopped = logic
        threading.Thread(target=lambda: self._stop(stopped, stop, then), name=f"stop-{unit}", daemon=True).start()

    def close(self, cause: StopCause) -> None:
        """Call `on_stop` unless that was done, whatever units use the logic; wait until it has returned."""
        with self._lock:
            logic, self._logic = self._logic, None
            self._units = set()
        if logic is not None and _overrides(logic, "on_stop"):
            self._closed.clear()
            self._stop(logic, cause, lambda failure: self._log(failure.cause) if failure else None)
        self._closed.wait()

    def _start(self, logic: Logic) -> None:
        if not _overrides(logic, "on_start"):
            return
        abandoned = threading.Event()

        def start() -> None:
            logic.on_start()
            if abandoned.is_set():  # nothing else would release what it has prepared
                logic.on_stop(StopCause("failed", "`on_start` returned too late"))

        try:
            self._call("on_start", logic, start, self._limits.on_start)
        except HookError:
            abandoned.set()
            raise

    def _stop(self, logic: Logic, cause: StopCause, then: Callable[[Failure | None], None]) -> None:
        failure = None
        try:
            self._call("on_stop", logic, lambda: logic.on_stop(cause), self._limits.on_stop)
        except HookError as error:
            failure = replace(error.failure, fatal=_NOT_REPEATED)
        finally:
            self._closed.set()
        then(failure)

    def _call(self, hook: Hook, logic: Logic, call: Callable[[], None], seconds: float) -> None:
        """Call a hook in a thread of its own, because a hook that does not return must not hold up a worker."""
        self._hanging = [thread for thread in self._hanging if thread.is_alive()]
        if len(self._hanging) >= _MOST_HANGING:
            self._raise(hook, f"{len(self._hanging)} earlier calls have not returned yet", self._hanging[-1])
        returned: Future[None] = Future()

        def work() -> None:
            try:
                with suppress(Exception):  # Spark may have exited, and `on_stop` is called all the same
                    self._prepare(logic)
                call()
            except BaseException as error:  # noqa: BLE001 - it is the author's code
                returned.set_exception(error)
            else:
                returned.set_result(None)

        thread = threading.Thread(target=work, name=f"{hook}-{logic.context.streamlet_ref}", daemon=True)
        thread.start()
        wait([returned], seconds)
        if not returned.done():
            self._hanging.append(thread)
            self._raise(hook, f"it has not returned within {time_limit(seconds)}", thread)
        error = returned.exception()
        if error is not None:
            self._log(text_of(error))
            raise HookError(_named(hook, failure_of(error, building=False))) from error

    def _raise(self, hook: Hook, cause: str, thread: threading.Thread) -> None:
        raise HookError(_named(hook, Failure(cause, authors_frames(thread.ident))))


def _named(hook: Hook, failure: Failure) -> Failure:
    return replace(failure, cause=f"`{hook}` failed: {failure.cause}", hook=hook)


def _overrides(logic: Logic, hook: Hook) -> bool:
    return getattr(type(logic), hook) is not getattr(SparkStreamletLogic, hook)
