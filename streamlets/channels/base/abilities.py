"""What only some topics can do, by the traits of their channel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from streamlets.channels.base.contents import Difference, InvalidRecord, Stretch
from streamlets.channels.base.optional import HasTraits, optional
from streamlets.channels.base.readers import Dropped, Missed, Position, Reader

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from blueprint.avro.model import Contract
    from blueprint.plan import InletPlan


class TopicAbilities(HasTraits):
    """The optional methods of a topic. One that has nothing to return without its trait is called only with it."""

    @optional("invalid_records")
    def shown_with(self, schema: Contract | None, invalid: Callable[[str], None]) -> Self:
        """Return the topic for showing its records as they were written.

        Arguments:
            schema: the schema of messages that do not name one; None if it is not known.
            invalid: called with the place of each message that is not a record, and why; it is omitted.

        Raises:
            ValueError: the messages do not name their schema, and it is not known.
        """
        return self

    @optional("invalid_records")
    def invalid_count(self, inlet: InletPlan, observed: Mapping[str, Mapping[str, Any]]) -> int:
        """Return how much invalid data a batch has omitted; 0 only if there was none.

        An inlet with `on_invalid` of `dead-letters` omits it, and the runner writes it to the dead letters after each
        batch.

        Arguments:
            inlet: the inlet.
            observed: the observed metrics of the batch by name, as in Spark's progress report.
        """
        return 0

    @optional("invalid_records")
    def invalid(
        self, session: SparkSession, inlet: InletPlan, after: Position | None, until: Position
    ) -> Iterator[tuple[list[InvalidRecord], Position]]:
        """Yield the invalid data between two positions, the same at each call, with the position that is reached.

        Arguments:
            session: a session of the Spark that reads the topic.
            inlet: the inlet.
            after: the first position; None for the beginning of the topic.
            until: the second position.
        """
        raise NotImplementedError

    @optional("invalid_records")
    def decoded(self, content: str, contract: Contract) -> dict[str, Any]:
        """Return invalid data as a record of a contract, by what is known now.

        Arguments:
            content: the `content` of an `InvalidRecord`.
            contract: the contract to read with.

        Raises:
            RecordError: it is still not a record.
        """
        raise NotImplementedError

    @optional("invalid_records")
    def furthest(self, first: Position, second: Position) -> Position:
        """Return the position up to which everything was read by a reader that reached two positions.

        Arguments:
            first: a position.
            second: another one.
        """
        raise NotImplementedError

    @property
    @optional("loses_records")
    def fails_on_loss(self) -> bool:
        """Whether a reader whose records were deleted stops; otherwise it continues with the first one that exists."""
        return False

    @optional("loses_records")
    def lost(self, reader: Reader) -> tuple[Missed, ...]:
        """Return the deleted records of a reader that is about to continue from its committed position.

        Arguments:
            reader: the reader.

        Raises:
            TopicLostError: the topic no longer exists, or is not the one that has the position.
        """
        return ()

    @optional("loses_records")
    def skipped(self, reader: Reader, until: Position, records: int) -> tuple[Missed, ...]:
        """Return the records that a successful batch skipped because they had been deleted.

        Arguments:
            reader: the reader, with the position where the batch began.
            until: the position where it ended.
            records: the number of records that it has read, a multiple of it if the batch was executed several times.
        """
        return ()

    @optional("late_records")
    def late_operator(self, inlet: InletPlan) -> str | None:
        """Return the name of the stateful operator that drops late records of an inlet, or None.

        Spark's progress reports have the operator by this name. An inlet without such an operator drops no records.

        Arguments:
            inlet: the inlet.
        """
        return None

    @optional("shows_progress")
    def committed(self, group: str, position: Position) -> None:
        """Store a reader's position where other tools see it.

        Arguments:
            group: the name of the reader, unique among the applications of the storage.
            position: the position up to which it has committed.
        """

    @optional("shows_progress")
    def forget_reader(self, group: str) -> None:
        """Remove the positions that `committed` has stored for a reader; without effect if there are none.

        Arguments:
            group: the name of the reader.

        Raises:
            ChannelUnavailableError: the servers do not answer, or refuse it.
        """

    @optional("purges")
    def purge(
        self,
        readers: Iterable[Reader],
        *,
        before: float | None = None,
        schema: str | None = None,
        force: bool = False,
        dry: bool = False,
    ) -> Dropped:
        """Drop records.

        Arguments:
            readers: the readers of the topic.
            before: drop only records that were committed before this time, in seconds since the epoch; None for all.
            schema: drop only records that were written with the schema of this fingerprint; None for all.
            force: also drop records that a reader has not committed.
            dry: drop nothing, only return the result that dropping would have.

        Returns:
            What was dropped, or would be dropped.

        Raises:
            TopicLostError: the topic does not exist.
            ValueError: the channel cannot drop these records.
        """
        raise ValueError(f"the channel `{self.traits.name}` cannot delete records")

    @optional("copies")
    def stretches(self, after: Position | None, until: Position, contract: Contract | None) -> Iterator[Stretch]:
        """Yield the records between two positions, in commit order; the records of a partition in their order.

        Arguments:
            after: the first position; None for the beginning of the topic.
            until: the second position.
            contract: the contract of the writers, for topics whose records do not name theirs; None if it is not known.

        Raises:
            TopicLostError: the topic does not exist, or a position is not one of its positions.
            ValueError: the records do not name their contract, and none is given.
        """
        raise NotImplementedError

    @optional("administration")
    def differences(self) -> tuple[Difference, ...]:
        """Return the settings that differ from the plan of the topic.

        Settings that the plan does not have are not compared.

        Raises:
            TopicLostError: the topic does not exist, or is not the one that the application first used.
        """
        return ()

    @optional("administration")
    def alter(self, differences: Iterable[Difference]) -> None:
        """Change settings to the values of the plan. Only `flow topics apply` calls this.

        Arguments:
            differences: differences that `differences` returned, each of which is alterable.

        Raises:
            TopicLostError: the topic does not exist.
            ChannelUnavailableError: the servers do not answer, or refuse it.
        """

    @optional("ranges")
    def position_at(self, time: float) -> Position:
        """Return the position of the first record that was committed at a time or later; the end if there is none.

        Arguments:
            time: the time, in seconds since the epoch.

        Raises:
            TopicLostError: the topic does not exist.
        """
        raise NotImplementedError

    @optional("ranges")
    def time_before(self, position: Position) -> float | None:
        """Return when the last record before a position was committed, in seconds since the epoch; None without one.

        Arguments:
            position: the position.

        Raises:
            TopicLostError: the topic does not exist.
        """
        raise NotImplementedError

    @optional("ranges")
    def position_of(self, shown: str) -> Position:
        """Return the position that `shown` has returned as a text.

        Arguments:
            shown: the text.

        Raises:
            TopicLostError: the topic does not exist.
            ValueError: it is not a position in the topic.
        """
        raise NotImplementedError

    @optional("ranges")
    def deleted_since(self, start: float | Position) -> float | None:
        """Return the time of the oldest record that is left, if records from a start on were deleted, or may be.

        Arguments:
            start: the time in seconds since the epoch, or the position.

        Returns:
            The time in seconds since the epoch; None if all records from the start on are there.

        Raises:
            TopicLostError: the topic does not exist.
        """
        raise NotImplementedError

    @optional("snapshots")
    def snapshot(self, directory: Path) -> None:
        """Make a directory with the topic as it is now, which this channel opens like any other.

        The records of a snapshot stay when the topic loses them. They use space only then.

        Arguments:
            directory: the directory, which does not exist.

        Raises:
            TopicLostError: the topic does not exist.
            OSError: the directory cannot be written.
        """
        raise NotImplementedError

    @optional("snapshots")
    def limit(self, after: Position | None, until: Position) -> None:
        """Let a snapshot begin and end at positions, for all who open it later.

        Arguments:
            after: where it begins; None for its beginning.
            until: where it ends.

        Raises:
            TopicLostError: the topic does not exist.
            OSError: the directory cannot be written.
        """
        raise NotImplementedError

    @property
    @optional("administration")
    def created(self) -> bool:
        """Whether this application has created the topic; False if it existed before, or that is not known."""
        return True

    @optional("deletes")
    def delete(self) -> None:
        """Delete the topic with all its records and writers, and the application's data about it.

        The topic need not exist, so that a call after a kill completes an earlier one. A later topic of its name has a
        new id, and its writers begin again. Nobody may read or write the topic during the call.

        Raises:
            TopicLostError: the topic of that name is not the one that the application has used.
            ChannelUnavailableError: the servers do not answer, or refuse it.
            OSError: files cannot be deleted.
        """
