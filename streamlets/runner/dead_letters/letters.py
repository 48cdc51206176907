"""Dead letters, read and counted without Spark: which records broke which contract, why, and which wait."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from blueprint.avro.dead_letters import dead_letter_contract
from streamlets.channels.delta.inspection import contracts
from streamlets.channels.delta.replays import Letter, Run

if TYPE_CHECKING:
    from streamlets.channels.delta import DeltaTopic


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that broke a contract.

    Arguments:
        place: where it lies in its topic.
        record: as it came, as JSON text; port: whose contract it broke, as ref.port.
        coordinates: the query and the batch it came in; reason: the first one.
        time: when it was found; version: of the streamlet.
        replayed: whether it has been decided to replay it.
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
        """Whose outlet it was to go to."""
        return self.port.rpartition(".")[0]

    @property
    def query(self) -> str:
        """Which query it came in."""
        return self.coordinates.partition("/")[0]

    @property
    def batch(self) -> str:
        """Which batch of it."""
        return self.coordinates.partition("/")[2]


@dataclass(frozen=True, slots=True)
class Tally:
    """The dead letters of one port and one reason; `first` and `last` are when they were found."""

    port: str
    reason: str
    waiting: int
    replayed: int
    first: datetime
    last: datetime

    @property
    def streamlet(self) -> str:
        """Whose port it is."""
        return self.port.rpartition(".")[0]

    @property
    def outlet(self) -> str:
        """The port's own name."""
        return self.port.rpartition(".")[2]


def holds_dead_letters(topic: DeltaTopic) -> bool:
    """Whether a topic holds dead letters: its records are of their contract."""
    ours = dead_letter_contract().fingerprint
    return any(contract.fingerprint == ours for contract in contracts(topic.path))


def letters_in(topic: DeltaTopic) -> Iterator[DeadLetter]:
    """The dead letters of a topic, oldest first."""
    done: dict[str, list[Run]] = defaultdict(list)
    for replay in topic.replays.all():
        for run in replay.letters:
            done[run.position].append(run)
    for batch in topic.scan(dead_letter_contract(), metadata=True):
        for row in batch.to_pylist():
            meta = row.pop("_meta")
            place = Letter(meta["position"], meta["sequence"])
            replayed = any(run.has(place) for run in done.get(place.position, ()))
            yield DeadLetter(place, **row, replayed=replayed)


def tallies(letters: Iterable[DeadLetter]) -> list[Tally]:
    """Dead letters counted by port and reason, the most frequent first."""
    found: dict[tuple[str, str], Tally] = {}
    for letter in letters:
        key = (letter.port, letter.reason)
        known = found.get(key) or Tally(*key, 0, 0, letter.time, letter.time)
        found[key] = replace(
            known,
            waiting=known.waiting + (not letter.replayed),
            replayed=known.replayed + letter.replayed,
            first=min(known.first, letter.time),
            last=max(known.last, letter.time),
        )
    return sorted(found.values(), key=lambda tally: (-tally.waiting, -tally.replayed, tally.port, tally.reason))
