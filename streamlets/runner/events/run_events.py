"""Events of a run as a whole, its Spark and its topics."""

from __future__ import annotations

from dataclasses import dataclass, replace

from blueprint.wording import counted
from streamlets.channels.base import Difference
from streamlets.runner.events.event import Event, Importance
from streamlets.runner.events.executors import without
from streamlets.runner.events.status import RunStatus


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """The run started."""

    application: str
    streamlets: tuple[str, ...]

    @property
    def line(self) -> str:
        return f"{self.application}: started with {counted(len(self.streamlets), 'streamlet')}"

    def changed(self, status: RunStatus) -> RunStatus:
        return replace(status, application=self.application, started=self.time, order=self.streamlets)


@dataclass(frozen=True, slots=True)
class SparkStarting(Event):
    """A Spark is being started, which takes some seconds; `streamlets` wait for it."""

    streamlets: tuple[str, ...]

    @property
    def line(self) -> str:
        return f"starting Spark for {', '.join(self.streamlets)}"

    def changed(self, status: RunStatus) -> RunStatus:
        executors = without(status.executors, self.streamlets)
        return replace(status, without_spark=status.without_spark | set(self.streamlets), executors=executors)


@dataclass(frozen=True, slots=True)
class SparkUp(Event):
    """The Spark of these streamlets is up."""

    usually = Importance.DETAIL

    streamlets: tuple[str, ...]

    @property
    def line(self) -> str:
        return f"Spark is up for {', '.join(self.streamlets)}"

    def changed(self, status: RunStatus) -> RunStatus:
        return replace(status, without_spark=status.without_spark - set(self.streamlets))


@dataclass(frozen=True, slots=True)
class TopicDiffers(Event):
    """A setting of a topic is not as the blueprint sets it; the run uses the topic as it is.

    Arguments:
        topic: the name of the topic.
        setting: the setting below the topic in the blueprint, such as `topic.partitions`.
        planned: its value in the blueprint.
        existing: the value of the topic; None if the topic cannot have the setting.
        help: what to do, in the imperative.
    """

    usually = Importance.WARNING

    topic: str
    setting: str
    planned: str
    existing: str | None
    help: str

    @property
    def line(self) -> str:
        difference = Difference(self.setting, self.planned, self.existing)
        return f"the topic {self.topic} differs from the blueprint: {difference}; {self.help}"


@dataclass(frozen=True, slots=True)
class ResourceSettled(Event):
    """A resource of the application was deleted after the end of its streamlets, kept, or could not be deleted.

    Arguments:
        resource: what it is: `topic`, `consumer group`, `checkpoints` or `files`.
        name: its name.
        result: `deleted`, `kept` or `failed`.
        text: the result and its reason for people.
    """

    resource: str
    name: str
    result: str
    text: str

    @property
    def importance(self) -> Importance:
        """A warning, if it could not be deleted."""
        return Importance.WARNING if self.result == "failed" else Importance.STEP

    @property
    def line(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class RunStopping(Event):
    """The run is being stopped: on request, or because a drain takes too long.

    Arguments:
        cause: who or what stops it.
        at_once: whether running batches are aborted, to be replayed at the next start; otherwise they are finished.
        within: seconds after which they are aborted all the same; None for never.
    """

    usually = Importance.NOTICE

    cause: str
    at_once: bool = False
    within: float | None = None

    @property
    def line(self) -> str:
        limit = "" if self.within is None else f", within {self.within:g} s"
        return f"stopping at once: {self.cause}" if self.at_once else f"draining{limit}: {self.cause}"

    def changed(self, status: RunStatus) -> RunStatus:
        return replace(status, stopping="stopping" if self.at_once else "draining", reason=self.cause)


@dataclass(frozen=True, slots=True)
class StreamletScaled(Event):
    """A streamlet has another number of replicas in this run, from its next start on.

    Arguments:
        streamlet: its name.
        replicas: the number; None for its setting.
        cause: who has requested that.
    """

    usually = Importance.NOTICE

    streamlet: str
    replicas: int | None
    cause: str

    @property
    def line(self) -> str:
        number = "as many replicas as in the blueprint"
        if self.replicas is not None:
            number = f"{counted(self.replicas, 'replica')} in this run"
        return f"{self.streamlet}: {number}: {self.cause}"

    def changed(self, status: RunStatus) -> RunStatus:
        others = {ref: replicas for ref, replicas in status.scaled.items() if ref != self.streamlet}
        return replace(status, scaled=others if self.replicas is None else others | {self.streamlet: self.replicas})


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    """The run has ended; see docs/exit-codes.md for `exit_code`."""

    exit_code: int
    reason: str = ""

    @property
    def importance(self) -> Importance:
        """An error, if the run has failed."""
        return Importance.ERROR if self.exit_code else Importance.NOTICE

    @property
    def line(self) -> str:
        return f"ended: {self.reason or 'all done'} (exit code {self.exit_code})"

    def changed(self, status: RunStatus) -> RunStatus:
        return replace(status, ended=self.time, exit_code=self.exit_code, reason=self.reason or status.reason)
