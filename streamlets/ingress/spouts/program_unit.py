"""`ProgramUnit`: a spout with a program, as a unit of the supervisor."""

from __future__ import annotations

import errno
import os
import queue
import socket
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from blueprint.plan import StreamletPlan
from blueprint.quantities import Duration
from blueprint.settings.secrets import Secrets
from streamlets.channels.base import TopicResource
from streamlets.ingress.spouts.client import BOUNDED, PORT
from streamlets.ingress.spouts.codecs import CodecError, open_codec
from streamlets.ingress.spouts.deliveries import Deliveries
from streamlets.ingress.spouts.output_log import OutputLog
from streamlets.ingress.spouts.program import Program, ProgramEnd, environment
from streamlets.ingress.spouts.pulse import Pulse
from streamlets.ingress.spouts.session import NO_REPLICAS, GivenUpError, Session, in_thread
from streamlets.ingress.spouts.settings import ProgramSettings, program_settings
from streamlets.ingress.stuck_report import StuckReport
from streamlets.project.modules import project_at
from streamlets.runner.events.status import UnitId
from streamlets.runner.hosts import HostContext
from streamlets.runner.supervision.facts import Ended
from streamlets.spark.failure import Failure, failure_of, failure_of_text, text_of


class ProgramUnit:
    """A program and its deliveries. It completes when the program ends with an accepted exit code.

    Arguments:
        plan: the spout.
        topics: the topics by id.
        context: the run of the application.
    """

    host = "spouts"
    wall_clock = False
    unscalable = NO_REPLICAS
    bounded = True

    def __init__(self, plan: StreamletPlan, topics: Mapping[str, TopicResource], context: HostContext) -> None:
        self.id, self.retry = UnitId(plan.ref), plan.settings.retry
        self._plan, self._topics, self._context = plan, topics, context
        self._settings = program_settings(plan.parameters, Path(plan.directory).absolute())
        timeout = plan.parameters["stop-timeout"]
        assert isinstance(timeout, Duration)
        self._stop_timeout = timeout.seconds
        self._run: _Run | None = None
        self._stuck = StuckReport(self.id, plan.settings, context.report)

    def start(self, run: int, *, last: bool = False, replicas: int | None = None) -> None:
        """Start the program."""
        self._run = _Run(self, run)

    def drain(self) -> None:
        """Send SIGTERM to the program, and SIGKILL after `stop-timeout`. Transactions that are being committed end."""
        if self._run is not None:
            self._run.stop(self._stop_timeout)

    def stop(self) -> None:
        """End the program with SIGKILL."""
        if self._run is not None:
            self._run.stop(0.0)

    def kill(self) -> None:
        """Do nothing: `stop` has ended the program."""

    def check(self) -> None:
        """Report a program that gives no sign of life; its end its thread always reports."""
        run = self._run
        if run is None:
            return
        after, heartbeat = self._plan.settings.stuck_after.seconds, self._plan.parameters["heartbeat"]
        assert isinstance(heartbeat, Duration)
        if heartbeat.seconds and run.silence >= heartbeat.seconds:
            self._stuck.look(run.number, "no sign of life of its program", run.silence, heartbeat.seconds)
        else:
            self._stuck.look(run.number, "no data of an open transaction", run.silence_of_transactions, after)

    def locate(self, batch: int, since: float) -> None:
        """Do nothing: it has no batches."""

    @property
    def parts(self) -> tuple[StreamletPlan, Mapping[str, TopicResource], HostContext, ProgramSettings]:
        """The dependencies of a run of the unit."""
        return self._plan, self._topics, self._context, self._settings


