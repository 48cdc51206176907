"""Dead letters, read and counted without Spark: records that broke a contract, why, and whether they still wait."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from blueprint.avro.dead_letters import dead_letter_contract
from streamlets.channels.replays import Letter, Run

if TYPE_CHECKING:
    from streamlets.channels.base import TopicResource


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A record that broke a contract.

    Arguments:
        place: its place in the topic of dead letters.
        record: the record as JSON text.
        port: the port whose contract it broke, as `ref.port`.
        coordinates: the query and the batch that wrote it, as `query/batch`; at an inlet its place in the topic, as
            `topic/partition/offset`.
        reason: the first reason why it broke the contract.
        time: when it was written.
        version: the version of the application that refused it; "" if it was not a run.
        replayed: whether a replay of it was decided.
    """

    place: Letter
    record: str
    port: str
    coordinates: str
    reason: str
    time: datetime
    version: str
    replayed: bool

    @property
    def streamlet(self) -> str:
        """The streamlet of the port."""
        return self.port.rpartition(".")[0]

    @property
    def topic(self) -> str:
        """The topic that an inlet has read it from; "" for a row of an outlet."""
        return self.coordinates.rsplit("/", 2)[0] if self.coordinates.count("/") == 2 else ""

    @property
    def query(self) -> str:
        """The query that wrote it; "" at an inlet."""
        return "" if self.topic else self.coordinates.partition("/")[0]

    @property
    def batch(self) -> str:
        """The batch of the query that wrote it; "" at an inlet."""
        return "" if self.topic else self.coordinates.partition("/")[2]

    @property
    def origin(self) -> str:
        """Where it came from, for display."""
        if not self.topic and self.query == "task":  # of a batch source
            return f"task {self.batch}"
        if not self.topic and self.query == "spout":
            return f"{self.batch} of the spout"
        if not self.topic:
            return f"{self.query} batch {self.batch}"
        _, partition, offset = self.coordinates.rsplit("/", 2)
        return f"topic {self.topic}, partition {partition}, offset {offset}"


@dataclass(frozen=True, slots=True)
class Tally:
    """The count of dead letters of a port with a reason; `first` and `last` are the times of the first and the last."""

    port: str
    reason: str
    waiting: int
    replayed: int
    first: datetime
    last: datetime

    @property
    def streamlet(self) -> str:
        """The streamlet of the port."""
        return self.port.rpartition(".")[0]

    @property
    def outlet(self) -> str:
        """The name of the port."""
        return self.port.rpartition(".")[2]


def holds_dead_letters(topic: TopicResource) -> bool:
    """Return whether a topic is one of dead letters, by the contract of its records."""
    fingerprint = dead_letter_contract().fingerprint
    return any(contract.fingerprint == fingerprint for contract in topic.contracts())


def letters_in(topic: TopicResource) -> Iterator[DeadLetter]:
    """Yield the dead letters of a topic, oldest first."""
    replayed_runs: dict[str, list[Run]] = defaultdict(list)
    for replay in topic.replays.all():
        for run in replay.letters:
            replayed_runs[run.position].append(run)
    for batch in topic.scan(dead_letter_contract(), metadata=True):
        for row in batch.to_pylist():
            meta = row.pop("_meta")
            place = Letter(meta["position"], meta["sequence"])
            replayed = any(run.has(place) for run in replayed_runs.get(place.position, ()))
            yield DeadLetter(place=place, **row, replayed=replayed)


def waiting_letters(topic: TopicResource) -> int:
    """Return the number of dead letters in a topic that were not replayed; 0 for a topic of others."""
    return sum(not letter.replayed for letter in letters_in(topic)) if holds_dead_letters(topic) else 0


def tallies(letters: Iterable[DeadLetter]) -> list[Tally]:
    """Return the dead letters counted by port and reason, the most frequent first."""
    by_key: dict[tuple[str, str], Tally] = {}
    for letter in letters:
        key = (letter.port, letter.reason)
        tally = by_key.get(key) or Tally(*key, 0, 0, letter.time, letter.time)
        by_key[key] = replace(
            tally,
            waiting=tally.waiting + (not letter.replayed),
            replayed=tally.replayed + letter.replayed,
            first=min(tally.first, letter.time),
            last=max(tally.last, letter.time),
        )
    return sorted(by_key.values(), key=lambda tally: (-tally.waiting, -tally.replayed, tally.port, tally.reason))
