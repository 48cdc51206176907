"""Events of the cluster that a Spark of a run is on: its executors and its master."""

from __future__ import annotations

from dataclasses import dataclass, replace

from blueprint.wording import counted, span
from streamlets.runner.events.event import Event, Importance
from streamlets.runner.events.executors import Executors, of_streamlets, with_executors
from streamlets.runner.events.status import RunStatus


@dataclass(frozen=True, slots=True)
class ClusterEvent(Event):
    """Something that happened to the cluster of the Spark that these streamlets are on."""

    streamlets: tuple[str, ...]

    def changed(self, status: RunStatus) -> RunStatus:
        """Return the status with the changed executors."""
        executors = self.changed_executors(of_streamlets(status.executors, self.streamlets))
        return replace(status, executors=with_executors(status.executors, executors))

    def changed_executors(self, executors: Executors) -> Executors:
        """Return the executors after the event; by default nothing changes."""
        return executors


@dataclass(frozen=True, slots=True)
class ExecutorsAdded(ClusterEvent):
    """Executors have joined.

    Arguments:
        executors: their ids and addresses.
        number: the number of executors that exist now.
        cores: the cores of all of them.
    """

    executors: tuple[str, ...]
    number: int
    cores: int

    @property
    def line(self) -> str:
        joined = "executor" if len(self.executors) == 1 else "executors"
        total = f"{counted(self.number, 'executor')} with {counted(self.cores, 'core')}"
        return f"{joined} {', '.join(self.executors)} joined: {total} in all"

    def changed_executors(self, executors: Executors) -> Executors:
        return replace(executors, number=self.number, cores=self.cores, missing_since=None)


@dataclass(frozen=True, slots=True)
class ExecutorLost(ClusterEvent):
    """An executor was lost: its process exited, or its worker, or it does not answer.

    Arguments:
        executor: its id.
        address: its host and port.
        reason: Spark's reason; it may be empty.
        number: the number of executors that remain.
        cores: the cores of all of them.
    """

    usually = Importance.WARNING

    executor: str
    address: str
    reason: str
    number: int
    cores: int

    @property
    def line(self) -> str:
        effect = f"its tasks run again on the remaining {counted(self.number, 'executor')}"
        if not self.number:
            effect = "no executor remains, so batches wait for another"
        reason = f" ({self.reason})" if self.reason else ""
        return f"executor {self.executor} on {self.address} was lost{reason}: {effect}"

    def changed_executors(self, executors: Executors) -> Executors:
        since = executors.missing_since or self.time
        return replace(
            executors, number=self.number, cores=self.cores, lost=executors.lost + 1,
            missing_since=None if self.number else since,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class MasterUnreachable(ClusterEvent):
    """The master of the cluster does not answer."""

    usually = Importance.WARNING

    @property
    def line(self) -> str:
        return "the master of the cluster does not answer: executors go on, but lost ones are not replaced"

    def changed_executors(self, executors: Executors) -> Executors:
        return replace(executors, master_lost_since=self.time)


@dataclass(frozen=True, slots=True)
class MasterAnswersAgain(ClusterEvent):
    """The master of the cluster answers again.

    Arguments:
        seconds: for how long it did not.
    """

    usually = Importance.NOTICE

    seconds: float

    @property
    def line(self) -> str:
        return (
            f"the master of the cluster answers again, after {span(self.seconds)}: unless it has recovered the "
            "application, it ends the executors, and Spark is started again"
        )

    def changed_executors(self, executors: Executors) -> Executors:
        return replace(executors, master_lost_since=None)
