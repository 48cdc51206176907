"""Which dead letters of a topic have been replayed: numbered decisions, each made once, stored with the topic.

A decision names its letters and where they go. It is made before anything is written; carrying it out is one commit
under its number, so that it may be done again after a kill.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from streamlets.storage import objects


class Letter(NamedTuple):
    """The place of a dead letter, as `_meta` gives it: `position` is `table/version`, `number` that within it."""

    position: str
    number: int


class Run(NamedTuple):
    """Letters of one position whose numbers follow each other."""

    position: str
    first: int
    length: int

    def has(self, letter: Letter) -> bool:
        """Whether a letter is one of them."""
        return letter.position == self.position and 0 <= letter.number - self.first < self.length


@dataclass(frozen=True, slots=True)
class Replay:
    """A decision.

    Arguments:
        number: of the decision, from 0.
        port: the outlet whose contract the letters broke.
        topic: the name of the topic they go to; contract: what they are written with, as Avro JSON.
        letters: which ones.
        partition_by: how the outlet lays its records out; with another layout the table is another one.
    """

    number: int
    port: str
    topic: str
    contract: str
    letters: tuple[Run, ...]
    partition_by: tuple[str, ...] = ()

    def holds(self, letter: Letter) -> bool:
        """Whether a letter is one of them."""
        return any(run.has(letter) for run in self.letters)


@dataclass(frozen=True, slots=True)
class Replays:
    """The decisions about the dead letters of one topic.

    Arguments:
        directory: where they are stored; created with the first one.
        topic_id: distinguishes the topic from a later one with its name.
    """

    directory: Path
    topic_id: str

    def all(self) -> Iterator[Replay]:
        """Every decision, in order."""
        number = 0
        while (data := objects.read(self._path(number))) is not None:
            content = json.loads(data)
            exact = {
                "number": number,
                "letters": tuple(Run(*run) for run in content["letters"]),
                "partition_by": tuple(content.get("partition_by", ())),
            }
            yield Replay(**content | exact)
            number += 1

    def decide(self, replay: Replay) -> bool:
        """Make a decision; False, and nothing, when another one took its number."""
        self.directory.mkdir(exist_ok=True)
        return objects.put_if_absent(self._path(replay.number), json.dumps(asdict(replay)).encode())

    def _path(self, number: int) -> Path:
        return self.directory / f"{number:08}.json"


def runs(letters: Iterable[Letter]) -> tuple[Run, ...]:
    """Letters, in any order, as runs."""
    found: list[Run] = []
    for letter in sorted(letters):
        last = found[-1] if found else None
        if last and (last.position, last.first + last.length) == letter:
            found[-1] = Run(last.position, last.first, last.length + 1)
        else:
            found.append(Run(letter.position, letter.number, 1))
    return tuple(found)