class _Run:
    """One run of a program, in a thread."""

    def __init__(self, unit: ProgramUnit, number: int) -> None:
        self._id, self.number, self._pulse = unit.id, number, Pulse()
        self._plan, self._topics, self._context, self._settings = unit.parts
        self._stopping = threading.Event()
        self._deliveries: Deliveries | None = None
        self._orders: queue.SimpleQueue[float | ProgramEnd | str] = queue.SimpleQueue()
        in_thread(f"spout-{self._id}", self._run)

    @property
    def silence(self) -> float:
        """The seconds since the program has given its last sign of life; 0 before its start."""
        return self._pulse.silence if self._deliveries is not None else 0.0

    @property
    def silence_of_transactions(self) -> float:
        """See `Deliveries.silence`."""
        return self._deliveries.silence if self._deliveries is not None else 0.0

    def stop(self, patience: float) -> None:
        """End the program: at once, or after SIGTERM and so many seconds."""
        self._stopping.set()
        self._orders.put(patience)

    def _run(self) -> None:
        failure: Failure | None
        mask = self._context.secrets.masked
        try:
            failure = self._supervised(_variables(self._settings, self._context.secrets))
        except GivenUpError:
            failure = None
        except Exception as error:  # noqa: BLE001 - any failure is one of the unit
            self._context.log(self._id, mask(text_of(error)))
            failed = failure_of(error, building=False)
            failure = Failure(mask(_cause(error, failed.cause)), failed.frames, failed.fatal)
        self._context.report(Ended(self._id, self.number, failure))

    def _supervised(self, values: Mapping[str, str]) -> Failure | None:
        """Run the program; return its failure."""
        plan, settings = self._plan, self._settings
        project_at(plan.directory).enter()  # for codecs of the author's
        options: Mapping[str, object] = plan.parameters["codec-options"]  # type: ignore[assignment]
        rows_of = {o.name: open_codec(str(plan.parameters["codec"]), options, o.contract) for o in plan.outlets}
        if settings.port is not None:
            _require_free(settings.port)
        log = OutputLog(self._context.state.logs / f"{plan.ref}.log", self._context.secrets.masked)
        session = Session(plan, self._context, self._topics, self.number, self._stopping, settings.port)
        with session, Deliveries(
            session.writer, rows_of, self._context.state.staging / plan.ref, pulse=self._pulse,
            fenced=self._orders.put, log=partial(log.line, "spout"),
        ) as deliveries:  # fmt: skip
            if self._stopping.is_set():
                return None
            self._deliveries = deliveries
            self._pulse.beat()
            program = Program(
                settings.command,
                environment=environment({**settings.env, **values, **self._own_variables(), **deliveries.environment}),
                directory=settings.directory,
                stdin=settings.stdin,
                line=partial(self._line, log),
                ended=self._orders.put,
            )
            session.started()
            try:
                return self._until_end(program, log)
            finally:
                log.close()

    def _line(self, log: OutputLog, stream: str, line: str) -> None:
        self._pulse.beat()
        log.line(stream, line)

    def _own_variables(self) -> dict[str, str]:
        port = {PORT: str(self._settings.port)} if self._settings.port is not None else {}
        return {**port, BOUNDED: "1" if self._context.bounded else "0"}

    def _until_end(self, program: Program, log: OutputLog) -> Failure | None:
        """Carry out orders until the program has ended; return its failure."""
        patience: float | None = None
        fenced = ""
        while True:
            try:
                order = self._orders.get(timeout=patience)
            except queue.Empty:
                log.line("spout", f"the program has not ended {patience:g} s after SIGTERM; it is ended with SIGKILL")
                order = 0.0
            match order:
                case ProgramEnd() as end:
                    return self._failure(end, fenced, log)
                case str(reason):
                    fenced = reason
                    program.kill()
                case float(seconds) if seconds > 0:
                    patience = seconds
                    program.terminate()
                case _:
                    patience = None
                    program.kill()

    def _failure(self, end: ProgramEnd, fenced: str, log: OutputLog) -> Failure | None:
        log.line("spout", f"the program has ended: {end.text}")
        if end.left:
            were = "process was" if end.left == 1 else "processes were"
            log.line("spout", f"{end.left} {were} still running that it had started, and ended with it")
        if fenced:
            return Failure(f"another runner has taken over this spout: {fenced}")
        if self._stopping.is_set() or end.code in self._settings.accepted:
            return None
        if end.code is None:
            return Failure(f"the program `{self._settings.command[0]}` {end.error}", lost=end.killed)
        last, trace = log.last_error, log.last_traceback
        frames = failure_of_text(trace, building=False).frames if trace else ()
        return Failure(f"{end.text}{f': {last}' if last else ''}", frames, lost=end.killed)


def _variables(settings: ProgramSettings, secrets: Secrets) -> dict[str, str]:
    """Return the variables for the program with its secrets, which texts do not show from here on.

    Raises:
        OSError: a secret is not available.
    """
    values: dict[str, str] = {}
    for source in settings.secrets:
        source.mask_in(secrets)
        try:
            text = source.value()
        except OSError as error:
            raise OSError(f"the secret `{source.name}` is not available: {error.strerror or error}") from None
        except UnicodeDecodeError:
            text = ""
        values[source.name] = source.file if source.as_path else text
    return values


def _require_free(port: int) -> None:
    """Require that the port of the service can be used.

    Raises:
        OSError: it is in use, or privileged.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {os.strerror(error.errno or 0)}"
            raise OSError(f"the port {port} of its service {why}") from None


def _cause(error: Exception, cause: str) -> str:
    return str(error) if isinstance(error, OSError | CodecError) else cause
