"""A reader of a topic with dead letters, as the runner has it: a query, and what follows its batches."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.avro.model import Contract
from blueprint.plan import InletPlan, StreamletPlan
from streamlets.channels.base import TopicResource
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.channels.kafka.topic import KafkaTopic
from streamlets.runner.checkpoints.checkpoint import read_checkpoint
from streamlets.runner.events.record_events import RecordsMissed
from streamlets.runner.events.unit_events import UnitWarned
from streamlets.runner.units.followups import FollowUps
from streamlets.runner.units.lost_records import require_records
from streamlets.spark.session import active
from tests.streamlets.channels.benches import KafkaBench
from tests.streamlets.channels.topics import READING, batch
from tests.streamlets.channels.topics import inlet as inlet_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Reader:
    """A streamlet `reader` with the inlet `in` and the query `q`.

    Arguments:
        session: the session of its queries.
        directory: its checkpoints are below it.
        topic: what it reads.
        letters: the topic of its dead letters.
        inlet: its inlet; with dead letters unless that says otherwise.
    """

    def __init__(
        self, session: SparkSession, directory: Path, topic: KafkaTopic, letters: KafkaTopic, inlet: InletPlan
    ) -> None:
        self.session = session
        self.directory = directory / "checkpoints"
        self.topic = topic
        self.letters_topic = letters
        self.inlet = replace(inlet, on_invalid="dead-letters")
        self.ids: list[int] = []
        self.rows: list[Any] = []
        self.warnings: list[UnitWarned] = []
        self.missed: list[RecordsMissed] = []
        self.before: list[Callable[[], object]] = []  # called before the next batch is read
        self.between: list[Callable[[], object]] = []  # called at the end of the next batch
        letters.create([dead_letter_contract()])

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of the query."""
        return self.directory / "reader" / "q"

    def followups(self) -> FollowUps:
        """Return new follow-ups, as a new process has them."""
        plan, topics = self._plan()
        return FollowUps(plan, "app", topics, self.directory, lambda: self.session, self._note)

    def _note(self, event: UnitWarned | RecordsMissed) -> None:
        if isinstance(event, RecordsMissed):
            self.missed.append(event)
        else:
            self.warnings.append(event)

    def _plan(self) -> tuple[StreamletPlan, dict[str, TopicResource]]:
        descriptor: Any = None
        plan = StreamletPlan(
            ref="reader",
            class_name="m.Reader",
            descriptor=descriptor,
            inlets=(self.inlet,),
            dead_letters="letters",
            version="1.2",
        )
        return plan, {self.inlet.topic: self.topic, "letters": self.letters_topic}

    def frame(self, *, metadata: bool = False) -> DataFrame:
        """Return the records of the inlet as the streamlet reads them."""
        with active(self.session):
            return self.topic.read(self.session, self.inlet, name="in_", metadata=metadata)

    def run(self, frame: DataFrame | None = None, *, follow: bool = True, metadata: bool = False) -> int:
        """Process all available data as a new process, and add its ids; return how much invalid data it reported.

        Arguments:
            frame: the records, of a query that has been running; default: those of a query that is built now.
            follow: whether its batches are followed up; otherwise the process was killed before.
        """
        followups, checkpoint = self.followups(), self.checkpoint
        if frame is None:
            frame = self.frame(metadata=metadata)
        plan, topics = self._plan()
        require_records(plan, read_checkpoint(checkpoint), topics, self.missed.append)
        followups.starting("q", read_checkpoint(checkpoint))

        def collect(rows: DataFrame, batch: int) -> None:
            while self.before:
                self.before.pop()()
            self.rows += (collected := rows.collect())
            self.ids += [row.id for row in collected if "id" in row]
            while self.between:
                self.between.pop()()

        writer = frame.writeStream.foreachBatch(collect).option("checkpointLocation", str(checkpoint))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(600), query.status
        reports = [json.loads(report.json) for report in query.recentProgress]
        for report in reports if follow else ():
            followups.batch("q", report)
        followups.finish()
        return sum(followups.invalid(report) for report in reports)

    def letters(self) -> list[dict[str, Any]]:
        """Return the dead letters."""
        batches = self.letters_topic.scan(dead_letter_contract())
        return [letter for batch in batches for letter in batch.to_pylist()]

    def offsets(self) -> list[int]:
        """Return the offsets of the dead letters."""
        return [int(letter["coordinates"].rpartition("/")[2]) for letter in self.letters()]


def opened(kafka: KafkaBench, session: SparkSession, options: Mapping[str, object] | None = None) -> Reader:
    """Return a reader of a new topic."""
    topic, letters = kafka.topic("in", options=options), kafka.channel.topic(kafka.plan("letters"))
    assert isinstance(topic, KafkaTopic)
    assert isinstance(letters, KafkaTopic)
    return Reader(session, kafka.directory, topic, letters, inlet_of("in"))


def message(reader: Reader, id: int, of: Contract = READING) -> bytes:
    """Return a record as a message."""
    return reader.topic._wire(READING).encode(batch([id], of), of)[0]


def send(reader: Reader, *values: bytes | None) -> None:
    """Send messages in this order."""
    reader.topic.cluster.send(reader.topic.name, [(b"k", value) for value in values])
