"""`BatchSource`: an ingress that discovers tasks when it is triggered, and whose tasks Spark reads in parallel."""

from __future__ import annotations

import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from blueprint.catalog import ExternalResources, Kind, ListeningPort, ParameterProblem, ReadPath
from blueprint.diagnostics import Severity
from blueprint.known_keys import KnownKey
from blueprint.spelling import listing
from streamlets.api.context import StreamingWrite
from streamlets.api.errors import StreamletError
from streamlets.api.logic import SparkStreamletLogic
from streamlets.api.parameters import DurationParameter, IntegerParameter, ObjectParameter, StringParameter
from streamlets.api.shape import StreamletShape
from streamlets.api.streamlet import Configuration, SparkStreamlet
from streamlets.ingress.batch_sources.context import Eat, SourceContext
from streamlets.ingress.batch_sources.discovery_findings import discovery_keys, discovery_problems, triggerer_findings
from streamlets.ingress.triggerers.registry import calls_once

_QUEUE = 1000
"""The number of records that a push source may be ahead of their reading."""


class BatchSource(SparkStreamlet, ABC):
    """Discovers tasks when its triggerer calls for it, and reads them in parallel.

    In the blueprint:

        orders {
          class = shop.OrderFiles
          parameters.discovery { triggerer = cron, config { expression = "0 6 * * *", time-zone = Europe/Paris } }
        }

    A source has one outlet. The runner has one instance that discovers, and each process that reads for a worker of
    Spark has one: `open` is called once for each, before anything else. After a task has failed, the instance is closed
    and another one opened. A process that reads may be ended without a call of `close`.

    Example:
        >>> from streamlets import AvroOutlet, BatchSource
        >>> class Pages(BatchSource):
        ...     out = AvroOutlet(schema="id long")
        ...
        ...     def discover(self, eat, event):
        ...         eat({"page": 1}, key="page 1")
        ...
        ...     def prepare(self, task):
        ...         self.left = [{"id": task["page"]}]
        ...
        ...     def read_next(self):
        ...         return self.left.pop() if self.left else None
    """

    kind = Kind("batch-source", on_spark=True, tasks=True)
    discovery = ObjectParameter("When to discover tasks: `triggerer`, and `config` for it")
    max_tasks_per_batch = IntegerParameter("The largest number of tasks of a batch", default=32)
    max_task_attempts = IntegerParameter("How often a task is tried", default=3)
    task_retry_delay = DurationParameter(
        "The pause before the second attempt, doubled before each further", default="1 s"
    )
    task_timeout = DurationParameter(
        "After how long an attempt to read a task is ended, and has failed", default="1 day"
    )
    discovery_timeout = DurationParameter(
        "The time after which a discovery is reported; in a bounded run it is abandoned then", default="1 hour"
    )
    task_version = IntegerParameter(
        "The version of the form of tasks and keys; `flow verify --against` reports a change",
        default=1,
    )
    on_task_failure = StringParameter(
        "What happens to a task when all attempts have failed: it is a dead letter, or the source fails",
        default="dead-letters",
        choices=("dead-letters", "fail"),
    )

    @property
    def shape(self) -> StreamletShape:
        """The outlet.

        Raises:
            StreamletError: the class does not have exactly one outlet, or it has an inlet.
        """
        shape = super().shape
        if shape.inlets:
            raise StreamletError(
                f"a batch source has no inlets, found `{shape.inlets[0].name}`", shape.inlets[0].declared
            )
        if len(shape.outlets) != 1:
            names = f": {listing(outlet.name for outlet in shape.outlets)}" if shape.outlets else ""
            place = shape.outlets[1].declared if shape.outlets else None
            raise StreamletError(f"a batch source has one outlet, found {len(shape.outlets)}{names}", place)
        return shape

    def open(self, config: Mapping[str, Any], context: SourceContext) -> None:
        """Prepare the instance, for example connect to a server.

        Arguments:
            config: the typed values of all parameters by key.
            context: the environment.
        """

    @abstractmethod
    def discover(self, eat: Eat, event: str) -> None:
        """Pass each task to `eat`. It is called in the runner, and never twice at the same time.

        If it raises, or the application is stopped meanwhile, it is called again with the same event. The tasks that it
        had passed before are kept: give them keys, and they are not read twice.

        Arguments:
            eat: takes a task, and its key.
            event: what triggered the discovery, from the triggerer.
        """

    @abstractmethod
    def prepare(self, task: Any) -> None:
        """Begin to read a task. The task before it has ended or failed.

        Arguments:
            task: as it was passed to `eat`.
        """

    @abstractmethod
    def read_next(self) -> Any:
        """Return the next record as a dict by field name, a `pyarrow.RecordBatch` of records, or None at the end."""

    def close(self) -> None:
        """Release what `open` has acquired."""

    def triggering(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the triggerer and its configuration: the parameter `discovery`, unless a subclass completes it.

        Arguments:
            values: the typed values of all parameters by key.
        """
        discovery: Mapping[str, Any] = values[self.discovery.key]
        return discovery

    def check_parameters(self, values: Mapping[str, Any]) -> Iterator[ParameterProblem]:
        """Check the limits and the triggerer. A subclass that overrides it includes these.

        Arguments:
            values: as for `Streamlet.check_parameters`.
        """
        for parameter in (self.max_tasks_per_batch, self.max_task_attempts):
            if values[parameter.key] < 1:
                yield ParameterProblem(
                    (parameter.key,), f"`{parameter.key}` must be at least 1, found {values[parameter.key]}"
                )
        for timeout in (self.task_timeout, self.discovery_timeout):
            if values[timeout.key].seconds <= 0:
                message = f"`{timeout.key}` must be longer than 0, found {values[timeout.key]}"
                yield ParameterProblem((timeout.key,), message)
        yield from discovery_problems(self.triggering(values))

    def known_keys(
        self, parameters: Mapping[str, object], columns: Mapping[str, Mapping[str, str]]
    ) -> Iterator[KnownKey]:
        """Yield the triggerers, and the configuration of the triggerer that is set.

        Arguments:
            parameters: as for `Streamlet.known_keys`.
            columns: as for `Streamlet.known_keys`.
        """
        yield from discovery_keys(parameters.get(self.discovery.key))

    def external_resources(self, configuration: Configuration) -> ExternalResources:
        """Return the files or the port of the triggerer, and the findings about its configuration.

        One of them shows when a cron expression fires next. The `**` in a path of the triggerer `files` stands for all
        directories below.
        """
        discovery = self.triggering(configuration.values)
        written = configuration.written[self.discovery.key]
        findings = tuple(triggerer_findings(discovery, written, configuration.directory))
        if any(finding.severity is Severity.ERROR for finding in findings):
            return ExternalResources(findings=findings)
        reads, listening = [], []
        if discovery["triggerer"] == "files":
            directory, *below = str(discovery["config"]["path"]).split("/**", 1)
            reads.append(ReadPath((self.discovery.key, "config", "path"), directory, recursive=bool(below)))
        if discovery["triggerer"] == "http":
            listening.append(ListeningPort((self.discovery.key, "config", "port"), discovery["config"]["port"]))
        finite = calls_once(discovery["triggerer"])
        return ExternalResources(findings=findings, reads=tuple(reads), listening=tuple(listening), finite=finite)

    class Logic(SparkStreamletLogic["BatchSource"]):
        """One query from the tasks to the outlet."""

        def build_streaming_queries(self) -> StreamingWrite:
            """Return the query `read`."""
            from streamlets.ingress.batch_sources.query import TaskLimits, read_tasks

            source = self.streamlet
            limits = TaskLimits(
                tasks=self.value(source.max_tasks_per_batch),
                attempts=self.value(source.max_task_attempts),
                retry_delay=self.value(source.task_retry_delay).seconds,
                timeout=self.value(source.task_timeout).seconds,
                on_failure="fail" if self.value(source.on_task_failure) == "fail" else "dead-letters",
            )
            return read_tasks(self, limits)


class BatchPushSource(BatchSource):
    """A batch source that pushes the records of a task instead of returning them one by one.

    `prepare` runs in a thread of its own. It, or a callback that it registers, passes each record to `consume`, and
    None at the end. `consume` waits while 1,000 records are not read yet.

    Example:
        >>> from streamlets import AvroOutlet, BatchPushSource
        >>> class Lines(BatchPushSource):
        ...     out = AvroOutlet(schema="line string")
        ...
        ...     def discover(self, eat, event):
        ...         eat({"file": "orders.txt"}, key="orders.txt")
        ...
        ...     def prepare(self, task):
        ...         with open(task["file"], encoding="utf-8") as lines:
        ...             for line in lines:
        ...                 self.consume({"line": line.rstrip()})
        ...         self.consume(None)
    """

    def consume(self, record: Any) -> None:
        """Pass the next record of the task. It may be called from any thread.

        Arguments:
            record: as `read_next` returns it; None at the end.
        """
        self._push.put(record)

    def notify_error(self, error: BaseException) -> None:
        """Fail the task.

        Arguments:
            error: why it fails.
        """
        self._push.put(_Raised(error))

    def read_next(self) -> Any:
        """Return the next record that was passed."""
        item = self._push.get()
        if isinstance(item, _Raised):
            raise item.error
        return item

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Have `prepare` of a subclass run in a thread."""
        super().__init_subclass__(**arguments)
        if callable(cls.__dict__.get("prepare")):
            cls._prepare = cls.__dict__["prepare"]  # type: ignore[attr-defined]
            cls.prepare = _prepare_in_thread  # type: ignore[method-assign]

    _push: queue.Queue[Any]


class _Raised:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def _prepare_in_thread(self: Any, task: Any) -> None:
    # A queue for each task: what a thread of an abandoned task still passes does not reach another one.
    pushed: queue.Queue[Any] = queue.Queue(_QUEUE)
    self._push = pushed

    def prepare() -> None:
        try:
            self._prepare(task)
        except Exception as error:  # noqa: BLE001 - the reader of the task gets it
            pushed.put(_Raised(error))

    threading.Thread(target=prepare, name="push-task", daemon=True).start()
