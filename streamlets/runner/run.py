"""One run of an application, from its plan to its exit code."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue

from blueprint.core_settings import Isolation, Resources
from blueprint.plan import ApplicationPlan
from blueprint.settings.secret_sources import secrets_of_process
from streamlets.channels.base import Channel, TopicResource
from streamlets.runner.channel_questions import ChannelQuestions
from streamlets.runner.checkpoints.checkpoint import checkpoints_in
from streamlets.runner.checkpoints.readers import readers_below
from streamlets.runner.checkpoints.reset import reset
from streamlets.runner.deployment import descriptor_text, store_descriptor, with_version
from streamlets.runner.events.history import EventHistory
from streamlets.runner.events.log import RunLog
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.record_events import RecordsMissed
from streamlets.runner.events.run_events import RunEnded, RunStarted, SparkStarting
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.status_file import StatusFile
from streamlets.runner.events.unit_events import UnitWarned
from streamlets.runner.events.view import View
from streamlets.runner.hosts import Host, HostContext
from streamlets.runner.inbox import ENDING, Inbox, cause_of_end, take_events
from streamlets.runner.kinds import on_spark, open_hosts, require_kinds
from streamlets.runner.maintenance import maintaining
from streamlets.runner.memory import share_memory
from streamlets.runner.observer import Observer, observing
from streamlets.runner.openings import dependencies_of
from streamlets.runner.orders import CheckUpgrade, Orders
from streamlets.runner.periodic import repeating
from streamlets.runner.resources.deletion import is_begun
from streamlets.runner.resources.of_run import RunResources
from streamlets.runner.samples.view import SampleView
from streamlets.runner.signals import stopping_on_signals
from streamlets.runner.state_directory.control import Request
from streamlets.runner.state_directory.directory import ACCESS, StateDirectory, StateError
from streamlets.runner.state_directory.places import take_place
from streamlets.runner.supervision.clock_check import ClockCheck
from streamlets.runner.supervision.environment import Environment
from streamlets.runner.supervision.facts import Drain, Fact, Seen, StopNow
from streamlets.runner.supervision.supervisor import Supervisor
from streamlets.runner.topics import channels_of
from streamlets.runner.trace_ids import LoggedIds
from streamlets.runner.trial import Trial, UpgradeOutcome, read_outcome, write_outcome
from streamlets.spark.failure import text_of
from streamlets.spark.output import masked_output

ALL_ENDED = 0
FAILED = 1

# The loop wakes at least this often (seconds), to check the JVM and to notice the end of a query that was not reported.
_LOOK_EVERY = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a run.

    Arguments:
        state: the application's state directory.
        master: Spark's master; None for this machine.
        isolation: whether streamlets run on one Spark or in driver processes; None for the plan's setting.
        bounded: process all available data in topological order, then exit.
        fresh: delete topics and checkpoints first.
        resources: what the run creates and deletes; None for the plan's setting.
        drain_within: seconds after which a drain becomes an immediate stop; None for never.
        fail_fast: drain the run as soon as one streamlet has failed for good.
        json_log: write the log file as JSON lines.
        arguments: the arguments of `flow run` that identify the application, stored for an upgrade.
        compared: the descriptor in the state directory that the plan was compared with, as text; None without one.
        reset: the queries that start again with a new checkpoint, as `streamlet.query`, or `streamlet` for all of its.
        taken_over: whether the previous version, in this process, has already compared and reset them.
        check_upgrade: returns why a version with these arguments cannot take over, empty when it can.
        check_return: the same for a return to the previous version, which must be able to read the new records.
    """

    state: StateDirectory
    master: str | None = None
    isolation: Isolation | None = None
    bounded: bool = False
    fresh: bool = False
    resources: Resources | None = None
    drain_within: float | None = None
    fail_fast: bool = False
    json_log: bool = False
    arguments: tuple[str, ...] = ()
    compared: str | None = None
    reset: tuple[str, ...] = ()
    taken_over: bool = False
    check_upgrade: CheckUpgrade = lambda arguments: "this run cannot be upgraded"
    check_return: CheckUpgrade = lambda arguments: "this run cannot be upgraded"


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The version that takes over in this process.

    Arguments:
        arguments: the arguments of its `flow run`.
        lock: a file descriptor that keeps the lock of the state directory for it.
    """

    arguments: tuple[str, ...]
    lock: int


def run(
    plan: ApplicationPlan, options: RunOptions, views: Sequence[View], print_line: Callable[[str], None] = print
) -> tuple[int, Upgrade | None]:
    """Run an application until all its streamlets have ended or it is stopped.

    Arguments:
        views: take every event, in this thread, after the log and the status file.
        print_line: takes each line that Spark prints, from any thread.

    Returns:
        The exit code, and the version that takes over if the run was ended by an upgrade.

    Raises:
        StateError: the state directory is owned by another run or cannot be written.
        SessionError: Spark cannot be started.
        PluginError: no installed package registers the kind of a streamlet.
    """
    require_kinds(plan)
    share_memory(plan)
    plan = with_version(_with_isolation(plan, options.isolation))
    secrets = secrets_of_process(plan, os.environ)
    inbox: Inbox = SimpleQueue()
    supervising = threading.Event()

    def stop_now(name: str) -> None:
        if not supervising.is_set():  # the inbox is not read yet
            raise _StoppedTwiceError
        inbox.put(StopNow(f"stopped at once by {name}"))

    with (
        stopping_on_signals(lambda name: inbox.put(Drain(f"stopped by {name}")), stop_now) as take_signals,
        options.state.locked(ACCESS[plan.settings.state_access]) as lock,
        masked_output(secrets.without),
        SampleView(options.state) as samples,
    ):
        if options.fresh:
            options.state.clear({topic.name for topic in plan.topics if not topic.managed})
        elif not options.taken_over and not is_begun(options.state):  # nothing is left of a version to compare with
            _require_unchanged(options.state, options.compared)
        moved = _take_place(plan, options.state)
        ids = LoggedIds(options.state.checkpoints) if any(view.traced for view in views) else None
        log = RunLog(options.state.logs / "run.log", json=options.json_log, mask=secrets.masked, ids=ids)
        status = StatusFile(options.state.status_file)
        history = EventHistory(options.state.event_history)
        options.state.keep_launch(options.arguments)
        planned = {streamlet.ref: streamlet.settings.replicas for streamlet in plan.streamlets}
        orders = Orders(options.state, inbox.put, options.check_upgrade, log.note, planned)
        upgraded = read_outcome(options.state) if options.taken_over else None
        trial = Trial(options.state, upgraded or UpgradeOutcome(""), options.check_return, time.monotonic)

        events = Publisher((log, status, samples, history, *views), secrets.data)
        events.publish(RunStarted(time.time(), plan.name, tuple(streamlet.ref for streamlet in plan.streamlets)))
        if moved:
            events.publish(UnitWarned(time.time(), UnitId(plan.name), moved))
        code, reason = FAILED, "the run could not be started"
        resources = RunResources(
            plan=plan, state=options.state, mode=options.resources or plan.settings.resources, log=log,
            publish=events.publish,
        )  # fmt: skip
        clean = False
        try:
            topics = resources.prepare()
            if spark := on_spark(plan).streamlets:
                events.publish(SparkStarting(time.time(), tuple(streamlet.ref for streamlet in spark)))
            with repeating(lambda _: status.write(time.time()), name="status", interval=_LOOK_EVERY):
                context = HostContext(
                    plan=plan, state=options.state, master=options.master, bounded=options.bounded,
                    resting=orders.paused, report=inbox.put, log=log.failure, print_line=print_line,
                    secrets=secrets,
                )  # fmt: skip
                hosts = open_hosts(context, plan.settings.isolation)
            take_signals()  # Spark has installed its own handler
            try:
                reason = cause_of_end(inbox, requests=False)
                if reason:
                    code = ALL_ENDED
                else:
                    supervising.set()
                    supervision = _Supervision(
                        plan=plan, options=options, topics=topics, hosts=hosts, inbox=inbox, events=events, log=log,
                        status=status, orders=orders, trial=trial,
                    )  # fmt: skip
                    code, reason, clean = supervision.run()
            finally:
                hosts.stop()
            for event in take_events(inbox):  # what is known only after the end
                events.publish(event)
            if clean and (left := resources.release(lambda: cause_of_end(inbox))):
                code, reason = FAILED, left
        except _StoppedTwiceError:
            code, reason = ALL_ENDED, "stopped while Spark was starting"
        finally:
            orders.close()
            events.publish(RunEnded(time.time(), code, reason))
            log.close()
            history.close()
        if orders.upgrade is None:
            return code, None
        _reset(options.state, orders.upgrade.reset, channels_of(plan, options.state).values())
        if orders.upgrade.id:
            # No return is possible when queries were reset (their state is lost) or the code was replaced in place.
            returnable = not orders.upgrade.reset and orders.upgrade.arguments != options.arguments
            write_outcome(options.state, UpgradeOutcome(orders.upgrade.id, options.arguments if returnable else ()))
        return code, Upgrade(orders.upgrade.arguments, os.dup(lock))


def _with_isolation(plan: ApplicationPlan, isolation: Isolation | None) -> ApplicationPlan:
    """Return a plan with the isolation of the command line, if it is given."""
    return plan if isolation is None else replace(plan, settings=replace(plan.settings, isolation=isolation))


def _take_place(plan: ApplicationPlan, state: StateDirectory) -> str:
    """Record where the state and the project are; return a notice for people if they were elsewhere.

    Raises:
        StateError: the state directory cannot be written.
    """
    try:
        return take_place(state, Path(plan.directory))
    except OSError as error:
        raise StateError(
            f"cannot write to the state directory {state.directory}: {error.strerror or error}",
            "free disk space, correct the permissions, or choose another state directory with `--state-dir`",
        ) from error


def _require_unchanged(state: StateDirectory, compared: str | None) -> None:
    """Require that no other version has run since the comparison, which was made without the lock.

    Raises:
        StateError: another version has run.
    """
    if descriptor_text(state) != compared:
        raise StateError(
            f"another version of {state.application} has run on {state.directory} since the comparison",
            "run the command again to compare with that version",
        )


def _reset(state: StateDirectory, names: tuple[str, ...], channels: Iterable[Channel]) -> None:
    """Reset the checkpoints of queries or streamlets, for a change whose loss of state was accepted.

    Raises:
        StateError: the state directory cannot be written.
    """
    checkpoints = [
        checkpoint
        for checkpoint in checkpoints_in(state.checkpoints)
        if checkpoint.name in names or checkpoint.streamlet in names
    ]
    try:
        reset(state, checkpoints, channels)
    except OSError as error:
        raise StateError(
            f"cannot reset the checkpoints: {error}",
            "free disk space or correct the permissions, then reset them with `flow checkpoints reset`",
        ) from error


class _StoppedTwiceError(BaseException):
    """A second signal while Spark is starting; raised in the signal handler to interrupt the main thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Supervision:
    """The part of a run from the start of its first unit to the end of its last one."""

    plan: ApplicationPlan
    options: RunOptions
    topics: Mapping[str, TopicResource]
    hosts: Host
    inbox: Inbox
    events: Publisher
    log: RunLog
    status: StatusFile
    orders: Orders
    trial: Trial
    missed: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def run(self) -> tuple[int, str, bool]:
        """Supervise the units; return the exit code, the reason for the end, and whether all units have completed."""
        plan, options = self.plan, self.options
        _reset(options.state, options.reset, channels_of(plan, options.state).values())
        store_descriptor(options.state, plan)
        for event in take_events(self.inbox):  # what happened before the first unit starts is reported before
            self.events.publish(event)
        supervisor = Supervisor(
            self.hosts.units,
            dependencies_of(plan),
            Environment(emit=self.events.publish, ask_channels=ChannelQuestions(plan, self.topics, self.inbox.put)),
            in_order=options.bounded,
            drain_within=options.drain_within,
            fail_fast=options.fail_fast,
            paused=self.orders.paused,
        )
        with maintaining(
            self.topics.values(),
            lambda topic: readers_below(topic, options.state.checkpoints, plan.inlets_of(topic.plan.id)),
            lambda missed: self.inbox.put(Seen(RecordsMissed(**asdict(missed)))),
            lambda topic, error: self.log.failure(UnitId(topic.plan.id, "maintenance"), text_of(error)),
        ):
            observer = Observer(on_spark(plan), options.state, lambda: self.events.status, self.inbox.put, time.time)
            with observing(observer, lambda error: self.log.failure(UnitId(plan.name, "observer"), text_of(error))):
                reason = self._watch(supervisor)
        for event in take_events(self.inbox):  # the last measurements
            self.events.publish(event)
        if options.bounded or supervisor.completed:
            self._report_rows_in_state(supervisor.units)
        if supervisor.failed:
            return FAILED, f"failed for good: {', '.join(str(unit) for unit in supervisor.failed)}", False
        if supervisor.deadlock:
            return FAILED, supervisor.deadlock, False
        return ALL_ENDED, reason, supervisor.completed and not reason

    def _watch(self, supervisor: Supervisor) -> str:
        """Pass facts to the supervisor until all units have ended; return why the run was stopped, empty if it was
        not."""
        reason = ""
        clock_check = ClockCheck(time.time, time.monotonic)
        looked = time.monotonic()
        while not supervisor.done:
            due = supervisor.tick()
            try:
                fact = self.inbox.get(timeout=_LOOK_EVERY if due is None else min(due, _LOOK_EVERY))
            except Empty:
                pass
            else:
                if isinstance(fact, Request):
                    reason = reason or (fact.cause if fact.command in ENDING else "")
                    self.orders.carry_out(fact, supervisor)
                elif not self._repeated(fact):
                    if isinstance(fact, (Drain, StopNow)):  # a signal
                        reason, self.orders.upgrade = reason or fact.cause, None
                    supervisor.handle(fact)
            previous = () if reason else self.trial.look(self.events.status.units)
            if previous:
                reason = "the new version failed"
                self.orders.return_to(previous, reason, self.options.drain_within, supervisor)
            if time.monotonic() - looked >= _LOOK_EVERY:
                looked = time.monotonic()
                self.status.write(time.time())
                supervisor.check()
                if seconds := clock_check.seconds():  # a query would wait that much longer for its trigger
                    supervisor.clock_set_back(seconds)
        return reason

    def _repeated(self, fact: Fact) -> bool:
        """Return whether a fact is a loss of records that was reported.

        A query finds it at its start or after a batch, and so does the maintenance of topics. A loss that has grown is
        reported again.
        """
        if not isinstance(fact, Seen) or not isinstance(fact.event, RecordsMissed):
            return False
        key = (fact.event.topic, fact.event.reader, fact.event.first)
        known = self.missed.get(key, 0)
        self.missed[key] = max(known, fact.event.records)
        return fact.event.records <= known

    def _report_rows_in_state(self, units: Iterable[UnitId]) -> None:
        """Publish which rows remain in the state of units."""
        last = {id: self.events.status.units[id] for id in units}
        rows = {id: unit.pending_rows if unit.batch is not None else None for id, unit in last.items()}
        for event in self.hosts.rows_in_state(rows):
            self.events.publish(event)
