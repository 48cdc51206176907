"""A batch source under test: discoveries by hand or by its triggerer on a fake clock, and tasks batch by batch.

It needs no Spark: tasks are read in the process of the test, so that a debugger sees the author's code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.model.blueprint import DEAD_LETTERS
from blueprint.plan import StreamletPlan, TopicPlan
from blueprint.spelling import suggestion
from blueprint.wording import in_seconds
from streamlets.channels.base import TopicResource
from streamlets.contract.types import arrow_schema
from streamlets.ingress.batch_sources.context import SourceContext
from streamlets.ingress.batch_sources.cursor import TaskCursor, TaskOffset
from streamlets.ingress.batch_sources.reading import (
    LETTER,
    RECORD,
    Attempt,
    AttemptFailedError,
    SourceInstance,
    TaskReader,
)
from streamlets.ingress.batch_sources.settings import SourceSettings
from streamlets.ingress.batch_sources.streamlet import BatchSource
from streamlets.ingress.batch_sources.task_writer import Eater, TaskWriter
from streamlets.ingress.batch_sources.tasks import Task
from streamlets.ingress.triggerers import Triggerer, TriggererContext
from streamlets.ingress.triggerers.registry import make_triggerer
from streamlets.testkit.clock import TestClock
from streamlets.testkit.failures import TestkitError
from streamlets.testkit.step import STEP_SECONDS, Step
from streamlets.testkit.taps import OutletTap
from streamlets.time_limit import TimeLimitError, time_limit


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStep(Step):
    """The result of a step.

    Arguments:
        tasks: the tasks that were read.
        records: the number of records that were published.
        failed: the tasks that have failed for good, each with its reason.
        pauses: the pauses before further attempts, in seconds; a test does not wait for them.
    """

    tasks: tuple[Any, ...] = ()
    records: int = 0
    failed: tuple[tuple[Any, str], ...] = ()
    pauses: tuple[float, ...] = ()

    @property
    def rows_in(self) -> int:
        """The number of records that were read and published."""
        return self.records


class BatchSourceUnderTest:
    """A batch source that a test steps; `Testkit.batch_source` returns it.

        source = kit.batch_source(OrderFiles, parameters={"folder": "data", "discovery": {...}})
        assert source.advance("1 day") == ["2024-01-01T06:00:00+00:00"]  # the events of discoveries
        source.step()  # a batch of tasks
        rows = source.outlet("out").take()

    Attributes:
        plan: its plan.
        clock: the wall clock of its triggerer.
    """

    def __init__(
        self, create: Callable[[], BatchSource], plan: StreamletPlan, topics: Mapping[str, TopicResource],
        tasks: TopicPlan, letters: TopicPlan, clock: TestClock, seconds: float = STEP_SECONDS,
    ) -> None:  # fmt: skip
        """Take what the kit has made."""
        self.plan, self.clock = plan, clock
        self._seconds = seconds
        self._create, self._topics = create, topics
        self._tasks, self._letters = topics[tasks.id], topics[letters.id]
        self._settings = _settings(plan, tasks)
        self._offset = TaskOffset()
        self._cursor = TaskCursor(self._tasks)
        self._failures: list[BaseException] = []
        self._taps: dict[str, OutletTap] = {}
        self._events: list[str] = []
        self._error: BaseException | None = None
        self._discovering: BatchSource | None = None
        self._triggerer: Triggerer | None = None
        self._writer = TaskWriter(self._tasks, f"{plan.ref}.discovery", clock.time)
        self._instance = SourceInstance(self._settings, create, clock=clock.time)

    def discover(self, event: str = "") -> list[Any]:
        """Discover once, as after a trigger, and return the new tasks.

        Arguments:
            event: what triggers it.

        Raises:
            Exception: of the author's code. The tasks that it had passed before are kept.
        """
        if self._discovering is None:
            source = self._create()
            source.open(self.plan.parameters, self._context())
            self._discovering = source

        first = self._writer.next
        self._writer.begin(event)
        try:
            self._discovering.discover(Eater(self._writer), event)
            self._writer.finish()
        finally:
            self._writer.flush()
        return [task.value for task in self._waiting() if task.number >= first]

    def advance(self, by: str | timedelta) -> list[str]:
        """Advance the clock, with the triggerer of the blueprint, and return the events of the discoveries.

        The first call starts the triggerer, which waits for the clock, such as `cron` and `files`.

        Arguments:
            by: how far, such as `1 hour`.

        Raises:
            Exception: of the author's code, the first one; the clock is at the end nevertheless.
            TestkitError: the triggerer does not wait for the clock.
        """
        if self._triggerer is None:
            self._triggerer = self._started()
        self.clock.advance(by)
        events, self._events = self._events, []
        error, self._error = self._error, None
        if error is not None:
            raise error
        return events

    @property
    def waiting(self) -> list[Any]:
        """The tasks that were discovered and are not read."""
        return [task.value for task in self._waiting()]

    def fail(self, *errors: BaseException) -> None:
        """Have the next attempts to read a task fail at its end, one with each error.

        Arguments:
            errors: the errors, as `read_next` would raise them.
        """
        self._failures.extend(errors)

    def step(self, tasks: int | None = None, *, seconds: float | None = None) -> SourceStep:
        """Read the next batch of tasks and commit it, as a run does.

        Arguments:
            tasks: the largest number of tasks; default: `max-tasks-per-batch`.
            seconds: the limit; default: the kit's. It holds in the main thread.

        Raises:
            TaskFailedError: a task has failed for good, and the source is set to fail then; nothing is committed.
            TestkitError: the tasks are not read in time; nothing is committed.
        """
        limit = self._seconds if seconds is None else seconds
        try:
            with time_limit(limit):
                return self._step(tasks)
        except TimeLimitError:
            self._instance.close()
            raise TestkitError(
                f"`{self.plan.ref}` has not read its tasks within {in_seconds(limit)}; "
                "a push source passes None to `consume` at the end of a task"
            ) from None

    def run(self, *, seconds: float | None = None) -> SourceStep:
        """Discover once and read all tasks, as a run with `--available-now` does.

        Arguments:
            seconds: the limit of the discovery and of each batch; default: the kit's.

        Raises:
            Exception: of the author's code in the discovery.
            TaskFailedError: as for `step`.
            TestkitError: as for `step`.
        """
        limit = self._seconds if seconds is None else seconds
        try:
            with time_limit(limit):
                self.discover()
        except TimeLimitError:
            raise TestkitError(f"the discovery of `{self.plan.ref}` did not end within {in_seconds(limit)}") from None
        steps = []
        while self.waiting:
            steps.append(self.step(seconds=limit))
        return SourceStep(
            tasks=tuple(task for step in steps for task in step.tasks),
            records=sum(step.records for step in steps),
            failed=tuple(failed for step in steps for failed in step.failed),
            pauses=tuple(pause for step in steps for pause in step.pauses),
        )

    def _step(self, tasks: int | None) -> SourceStep:
        end = self._cursor.upto(self._offset, tasks if tasks is not None else self._settings.max_tasks)
        batch = self._cursor.between(self._offset, end)
        pauses: list[float] = []
        reader = TaskReader(self._settings, self, sleep=pauses.append, clock=self.clock.time)
        records: list[pa.RecordBatch] = []
        letters: list[dict[str, Any]] = []
        failed: list[tuple[Any, str]] = []
        for task in batch:
            for rows in reader.read(task):
                letters_of_task = [letter for letter in rows.column(LETTER).to_pylist() if letter is not None]
                failed += [(task.value, letter["reason"]) for letter in letters_of_task if _is_of_task(letter)]
                letters += letters_of_task
                if not letters_of_task:
                    records.append(pa.RecordBatch.from_struct_array(rows.column(RECORD)))
        outlet = self.plan.outlets[0]
        self._append(self._topics[outlet.topic], outlet.contract, records)
        contract = dead_letter_contract()
        rows = [pa.RecordBatch.from_pylist(letters, schema=arrow_schema(contract))] if letters else []
        self._append(self._letters, contract, rows)
        self._offset = end
        count = sum(rows.num_rows for rows in records)
        values = tuple(task.value for task in batch)
        return SourceStep(tasks=values, records=count, failed=tuple(failed), pauses=tuple(pauses))

    def restart(self) -> None:
        """Close all instances; the next discovery and the next step open others, as after a restart."""
        self._instance.close()
        source, self._discovering = self._discovering, None
        if source is not None:
            source.close()

    def close(self) -> None:
        """Stop the triggerer, and close the source."""
        if self._triggerer is not None:
            self._triggerer.stop()
        self.restart()
        self._writer.close()

    def outlet(self, name: str) -> OutletTap:
        """Return the tap that reads the records of the outlet `name`.

        Raises:
            TestkitError: there is no outlet with this name.
        """
        for outlet in self.plan.outlets:
            if outlet.name == name:
                return self._taps.setdefault(name, OutletTap(self._topics[outlet.topic], outlet.contract))
        known = suggestion(name, [outlet.name for outlet in self.plan.outlets])
        raise TestkitError(f"`{self.plan.ref}` has no outlet `{name}`; {known}")

    @property
    def dead_letters(self) -> OutletTap:
        """The failed tasks, and records that broke the contract of an outlet with dead letters, with their reasons."""
        return self._taps.setdefault("dead letters", OutletTap(self._letters, dead_letter_contract()))

    def attempt(self, task: Task) -> Attempt:
        """Read `task`, and fail if `fail` was called; see `Attempts.attempt`."""
        attempt = self._instance.attempt(task)
        if self._failures:
            attempt.records.close()
            error = self._failures.pop(0)
            self._instance.close()
            raise AttemptFailedError(f"{type(error).__name__}: {error}", repr(error)) from error
        return attempt

    def _waiting(self) -> list[Task]:
        cursor = TaskCursor(self._tasks)
        return cursor.between(self._offset, cursor.upto(self._offset, max(1, self._writer.next)))

    def _started(self) -> Triggerer:
        discovery = self._create().triggering(self.plan.parameters)
        triggerer = make_triggerer(discovery["triggerer"])
        directory = Path(self.plan.directory)
        context = TriggererContext(streamlet=self.plan.ref, directory=directory, clock=self.clock, fail=self._fail)
        triggerer.init(discovery.get("config", {}), context)
        triggerer.start(self._triggered)
        return triggerer

    def _triggered(self, event: str) -> bool:
        """Discover in the thread of the triggerer, so that the clock stands still meanwhile."""
        self._events.append(event)
        try:
            self.discover(event)
        except BaseException as error:  # noqa: BLE001 - `advance` raises it
            self._fail(error)
        return True

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error

    def _context(self) -> SourceContext:
        mounts = {name: Path(directory) for name, directory in self.plan.volume_mounts.items()}
        directory = Path(self.plan.directory)
        return SourceContext(
            streamlet=self.plan.ref,
            directory=directory,
            volume_mounts=mounts,
            contract=self.plan.outlets[0].contract,
            discovers=True,
        )

    def _append(self, topic: TopicResource, contract: Any, batches: Sequence[pa.RecordBatch]) -> None:
        if not batches:
            return
        with closing(topic.appender(contract, writer="testkit")) as appender:
            appender.append(batches, 0 if appender.last is None else appender.last + 1)


def _is_of_task(letter: Mapping[str, Any]) -> bool:
    return str(letter["port"]).endswith(".tasks")


def _settings(plan: StreamletPlan, tasks: TopicPlan) -> SourceSettings:
    (outlet, *others) = (outlet for outlet in plan.outlets if outlet.name != DEAD_LETTERS)
    if others:
        raise TestkitError(f"a batch source has one outlet, found {len(others) + 1}")
    values: Any = plan.parameters
    return SourceSettings(
        class_name=plan.class_name,
        streamlet=plan.ref,
        project=plan.directory,
        config=plan.parameters,
        volume_mounts=plan.volume_mounts,
        outlet=outlet.name,
        contract=outlet.contract.json,
        broken_records=outlet.on_invalid == "dead-letters",
        max_tasks=values["max-tasks-per-batch"],
        max_attempts=values["max-task-attempts"],
        retry_delay=values["task-retry-delay"].seconds,
        timeout=values["task-timeout"].seconds,
        on_failure=values["on-task-failure"],
        topic=tasks,
        topics=Path(),
        progress=Path(),
        secrets=plan.secrets,
    )
