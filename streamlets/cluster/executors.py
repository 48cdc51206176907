"""The executors of a running Spark: which of them exist, why others were removed, and for how long none has existed.

Spark keeps the list itself (`AppStatusStore`), with the reason of each removal, so that a look costs a few calls of its
Java process and a connection to the master. A listener would be called for each task, too.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY = 3.0
"""Seconds between two looks."""

_DRIVER = "driver"
_STANDALONE = re.compile(r"spark://(?P<addresses>.+)")
_CONNECT = 2.0
# Executors that were removed stay in Spark's list. A reason is a sentence or two, for some of them with a stack trace.
_REASON = re.compile(r"[^\n]{0,300}")


@dataclass(frozen=True, slots=True)
class Executor:
    """An executor.

    Arguments:
        id: its number in the application, which is never reused.
        address: the host and the port on which it listens.
        cores: the number of tasks that run on it at the same time.
    """

    id: str
    address: str
    cores: int


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at a Spark has seen.

    Arguments:
        executors: the executors that exist, by id.
        removed: why executors were removed, by id.
        working: whether a job runs, or waits for executors.
        stopped: whether Spark has stopped itself, as it does if the cluster ends the application.
        master: whether the master answers; None if that is not known.
        registered: whether the master knows the application; None if that is not known. Only asked without executors.
    """

    executors: Mapping[str, Executor] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)
    working: bool = False
    stopped: bool = False
    master: bool | None = None
    registered: bool | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """Executors have joined; `number` with `cores` exist now."""

    executors: tuple[Executor, ...]
    number: int
    cores: int


@dataclass(frozen=True, slots=True)
class Removed:
    """An executor was removed; `number` with `cores` remain."""

    executor: Executor
    reason: str
    number: int
    cores: int


@dataclass(frozen=True, slots=True)
class MasterLost:
    """The master does not answer."""


@dataclass(frozen=True, slots=True)
class MasterBack:
    """The master answers again, after so many seconds."""

    seconds: float


Change = Added | Removed | MasterLost | MasterBack


