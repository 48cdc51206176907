"""What is killed (`Target`), and the rounds of kills on one state, which several calls can share."""

from __future__ import annotations

import json
import random
import time
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

KILL = "kill"
"""The round that kills with `kill -9` instead of at a crash point."""

_MISSES = 20  # of a round in a row: then the target does not pass it


class Target(ABC):
    """An application that is killed again and again on one state. As a context manager, it leaves no process behind.

    Arguments:
        directory: its directory, in which everything is kept.
        dice: the random numbers of this call.

    Attributes:
        resources: its servers and runs, which end with it.
        memory: what later calls need besides its directory, as JSON has it.
    """

    points: ClassVar[tuple[str, ...]] = ()
    """The crash points."""

    each: ClassVar[int] = 5
    """The default number of kills at each crash point."""

    kills: ClassVar[int] = 20
    """The default number of kills with `kill -9`."""

    def __init__(self, directory: Path, dice: random.Random) -> None:
        self.directory, self.dice = directory.resolve(), dice
        self.resources = ExitStack()
        self.memory: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.resources.close()

    def rounds(self, each: int, kills: int) -> list[str]:
        """Return the rounds, in any order: crash points and `KILL`."""
        return [*self.points] * each + [KILL] * kills

    @abstractmethod
    def play(self, round: str) -> tuple[bool, str]:
        """Feed new records, run, and kill; return whether the kill hit, and what it hit.

        Raises:
            RuntimeError: the run has failed by itself.
        """

    def problems(self) -> list[str]:
        """Return the contradictions to the guarantees that can be found while records are still missing."""
        return []

    @abstractmethod
    def settle(self) -> list[str]:
        """Run undisturbed to the end, print the sums, and return the contradictions to the guarantees."""


@dataclass
class Journal:
    """The rounds of a target, kept in a file.

    Arguments:
        file: the file.
        todo: the remaining rounds, the next one last.
        hits: what each completed round hit.
        memory: what the target remembers.
    """

    file: Path
    todo: list[str]
    hits: list[str] = field(default_factory=list)
    memory: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def at(cls, file: Path, todo: list[str]) -> Journal:
        """Return the journal in a file, or a new one with the rounds `todo`."""
        return cls(file, **json.loads(file.read_text())) if file.exists() else cls(file, todo)

    def keep(self) -> None:
        """Replace the file."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        draft = self.file.with_suffix(".draft")
        draft.write_text(json.dumps({"todo": self.todo, "hits": self.hits, "memory": self.memory}))
        draft.replace(self.file)


def kill_repeatedly(target: Target, journal: Journal, *, most: int = 1_000_000, seconds: float = 1e9) -> list[str]:
    """Execute the remaining rounds; a round that ended before its kill is repeated. Print a line for each.

    Arguments:
        target: the target.
        journal: its rounds.
        most: the maximum number of completed rounds of this call.
        seconds: begin no further round after this time.

    Returns:
        What contradicts the guarantees; the rounds end with the first contradiction.
    """
    begun, misses, done = time.monotonic(), 0, 0
    while journal.todo and done < most and time.monotonic() - begun < seconds:
        hit, description = target.play(journal.todo[-1])
        misses = 0 if hit else misses + 1
        if hit:
            done += 1
            journal.todo.pop()
            journal.hits.append(description)
        journal.memory = target.memory
        journal.keep()
        problems = target.problems()
        if misses > _MISSES:
            problems.append(f"`{journal.todo[-1]}` was missed {misses} times")
        outcome = "; ".join(problems)
        print(f"{len(journal.hits):3} {time.monotonic() - begun:6.0f} s  {description} {outcome}".rstrip(), flush=True)
        if problems:
            return problems
    return []


def hit(target: Target, round: str) -> str:
    """Repeat a round until its kill hits; return what it hit.

    Raises:
        AssertionError: it was missed too often.
    """
    for _ in range(_MISSES):
        reached, description = target.play(round)
        if reached:
            return description
    raise AssertionError(f"`{round}` was missed {_MISSES} times")


def kinds(hits: list[str]) -> str:
    """Return how often each kind of kill has hit, without what follows the first comma of its description."""
    counts = Counter(hit.partition(",")[0] for hit in hits)
    return ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items()))
