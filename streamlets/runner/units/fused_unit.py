"""The units of streamlets that are fused into the query of another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from blueprint.core_settings import Retry
from streamlets.override import override
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitProgressed
from streamlets.runner.hosts import Log
from streamlets.runner.supervision.facts import Became, Ended, Fact, Progressed, Started
from streamlets.runner.supervision.workers import Workers
from streamlets.runner.units.fused_chain import FusedChain, HeadSite
from streamlets.runner.units.site import Site
from streamlets.runner.units.units import StreamletUnit


class FusedUnit:
    """A query that is part of another one: its work is done, and its batches are counted, by that.

    It is running from its start until it is asked to end. The supervisor pauses, resumes and restarts it together with
    the query that it is part of.

    Arguments:
        id: the query, as it would be alone.
        retry: the restart settings, the same as of the other query.
        bounded: whether the run processes all available data and ends; the other query has ended before this starts.
        query: the name of the query that it is part of.
        chain: reports its part of the batches of that query.
        report: takes the unit's facts.
    """

    host = "spark"
    wall_clock = False

    def __init__(
        self, id: UnitId, retry: Retry, *, bounded: bool, query: str, chain: FusedChain, report: Callable[[Fact], None]
    ) -> None:
        self.id, self.retry, self.bounded = id, retry, bounded
        self.unscalable = f"it is fused into `{query}`"
        self._chain = chain
        self._report = report
        self._run = 0

    def start(self, run: int, *, last: bool = False, replicas: int | None = None) -> None:
        """Be running, or with `bounded` complete."""
        self._run = run
        self._report(Started(self.id, run))
        self._chain.report_to(self.id.streamlet, self._take)
        if self.bounded or last:
            self._report(Ended(self.id, run))

    def drain(self) -> None:
        """End."""
        self._report(Ended(self.id, self._run))

    def stop(self) -> None:
        """End."""
        self._report(Ended(self.id, self._run))

    def kill(self) -> None:
        """Do nothing: it has ended when it was asked to."""

    def check(self) -> None:
        """Do nothing: it does not end by itself."""

    def locate(self, batch: int, since: float) -> None:
        """Do nothing: the query that it is part of locates its batches."""

    def _take(self, progress: UnitProgressed) -> None:
        """Report its part of a batch."""
        self._report(Progressed(self._run, replace(progress, unit=self.id)))


class FusableUnit(StreamletUnit):
    """A streamlet that becomes a part of another one's query if they are fused in this run, else its own queries.

    Arguments:
        head: the site of the first streamlet of its chain.
    """

    def __init__(
        self, id: UnitId, site: Site, retry: Retry, workers: Workers, report: Callable[[Fact], None], log: Log,
        head: HeadSite,
    ) -> None:  # fmt: skip
        super().__init__(id, site, retry, workers, report, log)
        self._head = head

    @override
    def _begin(self, run: int) -> None:
        own: list[FusedUnit] = []

        def work() -> None:
            chain = self._head.chain
            queries = chain.query(self._head).queries
            if not queries:
                return
            query = queries[chain.refs.index(self.id.streamlet) - 1].removeprefix(f"{self.id.streamlet}.")
            part = FusedUnit(
                UnitId(self.id.streamlet, query), self.retry, bounded=self.bounded, query=self._head.plan.ref,
                chain=chain, report=self._report,
            )  # fmt: skip
            own.append(part)
            self._report(Became(self.id, run, (part,)))

        self._guarded(run, work)
        if not own:
            super()._begin(run)
