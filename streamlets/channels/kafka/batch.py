"""Writing the batches of a query with Spark's Kafka sink, at least once.

Each outlet is written in one pass: the rows that conform go to its topic, the others to the dead letters. A batch that
is replayed after a failure is written again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streamlets.batches import execute, query_id
from streamlets.channels.begun import BegunBatches
from streamlets.channels.conformity import REASON, broken_rows_error, outlet_conformance, with_reasons
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.channels.kafka.sending import MESSAGE, letter, message, send, send_both
from streamlets.channels.kafka.settings import STAGED
from streamlets.channels.kafka.staging import StagedBatches
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from blueprint.plan import OutletPlan
    from streamlets.channels.base import Branch, TopicQuery
    from streamlets.channels.kafka.topic import KafkaTopic
    from streamlets.contract.conform import Conformance


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

        def stored(messages: DataFrame, part: str = "") -> DataFrame:
            if not STAGED.of(outlet.options):
                return messages
            streamlet, query = self.query.streamlet, self.query.name
            return self.staged.messages(messages, streamlet, query, id, batch, f"{outlet.name}{part}")

        if not fit.refuses:
            return send(stored(rows.select(*fit.columns).select(record)), topic.stored), 0
        if self.dead_letters is None or outlet.on_invalid != "dead-letters":
            assert fit.reason is not None, "a condition needs dead letters"
            failure = F.concat_ws("\n", F.lit(_MARK), fit.reason, fit.original, F.lit(_MARK))
            valid = rows.where(F.assert_true(fit.reason.isNull(), failure).isNull())
            try:
                return send(stored(valid.select(*fit.columns).select(record)), topic.stored), 0
            except Exception as error:
                if broken := _BROKEN.search(str(error)):
                    raise broken_rows_error(outlet, 1, *broken.groups()) from None
                raise
        self.dead_letters.require()
        checked = with_reasons(rows, fit)
        dead_letter = letter(self.dead_letters.stored, outlet, f"{self.query.name}/{batch}", self.query.version)
        if self.dead_letters.cluster is topic.cluster:
            chosen = F.when(F.col(REASON).isNull(), record).otherwise(dead_letter)
            return send_both(stored(checked.select(chosen.alias(MESSAGE), REASON)), topic.stored)
        persisted = checked.persist()
        try:
            broken_rows = persisted.where(F.col(REASON).isNotNull()).select(dead_letter.alias(MESSAGE))
            letters = send(stored(broken_rows, ".dead-letters"), self.dead_letters.stored)
            valid_rows = persisted.where(F.col(REASON).isNull()).select(record)
            return send(stored(valid_rows), topic.stored), letters
        finally:
            persisted.unpersist()

    def _is_stored(self, outlet: OutletPlan, id: str, batch: int) -> bool:
        """Return whether an earlier attempt has stored the messages of a staged outlet, which are not made again."""
        staged = bool(STAGED.of(outlet.options))
        return staged and self.staged.has(self.query.streamlet, self.query.name, id, batch, outlet.name)


_MARK = "streamlets-broken-row"
_BROKEN = re.compile(f"{_MARK}\n(.*?)\n(.*?)\n{_MARK}", re.DOTALL)
