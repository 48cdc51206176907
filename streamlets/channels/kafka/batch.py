"""Writing the batches of a query: with Spark's Kafka sink at least once, or in transactions exactly once.

Each outlet is written in one pass: the rows that conform go to its topic, the others to the dead letters. Spark's sink
writes a batch again that is replayed after a failure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streamlets.batches import execute, query_id
from streamlets.channels.begun import BegunBatches
from streamlets.channels.conformity import REASON, broken_rows_error, outlet_conformance, with_reasons
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.channels.kafka.exactly_once import ExactlyOnce, writer_name
from streamlets.channels.kafka.sending import MESSAGE, letter, message, send, send_both
from streamlets.channels.kafka.settings import GUARANTEE, STAGED
from streamlets.channels.kafka.shares import Shares
from streamlets.channels.kafka.staging import StagedBatches, headers_of
from streamlets.channels.kafka.transactions import HEADERS, KEY, LETTER, TOPIC, VALUE
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from blueprint.plan import OutletPlan
    from streamlets.channels.base import Branch, TopicQuery
    from streamlets.channels.kafka.topic import KafkaTopic
    from streamlets.contract.conform import Conformance


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch of an outlet.

    Arguments:
        id: the id that Spark stores in the checkpoint of the query.
        number: the number of the batch.
        part: the outlet, or its dead letters on another cluster.
    """

    id: str
    number: int
    part: str


