"""`FusedChain`: streamlets of a driver that run as one query, if their logic and the state on disk allow it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from blueprint.fusion import FusedTopic
from blueprint.plan import StreamletPlan
from blueprint.trigger import AvailableNow, RealTime
from streamlets.api.context import StreamingWrite
from streamlets.api.errors import StreamletError
from streamlets.api.hooks import Hook
from streamlets.api.logic import SparkStreamletLogic
from streamlets.channels.base import TopicQuery, TopicResource
from streamlets.channels.fused import NotFusableError, passed_on, records_passed
from streamlets.override import override
from streamlets.runner.checkpoints.checkpoint import read_checkpoint
from streamlets.runner.checkpoints.fused_queries import FusedQuery, fused_query, unread
from streamlets.runner.events.fusion_events import StreamletsFused, TopicsNotFused
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitProgressed
from streamlets.runner.supervision.facts import Seen
from streamlets.runner.units.binding import TopicBinding, context_of
from streamlets.runner.units.hooks import Logic
from streamlets.runner.units.site import Site, SiteContext
from streamlets.spark.plan_tree import plan_tree
from streamlets.spark.stream_writer import facts, rows_of
from streamlets.triggers import trigger_of

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_STATELESS = frozenset(
    {
        "ArrowEvalPython", "BatchEvalPython", "CollectMetrics", "Filter", "Generate", "LateralJoin", "Project",
        "Repartition", "RepartitionByExpression", "StreamingRelation", "StreamingRelationV2", "SubqueryAlias",
    }
)  # fmt: skip
"""The nodes of plans whose result for a row depends on the row alone. A plan with any other node is not fused."""

# In a bounded run a streamlet starts when the query that it is part of has ended; only so many batches are kept for it.
_KEPT_BATCHES = 1000
_HOOKS: tuple[Hook, ...] = ("on_start", "on_stop")


@dataclass(frozen=True, kw_only=True)
class FusedBinding(TopicBinding):
    """The ports of a streamlet whose inlet continues the rows of another streamlet's outlet in one query.

    Arguments:
        records: the records of its inlet.
        query: the query that it is fused into, which is the writer of its outlets.
        reads: takes the name of the inlet for each time that the logic reads it.
    """

    records: DataFrame
    query: UnitId
    reads: list[str]

    def read(self, inlet: str, *, name: str, metadata: bool) -> DataFrame:
        """Return the records of the inlet.

        Raises:
            NotFusableError: the logic reads the inlet again, or the metadata of records, which only stored ones have.
        """
        if self.reads:
            raise NotFusableError(f"`{self.plan.ref}` reads its inlet more than once")
        if metadata:
            raise NotFusableError(f"`{self.plan.ref}` reads the metadata of records, which only a stored topic has")
        self.reads.append(inlet)
        return self.records

    def _target(self, query: str) -> TopicQuery:
        return TopicQuery(
            streamlet=self.query.streamlet, name=self.query.part, version=self.plan.version, on_batch=self.on_batch
        )


class FusedChain:
    """Streamlets that are one query in this run, or else run as usual; which of both is decided once.

    Arguments:
        topics: the topics between them, in the order of the records.
        streamlets: their plans, by name.
        context: what the sites of the driver share.
    """

    def __init__(self, topics: Sequence[FusedTopic], streamlets: Mapping[str, StreamletPlan], context: SiteContext):
        self.topics = tuple(topics)
        self.refs = (topics[0].outlet.streamlet, *(topic.inlet.streamlet for topic in topics))
        self._context = context
        self._sites = tuple(Site(streamlets[ref], context) for ref in self.refs[1:])
        self._deciding, self._reporting = threading.Lock(), threading.Lock()
        self._decided: FusedQuery | None = None
        self._waiting: dict[str, deque[UnitProgressed]] = {ref: deque(maxlen=_KEPT_BATCHES) for ref in self.refs[1:]}
        self._takers: dict[str, Callable[[UnitProgressed], None]] = {}

    def report_to(self, ref: str, take: Callable[[UnitProgressed], None]) -> None:
        """Report the part that a streamlet has in each batch to a unit that has started, also in earlier batches."""
        with self._reporting:
            self._takers[ref], waiting = take, list(self._waiting[ref])
            self._waiting[ref].clear()
            for part in waiting:
                take(part)

    def query(self, head: Site) -> FusedQuery:
        """Return the queries that are fused into the first streamlet's query in this run, if any.

        The first call decides, and reports the decision.

        Arguments:
            head: the site of the first streamlet.
        """
        with self._deciding:
            if self._decided is None:
                self._decided, why = self._decide(head)
                ids = tuple(joined.topic.id for joined in self.topics)
                if self._decided.queries:
                    self._context.report(Seen(StreamletsFused(time.time(), self.refs, ids)))
                if why:
                    self._context.report(Seen(TopicsNotFused(time.time(), UnitId(self.refs[0]), ids, why)))
            return self._decided

    def extended(
        self, head: Site, built: tuple[StreamingWrite | StreamingQuery, ...], session: SparkSession
    ) -> tuple[StreamingWrite, tuple[str, ...]]:
        """Return the query of the first streamlet extended by the others, and the names of their queries.

        Arguments:
            head: the site of the first streamlet.
            built: its queries.
            session: the session that they were built in.

        Raises:
            NotFusableError: the logic of a streamlet does not allow it.
            BaseException: the author's code failed.
        """
        first = write = _only_query(built, head.plan.ref)
        trigger, names = trigger_of(head.plan, first.query, first.trigger), list[str]()
        if isinstance(trigger, AvailableNow | RealTime):
            raise NotFusableError(f"the trigger of `{head.plan.ref}.{first.query}` is `available-now` or `real-time`")
        for joined, site in zip(self.topics, self._sites, strict=True):
            if write.rows is None:
                raise NotFusableError(f"`{joined.outlet.streamlet}` computes its records from batches")
            records = passed_on(write.rows, joined.outlet, joined.inlet)
            write = self._continued(site, head, records, UnitId(head.plan.ref, first.query), session)
            names.append(write.query)
            if trigger_of(site.plan, write.query, write.trigger) != trigger:
                raise NotFusableError(f"`{site.plan.ref}` has another trigger than `{head.plan.ref}`")
        return replace(write, query=first.query, trigger=first.trigger), tuple(names)

    def shared(self, progress: UnitProgressed, report: Mapping[str, Any], executions: int) -> UnitProgressed:
        """Report the part that each streamlet but the first had in a batch, and return the part of the first.

        Arguments:
            progress: the batch of the whole query.
            report: Spark's report of it.
            executions: how often it was executed.
        """
        passed = [records_passed(report, joined.topic.id, executions) for joined in self.topics]
        for number, joined in enumerate(self.topics):
            part = replace(
                progress, unit=UnitId(joined.inlet.streamlet), rows_in=passed[number],
                inlets={joined.inlet.name: passed[number]}, backlog={},
            )  # fmt: skip
            if number + 1 < len(self.topics):
                part = replace(part, rows_out={self.topics[number + 1].outlet.name: passed[number + 1]}, dead_letters=0)
            with self._reporting:
                self._takers.get(joined.inlet.streamlet, self._waiting[joined.inlet.streamlet].append)(part)
        return replace(progress, rows_out={self.topics[0].outlet.name: passed[0]}, dead_letters=0)

    def _continued(
        self, site: Site, head: Site, records: DataFrame, query: UnitId, session: SparkSession
    ) -> StreamingWrite:
        """Return the query of a streamlet on the records of its inlet."""
        reads: list[str] = []
        binding = FusedBinding(
            plan=site.plan, session=session, topics=self._context.topics, channels=self._context.channels,
            checkpoints=self._context.checkpoints, on_batch=head.take_batch, print_line=self._context.print_line,
            records=records, query=query, reads=reads,
        )  # fmt: skip
        logic = site.create_logic(context_of(binding))
        _require_no_hooks(logic, site.plan.ref)
        write = _only_query(logic.build(), site.plan.ref)
        if not reads:
            raise NotFusableError(f"`{site.plan.ref}` does not read its inlet")
        return write

    def _decide(self, head: Site) -> tuple[FusedQuery, str]:
        """Return the queries that are fused in this run, and the reason if the plan asks for others."""
        try:
            plan = self._planned(head)
            recorded, begun = fused_query(plan.checkpoint), read_checkpoint(plan.checkpoint).planned is not None
            waiting = unread(plan.readers)
        except NotFusableError as error:
            return FusedQuery(), str(error)
        except Exception as error:  # noqa: BLE001 - the streamlet that causes it fails with it when it runs alone
            return FusedQuery(), f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        if begun and recorded == plan.fused:
            return plan.fused, f"{waiting}; they are read after the next start" if waiting else ""
        if begun:
            return FusedQuery(), "its last batch is not finished yet; the start after that fuses them"
        if waiting:
            return FusedQuery(), f"{waiting}; the start after that fuses them"
        return plan.fused, ""

    def _planned(self, head: Site) -> _Planned:
        """Build the chain for the decision only.

        Raises:
            NotFusableError: the logic of a streamlet does not allow it.
            BaseException: the author's code failed.
        """
        session = (binding := head.binding(self._context.spark.spark(), head.plan)).session
        before, root = _settings(session), self._context.checkpoints
        logic = head.create_logic(context_of(binding))
        _require_no_hooks(logic, head.plan.ref)
        write, names = self.extended(head, logic.build(), session)
        if changed := sorted(key for key, value in _settings(session).items() if before.get(key) != value):
            raise NotFusableError(f"the logic of a streamlet sets {', '.join(changed)} of its session")
        _require_stateless(write)
        ids = [UnitId(ref, name) for ref, name in zip(self.refs[1:], names, strict=True)]
        return _Planned(
            FusedQuery(tuple(map(str, ids)), tuple(joined.topic.name for joined in self.topics)),
            root / head.plan.ref / write.query,
            [
                (root / id.streamlet / id.part, self._context.topics[joined.topic.id])
                for id, joined in zip(ids, self.topics, strict=True)
            ],
        )


class HeadSite(Site):
    """The first streamlet of a chain, whose query goes on through the others if they are fused."""

    def __init__(self, plan: StreamletPlan, context: SiteContext, chain: FusedChain) -> None:
        super().__init__(plan, context)
        self.chain = chain

    @override
    def build(
        self, unit: UnitId, *, last: bool = False, replicas: int | None = None
    ) -> tuple[StreamingWrite | StreamingQuery, ...]:
        fused = self.chain.query(self)
        built = super().build(unit, last=last, replicas=replicas)
        if not fused.queries:
            return built
        write, names = self.chain.extended(self, built, self.session)
        if (found := tuple(map(str, map(UnitId, self.chain.refs[1:], names)))) != fused.queries:
            raise StreamletError(
                f"the queries {', '.join(found)} were named {', '.join(fused.queries)} when they were fused"
            )
        _require_stateless(write)
        return (write,)

    @override
    def fused_into(self, write: StreamingWrite) -> FusedQuery:
        return self.chain.query(self)

    @override
    def shared(self, progress: UnitProgressed, report: Mapping[str, Any], executions: int) -> UnitProgressed:
        fused = self.chain.query(self).queries
        return self.chain.shared(progress, report, executions) if fused else progress


@dataclass(frozen=True, slots=True)
class _Planned:
    """What a chain would be: its query, the checkpoint of that, and the readers of its topics with the topics."""

    fused: FusedQuery
    checkpoint: Path
    readers: list[tuple[Path, TopicResource]]


def _only_query(built: tuple[StreamingWrite | StreamingQuery, ...], ref: str) -> StreamingWrite:
    """Return the only query of a streamlet.

    Raises:
        NotFusableError: it has others, or does not write all its rows to outlets in the mode `append`.
    """
    if len(built) != 1:
        raise NotFusableError(f"`{ref}` has {len(built)} queries, not one")
    write = built[0]
    if not isinstance(write, StreamingWrite):
        raise NotFusableError(f"`{ref}` starts its query itself")
    if not write.outlets or write.checkpoint is not None:
        raise NotFusableError(f"`{ref}` writes to a sink of its own")
    if (mode := facts(write.writer).mode) != "append":
        raise NotFusableError(f"`{ref}` has the output mode `{mode}`, not `append`")
    return write


def _require_no_hooks(logic: Logic, ref: str) -> None:
    for hook in _HOOKS:
        if getattr(type(logic), hook) is not getattr(SparkStreamletLogic, hook):
            raise NotFusableError(f"`{ref}` has `{hook}`, which belongs to a start of its own")


def _require_stateless(write: StreamingWrite) -> None:
    """Require that each row of a query's result depends on one row of its only source.

    Raises:
        NotFusableError: it does not, or that is not known.
    """
    nodes = list(plan_tree(rows_of(write.writer)).all())
    others = sorted({node.name for node in nodes} - _STATELESS)
    if others:
        raise NotFusableError(f"the plan of a streamlet has more than steps from row to row: {', '.join(others)}")
    sources = sum(node.name.startswith("StreamingRelation") for node in nodes)
    if sources != 1:
        raise NotFusableError(f"the query would have {sources} sources, not one")


def _settings(session: SparkSession) -> dict[str, str]:
    return dict(session.conf.getAll)
