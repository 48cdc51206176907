"""The watch over the executors of a driver's Spark: their changes become events, and a Spark without any is ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from streamlets.cluster.executors import (
    EVERY,
    Added,
    Change,
    ExecutorWatch,
    MasterBack,
    MasterLost,
    Removed,
    look_at,
)
from streamlets.masters import on_cluster
from streamlets.runner.events.cluster_events import (
    ExecutorLost,
    ExecutorsAdded,
    MasterAnswersAgain,
    MasterUnreachable,
)
from streamlets.runner.events.event import Event
from streamlets.runner.hosts import HostContext
from streamlets.runner.supervision.facts import Seen
from streamlets.spark.session import Spark


def watch_executors(spark: Spark, context: HostContext, end: Callable[[str], None], patience: float) -> None:
    """Watch the executors of a Spark in a thread until its Java process has exited; a local Spark has none.

    Arguments:
        spark: the Spark.
        context: the host whose streamlets run on it.
        end: ends this Spark, for a reason.
        patience: the seconds for which a batch may wait without any executor.
    """
    if not on_cluster(spark.session):
        return

    def report(change: Change) -> None:
        context.report(Seen(event_of(change, context.refs, time.time())))

    watch = ExecutorWatch(lambda: look_at(spark.session), report, end, patience)

    def look() -> None:
        while spark.process.poll() is None:
            try:
                if watch.look():
                    return
            except Exception:  # noqa: BLE001 - Java has exited, which its keeper reports; else the next look may succeed
                pass
            time.sleep(EVERY)

    threading.Thread(target=look, name="executor-watch", daemon=True).start()


def event_of(change: Change, streamlets: tuple[str, ...], now: float) -> Event:
    """Return the event of a change.

    Arguments:
        change: the change.
        streamlets: the streamlets that run on these executors.
        now: when it was seen, in seconds since the epoch.
    """
    match change:
        case Added(executors, number, cores):
            places = tuple(f"{executor.id} on {executor.address}" for executor in executors)
            return ExecutorsAdded(now, streamlets, places, number, cores)
        case Removed(executor, reason, number, cores):
            return ExecutorLost(now, streamlets, executor.id, executor.address, reason, number, cores)
        case MasterLost():
            return MasterUnreachable(now, streamlets)
        case MasterBack(seconds):
            return MasterAnswersAgain(now, streamlets, seconds)
