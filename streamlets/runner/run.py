"""One run of an application, from its plan to its exit code."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

from blueprint.plan import ApplicationPlan
from streamlets.channels.base import TopicLostError, TopicWriteError
from streamlets.runner import session
from streamlets.runner.build import launch
from streamlets.runner.events import Event, RecordsMissed, RunEnded, RunStarted, UnitId, UnitProgressed
from streamlets.runner.facts import Drain, Fact, Seen, StopNow
from streamlets.runner.failure import text_of
from streamlets.runner.held import Holder, held_rows
from streamlets.runner.host import SparkHost
from streamlets.runner.log import RunLog
from streamlets.runner.maintenance import maintaining
from streamlets.runner.readers import readers_below
from streamlets.runner.session import SessionPlan
from streamlets.runner.signals import stopping_on_signals
from streamlets.runner.state import StateError, StateFolder
from streamlets.runner.status_file import StatusFile
from streamlets.runner.supervisor import Supervisor

ALL_ENDED = 0
FAILED = 1

# The loop wakes at least this often, to look whether the JVM lives and whether the end of a query went unheard.
_LOOK_EVERY = 5.0


_STOPPED = "stopped as asked"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run.

    Arguments:
        state: the application's folder.
        master: Spark's master; None for this machine.
        bounded: work off what there is in topological order, then end.
        fresh: forget topics and checkpoints first.
    """

    state: StateFolder
    master: str | None = None
    bounded: bool = False
    fresh: bool = False


def run(
    plan: ApplicationPlan, options: RunOptions, view: Callable[[Event], None], print_line: Callable[[str], None]
) -> int:
    """Run an application until all its streamlets have ended, or a signal asks for it; gives the exit code.

    Arguments:
        view: takes every event, in this thread.
        print_line: takes each line that Spark prints, from any thread.

    Raises:
        StateError: the state folder is owned by another run or cannot be written.
        SessionError: Spark cannot be started.
    """
    inbox: SimpleQueue[Fact] = SimpleQueue()
    supervising = threading.Event()

    def stop_now() -> None:
        if not supervising.is_set():  # nobody reads the inbox yet
            raise _StoppedTwiceError
        inbox.put(StopNow())

    with (
        stopping_on_signals(lambda: inbox.put(Drain()), stop_now) as take_signals,
        options.state.locked(),
    ):
        if options.fresh:
            options.state.clear()
        log, status = RunLog(options.state.logs / "run.log"), StatusFile(options.state.status_file)

        def emit(event: Event) -> None:
            log.event(event)
            status.event(event)
            view(event)

        emit(RunStarted(time.time(), plan.name, tuple(streamlet.ref for streamlet in plan.streamlets)))
        code, reason = FAILED, "it could not be started"
        try:
            session_plan = _session_plan(plan, options)
            host = SparkHost(lambda: session.start(session_plan, print_line), inbox.put, session_plan.jvm_log)
            take_signals()  # Spark has put its own handler
            try:
                if inbox.empty():
                    supervising.set()
                    code, reason = _supervised(plan, options, host, inbox, emit, log)
                else:
                    code, reason = ALL_ENDED, _STOPPED
            finally:
                host.stop()
        except _StoppedTwiceError:
            code, reason = ALL_ENDED, _STOPPED
        finally:
            emit(RunEnded(time.time(), code, reason))
            log.close()
    return code


class _StoppedTwiceError(BaseException):
    """A second signal while Spark starts: leave whatever this thread is waiting for."""


def _session_plan(plan: ApplicationPlan, options: RunOptions) -> SessionPlan:
    folder = Path(plan.folder).absolute()
    return SessionPlan(
        application=plan.name,
        logs=options.state.logs.absolute(),
        scratch=options.state.scratch.absolute(),
        master=options.master,
        python_path=(str(folder), str(folder / "src")),
        settings=plan.spark,
    )


def _supervised(
    plan: ApplicationPlan,
    options: RunOptions,
    host: SparkHost,
    inbox: SimpleQueue[Fact],
    emit: Callable[[Event], None],
    log: RunLog,
) -> tuple[int, str]:
    """Everything between the start of Spark and its end; gives the exit code and why it ended."""
    try:
        application = launch(plan, options.state, host=host, bounded=options.bounded, report=inbox.put, log=log.failure)
    except (TopicLostError, TopicWriteError, OSError) as error:
        log.failure(UnitId(plan.name, ""), text_of(error))
        raise StateError(f"the topics cannot be made: {error}", "free space or correct the permissions") from error
    held: dict[UnitId, int] = {}

    def note(event: Event) -> None:
        if isinstance(event, UnitProgressed):
            held[event.unit] = event.held
        emit(event)

    supervisor = Supervisor(
        application.units,
        application.producers,
        in_order=options.bounded,
        clock=time.time,
        uniform=random.random,
        emit=note,
    )
    with maintaining(
        application.topics.values(),
        lambda topic: readers_below(topic, options.state.checkpoints, plan.inlets_of(topic.plan.id)),
        lambda missed: inbox.put(Seen(RecordsMissed(**asdict(missed)))),
        lambda topic, error: log.failure(UnitId(topic.plan.id, "maintenance"), text_of(error)),
    ):
        asked = _watch(supervisor, host, inbox)
    for site in application.sites.values():
        site.resume()
    holders = {unit: Holder(application.output_mode(unit), held.get(unit)) for unit in supervisor.units}
    if options.bounded and host.alive:
        for event in held_rows(host.spark().session, holders, options.state.checkpoints, time.time):
            emit(event)
    if supervisor.failed:
        return FAILED, f"failed for good: {', '.join(str(unit) for unit in supervisor.failed)}"
    return ALL_ENDED, _STOPPED if asked else ""


def _watch(supervisor: Supervisor, host: SparkHost, inbox: SimpleQueue[Fact]) -> bool:
    """Feed facts to the supervisor until all has ended; whether somebody asked for the end."""
    asked = False
    looked = time.monotonic()
    while not supervisor.done:
        due = supervisor.tick()
        try:
            fact = inbox.get(timeout=_LOOK_EVERY if due is None else min(due, _LOOK_EVERY))
        except Empty:
            pass
        else:
            asked = asked or isinstance(fact, (Drain, StopNow))
            supervisor.handle(fact)
        if time.monotonic() - looked >= _LOOK_EVERY:
            looked = time.monotonic()
            if host.alive:  # else the units hear of it
                supervisor.check()
    return asked