class ExecutorWatch:
    """Finds changes of executors, and that a Spark can no longer work.

    Arguments:
        look: looks at Spark.
        report: takes each change.
        give_up: takes the reason, once, if Spark cannot work any more.
        patience: seconds after which Spark is ended if a job waits and no executor exists.
        timer: seconds of a monotonic clock.
    """

    def __init__(
        self,
        look: Callable[[], Look],
        report: Callable[[Change], None],
        give_up: Callable[[str], None],
        patience: float,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look, self._report, self._give_up = look, report, give_up
        self._patience, self._timer = patience, timer
        self._known: Mapping[str, Executor] = {}
        self._reason = ""
        self._idle_since: float | None = None
        self._master_lost: float | None = None

    def look(self) -> bool:
        """Look once; return whether Spark was ended, after which there is nothing to look at."""
        seen = self._look()
        self._compare_executors(seen)
        self._compare_master(seen)
        reason = self._reason_to_give_up(seen)
        if reason:
            self._give_up(reason)
        return bool(reason)

    def _compare_executors(self, seen: Look) -> None:
        number, cores = len(seen.executors), sum(executor.cores for executor in seen.executors.values())
        for id, executor in self._known.items():
            if id not in seen.executors:
                self._reason = seen.removed.get(id, "")
                self._report(Removed(executor, self._reason, number, cores))
        if added := tuple(executor for id, executor in seen.executors.items() if id not in self._known):
            self._report(Added(added, number, cores))
        self._known = dict(seen.executors)

    def _compare_master(self, seen: Look) -> None:
        if seen.master is False and self._master_lost is None:
            self._master_lost = self._timer()
            self._report(MasterLost())
        elif seen.master and self._master_lost is not None:
            self._report(MasterBack(self._timer() - self._master_lost))
            self._master_lost = None

    def _reason_to_give_up(self, seen: Look) -> str:
        if seen.stopped:
            return "Spark has stopped, because the cluster does not run the application"
        if not seen.executors and seen.registered is False:
            return "the master of the cluster was started again and does not know the application any more"
        if seen.executors or not seen.working:
            self._idle_since = None
            return ""
        if self._idle_since is None:
            self._idle_since = self._timer()
        seconds = self._timer() - self._idle_since
        if seconds < self._patience:
            return ""
        last = f"; the last one was removed: {self._reason}" if self._reason else ""
        return f"a batch has waited for an executor of the cluster for {seconds:.0f} s{last}"


def look_at(session: SparkSession, *, ask_master: bool = True) -> Look:
    """Return the executors of a Spark.

    Arguments:
        session: a session of the Spark.
        ask_master: whether to connect to the master, which logs each connection, and to ask it if no executor exists.

    Raises:
        Exception: its Java process does not answer, for which py4j has several exceptions.
    """
    context: Any = session.sparkContext._jsc.sc()  # noqa: SLF001 - Spark has no public way for Python
    if context.isStopped():
        return Look(stopped=True)
    executors, removed = {}, {}
    listed = context.statusStore().executorList(False)
    for number in range(listed.size()):
        entry = listed.apply(number)
        id = str(entry.id())
        if id == _DRIVER:
            continue
        if entry.isActive():
            executors[id] = Executor(id, str(entry.hostPort()), int(entry.totalCores()))
        else:
            reason = entry.removeReason()
            removed[id] = shortened(str(reason.get())) if reason.isDefined() else ""
    working = bool(session.sparkContext.statusTracker().getActiveJobsIds())
    if not ask_master:
        return Look(executors, removed, working)
    master = answers(str(context.master()))
    known = registered(session) if master and not executors else None
    return Look(executors, removed, working, master=master, registered=known)


def registered(session: SparkSession) -> bool | None:
    """Return whether a standalone master knows the application; None if no active master answers.

    A master that was started again without recovery does not, and never tells the driver. It is asked as its own page
    asks it, over the driver's authenticated connections.

    Arguments:
        session: a session of a Spark on a standalone cluster.
    """
    from py4j.protocol import Py4JJavaError

    context: Any = session.sparkContext._jsc.sc()  # noqa: SLF001 - Spark has no public way for Python
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001
    deploy = jvm.org.apache.spark.deploy
    request = getattr(getattr(deploy, "DeployMessages$RequestMasterState$"), "MODULE$")
    answer_class = jvm.java.lang.Class.forName("org.apache.spark.deploy.DeployMessages$MasterStateResponse")
    for host, port in _addresses(str(context.master())):
        with suppress(Py4JJavaError):  # it does not answer, or another server listens there
            master = (
                context.schedulerBackend()
                .rpcEnv()
                .setupEndpointRef(jvm.org.apache.spark.rpc.RpcAddress(host, port), "Master")
            )
            state = master.askSync(request, jvm.scala.reflect.ClassTag.apply(answer_class))
            if str(state.status()) == "ALIVE":  # neither a standby nor a master that still recovers
                return session.sparkContext.applicationId in {str(known.id()) for known in state.activeApps()}
    return None


def _addresses(master: str) -> list[tuple[str, int]]:
    """Return the addresses of a standalone master, which may be several masters; none of other masters."""
    match = _STANDALONE.fullmatch(master)
    addresses = (address.rpartition(":") for address in match["addresses"].split(",")) if match else ()
    return [(host, int(port)) for host, _, port in addresses if port.isdecimal()]


def shortened(reason: str) -> str:
    """Return the first line of a reason of Spark, without the full stop at its end."""
    match = _REASON.match(reason.strip())
    return match[0].strip().rstrip(".") if match else ""


def answers(master: str) -> bool | None:
    """Return whether a standalone master accepts connections; None for other masters.

    Arguments:
        master: its URL, which may name several masters of which one is active.
    """
    if _STANDALONE.fullmatch(master) is None:
        return None
    for host, port in _addresses(master):
        with suppress(OSError), socket.create_connection((host.strip("[]"), port), _CONNECT):
            return True
    return False
