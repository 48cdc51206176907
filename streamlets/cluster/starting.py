"""The start of a Spark whose tasks run on a cluster: its master answers, executors come, and have what they need.

Spark itself waits for ever for executors, and for a minute for a master, without saying for what.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from blueprint.masters import Kind, Master
from blueprint.plan import ApplicationPlan
from blueprint.wording import counted
from streamlets.checks import Check, State
from streamlets.cluster.executors import Look, look_at
from streamlets.cluster.modules import forget_archive, with_modules
from streamlets.cluster.probe import FRAMEWORK, probe
from streamlets.cluster.reachable import unreachable
from streamlets.cluster.task import Question
from streamlets.spark.cluster_settings import cores_of
from streamlets.spark.launch import start as launch
from streamlets.spark.session import SessionError, Spark
from streamlets.spark.settings import SessionPlan

# Seconds between two looks, and without another executor until those that exist are enough.
_POLL = 0.2
_SETTLED = 5.0
# Executors import packages when they are asked: on a busy machine that takes many seconds.
_PROBE_PATIENCE = 120.0
_UNRESPONSIVE = "All masters are unresponsive"
_NO_EXECUTORS: dict[Kind, str] = {
    "standalone": (
        "start workers, or free cores and memory for it: another application takes all cores unless it sets "
        "`flow.cluster.cores-max`, and a worker needs the memory of `flow.cluster.executor-memory`; executors that "
        "exit at once cannot reach `flow.cluster.driver-host`"
    ),
    "kubernetes": "look at the pods of the executors with `kubectl describe`: image, resources and service account",
    "yarn": "look at the application on the page of the resource manager: its queue may be full",
}


@dataclass(frozen=True, slots=True)
class Start:
    """How a Spark is started.

    Arguments:
        plan: its settings.
        print_line: takes each line that Spark prints.
        mask: replaces secrets in lines.
        question: what executors are asked.
        clock: seconds of a monotonic clock.
        sleep: waits for seconds.
    """

    plan: SessionPlan
    print_line: Callable[[str], None]
    mask: Callable[[str], str] = str
    question: Question = field(default_factory=Question)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def begin(self) -> tuple[Spark, tuple[Check, ...]]:
        """Start Spark; return it, and what a probe of its executors has found. Without a cluster, nothing is probed.

        Raises:
            SessionError: Spark cannot be started, the master does not answer, or no executor comes.
        """
        master = self.plan.spark_master
        if master is None or master.kind == "local":
            return launch(self.plan, self.print_line, mask=self.mask), ()
        self.wait_for_master(master)
        try:
            spark = launch(with_modules(self.plan), self.print_line, mask=self.mask)
            forget_archive()
        except SessionError as error:
            raise self._refused(master) or error from error
        try:
            look = self.wait_for_executors(master, lambda: look_at(spark.session, ask_master=False))
            asked = probe(spark.session, self.question, self.plan.python_path, len(look.executors), _PROBE_PATIENCE)
            return spark, (*self._fewer(master, look), *asked)
        except BaseException:
            spark.stop()
            raise

    def wait_for_master(self, master: Master) -> None:
        """Wait until a master accepts connections.

        Raises:
            SessionError: it does not within the time of the settings.
        """
        patience = self.plan.cluster.start_timeout
        end = self.clock() + patience.seconds
        while reason := unreachable(master):
            if self.clock() >= end:
                raise SessionError(
                    f"the master `{master.url}` does not answer within {patience}: {reason}",
                    "start it, or correct `flow.cluster.master`; a longer time is `flow.cluster.start-timeout`",
                )
            self.sleep(_POLL)

    def wait_for_executors(self, master: Master, look: Callable[[], Look]) -> Look:
        """Wait until all expected executors exist, or no more have come for some seconds; return the last look.

        Arguments:
            master: the master.
            look: looks at Spark.

        Raises:
            SessionError: none has come within the time of the settings, or Spark has stopped.
        """
        patience, expected = self.plan.cluster.start_timeout, cores_of(self.plan.cluster, master)
        end = self.clock() + patience.seconds
        cores, since = 0, self.clock()
        while True:
            seen = look()
            if seen.stopped:
                raise self._refused(master) or SessionError(
                    f"Spark has stopped: `{master.url}` does not run the application", f"see {self.plan.log_file}"
                )
            now, before = self.clock(), cores
            cores = sum(executor.cores for executor in seen.executors.values())
            since = now if cores != before else since
            if cores and (cores >= (expected or cores + 1) or now - since >= _SETTLED or now >= end):
                return seen
            if now >= end:
                raise SessionError(
                    f"`{master.url}` has given the application no executor within {patience}{_last(seen)}",
                    _NO_EXECUTORS[master.kind],
                )
            self.sleep(_POLL)

    def _fewer(self, master: Master, look: Look) -> Iterator[Check]:
        expected = cores_of(self.plan.cluster, master)
        cores = sum(executor.cores for executor in look.executors.values())
        if expected is not None and cores < expected:
            detail = f"the application has {counted(cores, 'core')} of the {expected} that it may use"
            yield Check("executors", State.WARNING, detail, "free cores of the cluster, or start further workers")

    def _refused(self, master: Master) -> SessionError | None:
        """Return that a standalone master does not take the application, if the log says so."""
        try:
            log = self.plan.log_file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        if _UNRESPONSIVE not in log:
            return None
        return SessionError(
            f"the master `{master.url}` accepts connections, but not the application",
            "check that `flow.cluster.secret` is the secret of the master, or that neither of them has one, and that "
            f"both have the same version of Spark; see {self.plan.log_file}",
        )


def _last(look: Look) -> str:
    reasons = [reason for reason in look.removed.values() if reason]
    return f"; the last one was removed: {reasons[-1]}" if reasons else ""


def question_of(plan: ApplicationPlan, directories: tuple[Path, ...], settings: SessionPlan) -> Question:
    """Return the questions to the executors of an application.

    Arguments:
        plan: the application.
        directories: the directories that executors read and write.
        settings: the settings of its Spark.
    """
    classes = {streamlet.class_name.rpartition(".")[0] for streamlet in plan.streamlets if streamlet.kind.on_spark}
    own = sorted(name for name in classes if name and name.partition(".")[0] != "streamlets")
    outputs = [
        Path(written.directory)
        for streamlet in plan.streamlets
        for written in streamlet.descriptor.external.directories
        if Path(written.directory).is_absolute() and Path(written.directory).is_dir()
    ]
    paths = tuple(dict.fromkeys(str(path) for path in (*directories, *outputs)))
    jars = settings.settings.get("spark.jars", "").split(",")
    local = tuple(jar.removeprefix("local:") for jar in jars if jar.startswith("local:"))
    extra = settings.settings.get("spark.executor.extraClassPath", "").split(":")
    files = (*local, *(entry for entry in extra if entry and "*" not in entry))
    return Question(modules=(*FRAMEWORK, *own), paths=paths, files=files)


def require_no_errors(checks: tuple[Check, ...]) -> None:
    """Require that a probe has found no error.

    Raises:
        SessionError: it has; all of them are in the message.
    """
    errors = [check for check in checks if check.state is State.ERROR]
    if errors:
        raise SessionError(
            "the executors of the cluster cannot run the application: " + "; ".join(check.detail for check in errors),
            "; ".join(dict.fromkeys(check.help for check in errors)),
        )
