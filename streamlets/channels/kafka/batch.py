"""Writing the batches of a query: with Spark's Kafka sink at least once, or in transactions exactly once.

Each outlet is written in one pass: the rows that conform go to its topic, the others to the dead letters. Spark's sink
writes a batch again that is replayed after a failure.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streamlets.batches import execute, query_id
from streamlets.channels.base import TopicWriteError
from streamlets.channels.begun import BegunBatches
from streamlets.channels.conformity import REASON, broken_rows_error, outlet_conformance, with_reasons
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.channels.kafka.exactly_once import ExactlyOnce, store, writer_name
from streamlets.channels.kafka.sending import MESSAGE, letter, message, send, send_both, send_stored
from streamlets.channels.kafka.settings import GUARANTEE, STAGED
from streamlets.channels.kafka.shares import REMEDY, require_whole
from streamlets.channels.kafka.staging import BatchPlace, StagedBatches, StagedPart, headers_of
from streamlets.channels.kafka.transactions import HEADERS, KEY, LETTER, TOPIC, VALUE
from streamlets.shared_rows import shared_rows
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from streamlets.channels.base import Branch, TopicQuery
    from streamlets.channels.kafka.topic import KafkaTopic
    from streamlets.contract.conform import Conformance


@dataclass(frozen=True, slots=True)
class _Part:
    """The messages of an outlet, or of its dead letters on another cluster.

    Arguments:
        name: the name of the part.
        topic: its topic.
        messages: the messages in the column `MESSAGE`, and the reason for dead letters among them.
        letters: whether all of them are dead letters.
    """

    name: str
    topic: KafkaTopic
    messages: DataFrame
    letters: bool = False


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

        The messages of staged and exactly-once outlets are stored and decided before anything is sent. A batch that was
        begun with other guarantees, before the settings changed, is finished with those.

        Raises:
            BrokenRowsError: a row breaks the contract of an outlet that does not allow it. Other rows of the batch may
                have been published.
            TopicWriteError: the batch has stored records of an outlet that the query no longer has.
            DamagedFileError: what is stored for the batch is damaged.
        """
        place = BatchPlace(self.query.streamlet, self.query.name, query_id(rows), batch)
        replayed = self.begun.has(place.streamlet, place.query, place.id, batch)
        self.begun.begin(place.streamlet, place.query, place.id, batch)
        crash_point("after-batch-begun")
        self.staged.remove_before(place)
        decided = self.staged.decided(place)
        named = self._named()
        _require_outlets(decided, named, place)
        missing = [name for name in named if name not in decided]
        if not missing:
            execute(rows)
        counts: dict[str, int] = {}
        letters = 0
        with shared_rows(rows) if len(missing) > 1 else nullcontext(rows) as executed:
            if not decided:
                decided = self._store(executed, place)
            for name, branch in named.items():
                if name in decided:
                    valid, broken = self._send_stored(name, branch, rows.sparkSession, decided, place)
                else:
                    valid, broken = self._send(name, branch, executed, place)
                counts[branch.outlet.name] = counts.get(branch.outlet.name, 0) + valid
                letters += broken
                crash_point("after-topic-commit")
        self.query.written(batch, counts, letters, replayed=replayed)
        crash_point("before-spark-commit")

    def _named(self) -> dict[str, Branch[KafkaTopic]]:
        """Return the branches by the names of their parts.

        Two branches have one outlet if it gets the records of two others that leave a cycle.
        """
        named: dict[str, Branch[KafkaTopic]] = {}
        for branch in self.branches:
            others = sum(known.outlet.name == branch.outlet.name for known in named.values())
            named[f"{branch.outlet.name}.{others + 1}" if others else branch.outlet.name] = branch
        return named

    def _store(self, rows: DataFrame, place: BatchPlace) -> dict[str, StagedPart]:
        """Store the messages of the outlets that are staged or exactly-once; return the parts by their names."""
        parts: dict[str, StagedPart] = {}
        directory = self.staged.begin(place)
        for name, branch in self._named().items():
            options = branch.outlet.options
            once, staged = GUARANTEE.of(options) == "exactly-once", bool(STAGED.of(options))
            if not (once or staged):
                continue
            with self._parts(name, branch, rows, place) as branch_parts:
                for part in branch_parts:
                    messages = _stored(part, place, headers=staged)
                    parts[part.name] = StagedPart(store(messages, directory), once)
        if parts:
            self.staged.decide(place, parts)
        return parts

    def _send_stored(
        self, name: str, branch: Branch[KafkaTopic], session: SparkSession, decided: Mapping[str, StagedPart],
        place: BatchPlace,
    ) -> tuple[int, int]:  # fmt: skip
        """Send the stored messages of an outlet; return the numbers of valid rows and of broken rows."""
        directory, counts = self.staged.of_batch(place), {}
        for part_name, topic in ((f"{name}{_LETTERS}", self.dead_letters), (name, branch.topic)):
            if (part := decided.get(part_name)) is None:
                continue
            if topic is None:
                raise TopicWriteError(
                    f"`{place.streamlet}.{place.query}`: batch {place.batch} has dead letters of `{name}`, which "
                    "no longer has a topic for them; restore it until the batch is completed"
                )
            topic.require()
            shares = counts[part_name] = part.shares
            if part.once:
                letters = [self.dead_letters.name] if self.dead_letters is not None and shares.letters else []
                writer = self._once.get(part_name) or self._exactly_once(topic, part_name, place)
                writer.send(session, directory, shares, place.batch, [topic.name, *letters])
            else:
                files = [directory / file for share in shares.tasks for file in share.files]
                require_whole(files, shares.messages)
                send_stored(session, files, topic.stored)
        valid, letters_apart = counts[name], counts.get(f"{name}{_LETTERS}")
        apart = letters_apart.messages if letters_apart is not None else 0
        return valid.messages - valid.letters, valid.letters + apart

    def _send(self, name: str, branch: Branch[KafkaTopic], rows: DataFrame, place: BatchPlace) -> tuple[int, int]:
        """Send the rows of an outlet with Spark's sink; return the numbers of valid rows and of broken rows."""
        valid = letters = 0
        with self._parts(name, branch, rows, place) as parts:
            for part in parts:
                if REASON in part.messages.columns:
                    sent, broken = send_both(part.messages, part.topic.stored)
                else:
                    sent, broken = send(part.messages, part.topic.stored), 0
                valid += 0 if part.letters else sent
                letters += sent if part.letters else broken
        return valid, letters

    @contextmanager
    def _parts(
        self, name: str, branch: Branch[KafkaTopic], rows: DataFrame, place: BatchPlace
    ) -> Iterator[list[_Part]]:
        """Provide the messages of an outlet. Its dead letters are among them if they are on the same cluster.

        Raises:
            BrokenRowsError: a row breaks the contract of an outlet without dead letters; raised when the messages are
                executed in the block.
        """
        from pyspark.sql import functions as F

        outlet, topic, rows = branch.outlet, branch.topic, branch.rows(rows)
        topic.require()
        if name not in self._fits:  # the rows of a writer always have the same schema
            topic.publish([outlet.contract])
            if self.dead_letters is not None:
                self.dead_letters.publish([dead_letter_contract()])
            self._fits[name] = outlet_conformance(rows.schema, outlet)
        fit = self._fits[name]
        record = message(topic.stored, outlet.contract, outlet.partition_by)
        if not fit.refuses:
            yield [_Part(name, topic, rows.select(*fit.columns).select(record))]
            return
        if self.dead_letters is None or outlet.on_invalid != "dead-letters":
            assert fit.reason is not None, "a condition needs dead letters"
            failure = F.concat_ws("\n", F.lit(_MARK), fit.reason, fit.original, F.lit(_MARK))
            valid = rows.where(F.assert_true(fit.reason.isNull(), failure).isNull())
            try:
                yield [_Part(name, topic, valid.select(*fit.columns).select(record))]
            except Exception as error:
                if broken := _BROKEN.search(str(error)):
                    raise broken_rows_error(outlet, 1, *broken.groups()) from None
                raise
            return
        self.dead_letters.require()
        checked = with_reasons(rows, fit)
        coordinates = f"{self.query.name}/{place.batch}"
        dead_letter = letter(self.dead_letters.stored, outlet, coordinates, self.query.version)
        if self.dead_letters.cluster is topic.cluster:
            chosen = F.when(F.col(REASON).isNull(), record).otherwise(dead_letter)
            yield [_Part(name, topic, checked.select(chosen.alias(MESSAGE), REASON))]
            return
        with shared_rows(checked) as shared:
            broken_rows = shared.where(F.col(REASON).isNotNull()).select(dead_letter.alias(MESSAGE))
            valid = shared.where(F.col(REASON).isNull()).select(record)
            letters = _Part(f"{name}{_LETTERS}", self.dead_letters, broken_rows, letters=True)
            yield [letters, _Part(name, topic, valid)]

    def _exactly_once(self, topic: KafkaTopic, part: str, place: BatchPlace) -> ExactlyOnce:
        name = f"{topic.writers}{writer_name(place.streamlet, place.query, part, place.id)}"
        described = f"`{place.streamlet}.{place.query}`, outlet `{part}`,"
        limit = topic.state.message_limit(topic.name)
        self._once[part] = ExactlyOnce(topic.cluster, topic.state.writers, topic.name, name, described, limit)
        return self._once[part]