@dataclass(slots=True)
class BatchWriter:
    """The function of a query's `foreachBatch`.

    Arguments:
        branches: the outlets.
        dead_letters: the topic for rows that break a contract; None without one.
        query: the query.
        begun: stores which batches were begun.
        staged: stores the batches of staged outlets.
    """

    branches: tuple[Branch[KafkaTopic], ...]
    dead_letters: KafkaTopic | None
    query: TopicQuery
    begun: BegunBatches
    staged: StagedBatches
    _fits: dict[str, Conformance] = field(default_factory=dict)
    _once: dict[str, ExactlyOnce] = field(default_factory=dict)

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Write a batch to its topics.

        Raises:
            BrokenRowsError: a row breaks the contract of an outlet that does not allow it. Other rows of the batch may
                have been published.
        """
        id = query_id(rows)
        replayed = self.begun.has(self.query.streamlet, self.query.name, id, batch)
        self.begun.begin(self.query.streamlet, self.query.name, id, batch)
        crash_point("after-batch-begun")
        self.staged.remove_before(self.query.streamlet, self.query.name, id, batch)
        if all(self._is_stored(branch.outlet, id, batch) for branch in self.branches):
            execute(rows)
        counts: dict[str, int] = {}
        letters = 0
        shared = len(self.branches) > 1
        if shared:
            rows = rows.persist()
        try:
            for branch in self.branches:
                valid, broken = self._write(branch, branch.rows(rows), id, batch)
                counts[branch.outlet.name] = counts.get(branch.outlet.name, 0) + valid
                letters += broken
                crash_point("after-topic-commit")
        finally:
            if shared:
                rows.unpersist()
        self.query.written(batch, counts, letters, replayed=replayed)
        crash_point("before-spark-commit")

    def _write(self, branch: Branch[KafkaTopic], rows: DataFrame, id: str, batch: int) -> tuple[int, int]:
        """Write the rows of an outlet; return the numbers of valid rows and of broken rows."""
        from pyspark.sql import functions as F

        outlet, topic = branch.outlet, branch.topic
        topic.require()
        if outlet.name not in self._fits:  # the rows of a writer always have the same schema
            topic.publish([outlet.contract])
            if self.dead_letters is not None:
                self.dead_letters.publish([dead_letter_contract()])
            self._fits[outlet.name] = outlet_conformance(rows.schema, outlet)
        fit = self._fits[outlet.name]
        record = message(topic.stored, outlet.contract, outlet.partition_by)

        def sent(messages: DataFrame, to: KafkaTopic = topic, part: str = "") -> tuple[int, int]:
            return self._send(messages, to, outlet, _Batch(id, batch, f"{outlet.name}{part}"))

        if not fit.refuses:
            return sent(rows.select(*fit.columns).select(record))
        if self.dead_letters is None or outlet.on_invalid != "dead-letters":
            assert fit.reason is not None, "a condition needs dead letters"
            failure = F.concat_ws("\n", F.lit(_MARK), fit.reason, fit.original, F.lit(_MARK))
            valid = rows.where(F.assert_true(fit.reason.isNull(), failure).isNull())
            try:
                return sent(valid.select(*fit.columns).select(record))
            except Exception as error:
                if broken := _BROKEN.search(str(error)):
                    raise broken_rows_error(outlet, 1, *broken.groups()) from None
                raise
        self.dead_letters.require()
        checked = with_reasons(rows, fit)
        dead_letter = letter(self.dead_letters.stored, outlet, f"{self.query.name}/{batch}", self.query.version)
        if self.dead_letters.cluster is topic.cluster:
            chosen = F.when(F.col(REASON).isNull(), record).otherwise(dead_letter)
            return sent(checked.select(chosen.alias(MESSAGE), REASON))
        persisted = checked.persist()
        try:
            broken_rows = persisted.where(F.col(REASON).isNotNull()).select(dead_letter.alias(MESSAGE))
            letters, _ = sent(broken_rows, self.dead_letters, ".dead-letters")
            count, _ = sent(persisted.where(F.col(REASON).isNull()).select(record))
            return count, letters
        finally:
            persisted.unpersist()

    def _send(self, messages: DataFrame, topic: KafkaTopic, outlet: OutletPlan, of: _Batch) -> tuple[int, int]:
        """Send messages with the guarantee of their outlet; return how many lack a reason, and how many have one.

        A batch that was begun with another guarantee, before the settings changed, is finished with that one.
        """
        place = (self.query.streamlet, self.query.name, of.id, of.number, of.part)
        directory = self.staged.part(*place)
        shares = Shares.read(directory)
        staged = self.staged.has(*place)
        if shares is None and (staged or GUARANTEE.of(outlet.options) == "at-least-once"):
            if staged or STAGED.of(outlet.options):
                messages = self.staged.messages(messages, *place)
            return (
                send_both(messages, topic.stored) if REASON in messages.columns else (send(messages, topic.stored), 0)
            )
        writer = self._once.get(of.part) or self._exactly_once(topic, of)
        if shares is None:
            shares = writer.decide(_stored(messages, of, headers=bool(STAGED.of(outlet.options))), directory)
        letters = [self.dead_letters.name] if self.dead_letters is not None and shares.letters else []
        writer.send(messages.sparkSession, directory, shares, of.number, [topic.name, *letters])
        return shares.messages - shares.letters, shares.letters

    def _exactly_once(self, topic: KafkaTopic, of: _Batch) -> ExactlyOnce:
        query = self.query
        name = f"{topic.writers}{writer_name(query.streamlet, query.name, of.part, of.id)}"
        described = f"`{query.streamlet}.{query.name}`, outlet `{of.part}`,"
        limit = topic.state.message_limit(topic.name)
        self._once[of.part] = ExactlyOnce(topic.cluster, topic.state.writers, topic.name, name, described, limit)
        return self._once[of.part]

    def _is_stored(self, outlet: OutletPlan, id: str, batch: int) -> bool:
        """Return whether an earlier attempt has stored the messages of an outlet, which are not made again."""
        place = (self.query.streamlet, self.query.name, id, batch, outlet.name)
        return self.staged.has(*place) or Shares.read(self.staged.part(*place)) is not None


def _stored(messages: DataFrame, of: _Batch, *, headers: bool) -> DataFrame:
    """Return messages with the columns of `transactions.py`.

    Arguments:
        messages: the messages in the column `MESSAGE`, and a reason for dead letters.
        of: their batch.
        headers: whether they have the headers of a staged outlet, for inlets that recognize doubles by headers.
    """
    from pyspark.sql import functions as F

    columns = [F.col(f"{MESSAGE}.{name}").cast("binary").alias(name) for name in (KEY, VALUE)]
    if REASON in messages.columns:
        letter = F.when(F.col(REASON).isNotNull(), F.lit(True))
        columns += [F.col(f"{MESSAGE}.topic").alias(TOPIC), letter.alias(LETTER)]
    if headers:
        columns.append(headers_of(of.id, of.number, of.part, F.monotonically_increasing_id()).alias(HEADERS))
    return messages.select(*columns)


_MARK = "streamlets-broken-row"
_BROKEN = re.compile(f"{_MARK}\n(.*?)\n(.*?)\n{_MARK}", re.DOTALL)
