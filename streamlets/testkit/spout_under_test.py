"""A spout under test: transactions in the place of its program, runs of its program, and steps of a generator."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any

from blueprint.plan import ApplicationPlan, StreamletPlan, TopicPlan
from blueprint.spelling import suggestion
from streamlets.channels.base import TopicResource
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.ingress.spouts.client import SpoutClient, Transaction
from streamlets.ingress.spouts.codecs import open_codec
from streamlets.ingress.spouts.deliveries import Deliveries
from streamlets.ingress.spouts.generator import SpoutOutput
from streamlets.ingress.spouts.generator_unit import GeneratorUnit, deliver
from streamlets.ingress.spouts.program_unit import ProgramUnit
from streamlets.ingress.spouts.session import Session
from streamlets.ingress.spouts.streamlet import GeneratorSpout, Spout
from streamlets.ingress.spouts.writer import Committed
from streamlets.runner.hosts import HostContext
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Ended, Fact
from streamlets.testkit.failures import TestkitError
from streamlets.testkit.taps import OutletTap

_LONGEST_RUN = 60.0


class SpoutUnderTest:
    """A spout that a test steps; `Testkit.spout` returns it.

        feed = kit.spout(Spout, parameters={"cmd": ["sh", "feed.sh"]}, schemas={"out": "id long"})
        with feed.transaction() as transaction:  # as its program would
            transaction.emit({"id": 1})
        assert feed.run() == ""  # the program itself
        rows = feed.outlet("out").take()

    Attributes:
        plan: its plan.
    """

    def __init__(
        self, spout: Spout | GeneratorSpout, plan: StreamletPlan, topics: Sequence[TopicPlan],
        resources: Mapping[str, TopicResource], state: StateDirectory,
    ) -> None:  # fmt: skip
        """Take what the kit has made."""
        self.plan = plan
        self._spout, self._resources, self._state = spout, resources, state
        for directory in (state.logs, state.status_file.parent):
            directory.mkdir(parents=True, exist_ok=True)
        self._facts: SimpleQueue[Fact] = SimpleQueue()
        self._failures: list[str] = []
        application = ApplicationPlan(
            name=plan.ref, blueprint="", directory=plan.directory, streamlets=(plan,), topics=tuple(topics)
        )
        self._context = HostContext(
            plan=application, state=state, report=self._facts.put, log=lambda unit, text: self._failures.append(text)
        )
        self._taps: dict[str, OutletTap] = {}
        self._stepping: tuple[Iterator[Committed], ExitStack] | None = None

    @contextmanager
    def transaction(self, outlet: str = "") -> Iterator[Transaction]:
        """Deliver a transaction as the program would; see `streamlets.spout.transaction`.

        Arguments:
            outlet: the name of the outlet; it may be omitted if the spout has only one.

        Raises:
            SpoutError: the transaction is refused.
        """
        with self._deliveries() as client, client.transaction(outlet) as opened:
            yield opened

    @property
    def marker(self) -> Any:
        """The marker of the last committed transaction that had one; None before the first."""
        with self._deliveries() as client:
            return client.marker()

    def run(self, *, seconds: float = _LONGEST_RUN) -> str:
        """Run the program or the generator until it ends, without a restart.

        As in a run with `--available-now`, it is told to end when all available data is delivered: `out.bounded` is
        true.

        Arguments:
            seconds: the timeout in seconds.

        Returns:
            Why it failed, such as `exit code 3: no such host`; "" if it completed.

        Raises:
            TestkitError: it does not end in time.
        """
        self.restart()
        context, unit = replace(self._context, bounded=True), self._spout
        running = (
            GeneratorUnit(self.plan, self._resources, context, lambda: unit)
            if isinstance(unit, GeneratorSpout)
            else ProgramUnit(self.plan, self._resources, context)
        )
        running.start(1)
        ended = self._ended(seconds)
        if ended is None:
            running.stop()
            self._ended(_LONGEST_RUN)
            what = "generator" if isinstance(unit, GeneratorSpout) else "program"
            raise TestkitError(f"the {what} of `{self.plan.ref}` has not ended after {seconds:g} s")
        return ended.failure.cause if ended.failure is not None else ""

    def step(self, transactions: int = 1) -> list[Committed]:
        """Commit the next transactions of a generator; fewer if it ends.

        Arguments:
            transactions: their number.

        Raises:
            Exception: of the author's code; the next step calls `run` again.
        """
        self._require(isinstance(self._spout, GeneratorSpout), "step", "a generator")
        if self._stepping is None:
            self._stepping = self._generator()
        try:
            return list(islice(self._stepping[0], transactions))
        except BaseException:
            self.restart()
            raise

    def restart(self) -> None:
        """Close the generator; the next step calls `run` again, with the last resume marker."""
        if self._stepping is not None:
            generator, resources = self._stepping
            self._stepping = None
            generator.close()  # type: ignore[attr-defined]
            resources.close()

    def outlet(self, name: str) -> OutletTap:
        """Return the tap that reads the records of an outlet.

        Raises:
            TestkitError: there is no outlet with this name.
        """
        for outlet in self.plan.outlets:
            if outlet.name == name:
                return self._taps.setdefault(name, OutletTap(self._resources[outlet.topic], outlet.contract))
        known = suggestion(name, [outlet.name for outlet in self.plan.outlets])
        raise TestkitError(f"`{self.plan.ref}` has no outlet `{name}`; {known}")

    @property
    def dead_letters(self) -> OutletTap:
        """The records that broke the contract of an outlet, with their reasons.

        Raises:
            TestkitError: no outlet has dead letters.
        """
        if self.plan.dead_letters is None:
            raise TestkitError(f'`{self.plan.ref}` has no dead letters: no outlet has on_invalid="dead-letters"')
        topic = self._resources[self.plan.dead_letters]
        return self._taps.setdefault("dead letters", OutletTap(topic, dead_letter_contract()))

    @property
    def log(self) -> list[str]:
        """The lines that its program has printed, with the name of the stream: `stderr: no such host`."""
        file = self._state.logs / f"{self.plan.ref}.log"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return [line.partition(" ")[2] for line in lines]

    @contextmanager
    def _deliveries(self) -> Iterator[SpoutClient]:
        self._require("cmd" in self.plan.parameters, "transaction", "a program")
        options: Any = self.plan.parameters["codec-options"]
        codec = str(self.plan.parameters["codec"])
        rows_of = {outlet.name: open_codec(codec, options, outlet.contract) for outlet in self.plan.outlets}
        with (
            self._session() as session,
            Deliveries(
                session.writer, rows_of, self._state.staging / self.plan.ref,
                fenced=self._failures.append, log=self._failures.append,
            ) as deliveries,
        ):  # fmt: skip
            yield SpoutClient(deliveries.environment)

    def _session(self) -> Session:
        return Session(self.plan, self._context, self._resources, 0, threading.Event())

    def _generator(self) -> tuple[Iterator[Committed], ExitStack]:
        assert isinstance(self._spout, GeneratorSpout)
        with ExitStack() as resources:
            session = resources.enter_context(self._session())
            out = SpoutOutput(self.plan.parameters, threading.Event(), bounded=False)
            generator = deliver(self._spout, out, session.writer, lambda: False)
            return generator, resources.pop_all()

    def _ended(self, seconds: float) -> Ended | None:
        """Return the end of the running unit; None if it does not end in time."""
        try:
            while True:
                fact = self._facts.get(timeout=seconds)
                if isinstance(fact, Ended):
                    return fact
        except Empty:
            return None

    def _require(self, met: bool, method: str, what: str) -> None:
        if not met:
            raise TestkitError(f"`{method}` is for spouts with {what}, which `{self.plan.ref}` is not")