def _stored(part: _Part, place: BatchPlace, *, headers: bool) -> DataFrame:
    """Return the messages of a part with the columns of `transactions.py`.

    Arguments:
        part: the part.
        place: its batch.
        headers: whether they have the headers of a staged outlet, for inlets that recognize doubles by headers.
    """
    from pyspark.sql import functions as F

    columns = [F.col(f"{MESSAGE}.{name}").cast("binary").alias(name) for name in (KEY, VALUE)]
    if REASON in part.messages.columns:
        letter = F.when(F.col(REASON).isNotNull(), F.lit(True))
        columns += [F.col(f"{MESSAGE}.topic").alias(TOPIC), letter.alias(LETTER)]
    if headers:
        columns.append(headers_of(place.id, place.batch, part.name, F.monotonically_increasing_id()).alias(HEADERS))
    return part.messages.select(*columns)


_LETTERS = ".dead-letters"
"""What follows the name of an outlet in the name of the part with its dead letters on another cluster."""

_MARK = "streamlets-broken-row"
_BROKEN = re.compile(f"{_MARK}\n(.*?)\n(.*?)\n{_MARK}", re.DOTALL)


def _require_outlets(decided: Iterable[str], named: Container[str], place: BatchPlace) -> None:
    """Require that the stored parts of a batch belong to outlets of the query.

    Arguments:
        decided: the names of the parts.
        named: the names of the outlets.
        place: the batch.

    Raises:
        TopicWriteError: a part has the records of an outlet that the query no longer has.
    """
    lost = [outlet for name in decided if (outlet := name.removesuffix(_LETTERS)) not in named]
    if lost:
        raise TopicWriteError(
            f"`{place.streamlet}.{place.query}`: batch {place.batch} was interrupted, and has stored records of "
            f"`{lost[0]}`, which is not an outlet of the query any more; restore the outlet until the batch is "
            f"completed, or {REMEDY}"
        )
