"""The replays of dead letters: numbered decisions, each made once, stored with the topic of the dead letters.

A decision has its letters and their target. It is stored before any record is written, and carried out as one commit
with its number as transaction, so that it can be repeated after a kill.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from streamlets.storage import objects
from streamlets.storage.damage import DamagedFileError, damaged


class Letter(NamedTuple):
    """The place of a dead letter: `position` and `sequence` of its column `_meta`."""

    position: str
    number: int


class Run(NamedTuple):
    """Letters of one position with consecutive numbers, from `first` on."""

    position: str
    first: int
    length: int

    def has(self, letter: Letter) -> bool:
        """Return whether it contains a letter."""
        return letter.position == self.position and 0 <= letter.number - self.first < self.length


@dataclass(frozen=True, slots=True)
class Replay:
    """A decision to replay letters.

    Arguments:
        number: the number of the decision, from 0.
        port: the outlet whose contract the letters broke, as `streamlet.outlet`.
        topic: the name of the topic that they are written to.
        contract: the contract that they are written with, as JSON.
        letters: the letters.
        partition_by: the `partition-by` of the outlet, which determines the table of the topic.
    """

    number: int
    port: str
    topic: str
    contract: str
    letters: tuple[Run, ...]
    partition_by: tuple[str, ...] = ()

    def holds(self, letter: Letter) -> bool:
        """Return whether it contains a letter."""
        return any(run.has(letter) for run in self.letters)


@dataclass(frozen=True, slots=True)
class Replays:
    """The decisions about the dead letters of one topic.

    Arguments:
        directory: where they are stored; created with the first decision.
        topic_id: the id of the topic, which distinguishes it from a later one with the same name.
    """

    directory: Path
    topic_id: str

    def all(self) -> Iterator[Replay]:
        """Yield all decisions, in order.

        Raises:
            DamagedFileError: a decision is missing or damaged.
        """
        for number in range(len(list(self.directory.glob("*.json")))):
            path = self._path(number)
            data = objects.read(path)
            try:
                content = json.loads(data or b"")
                converted = {
                    "letters": tuple(Run(*run) for run in content["letters"]),
                    "partition_by": tuple(content.get("partition_by", ())),
                }
                replay = Replay(**content | converted)
            except (ValueError, TypeError, KeyError, AttributeError):
                raise self._damaged(number, path, data) from None
            if replay.number != number:
                raise self._damaged(number, path, data)
            yield replay

    def missing(self, number: int) -> DamagedFileError:
        """Return the error for a decision that was carried out, but whose file does not exist."""
        return self._damaged(number, self._path(number), None)

    def _damaged(self, number: int, path: Path, data: bytes | None) -> DamagedFileError:
        remedy = (
            f"delete {self.directory}: all letters are then waiting, so replay only those that were not written before"
        )
        return damaged(f"the decision {number} to replay dead letters", path, data, remedy)

    def decide(self, replay: Replay) -> bool:
        """Store a decision, unless its number is taken; return whether it was stored."""
        self.directory.mkdir(exist_ok=True)
        return objects.put_if_absent(self._path(replay.number), json.dumps(asdict(replay)).encode())

    def _path(self, number: int) -> Path:
        return self.directory / f"{number:08}.json"


def runs(letters: Iterable[Letter]) -> tuple[Run, ...]:
    """Return letters as runs, sorted."""
    result: list[Run] = []
    for letter in sorted(letters):
        last = result[-1] if result else None
        if last and (last.position, last.first + last.length) == letter:
            result[-1] = Run(last.position, last.first, last.length + 1)
        else:
            result.append(Run(letter.position, letter.number, 1))
    return tuple(result)
