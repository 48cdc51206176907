"""An application whose streamlets are scaled while it runs, and which is killed around that.

Each round starts with a number of replicas, asks for the next one of 1, 4 and 2 with `flow scale`, and kills the run at
a random time: before the request is answered, while the streamlet is drained, while it starts, or in a later batch.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from benchmarks.kills.harness import KILL, Target
from benchmarks.kills.kafka import Deduplicated
from benchmarks.kills.ledger import Ledger, Topics, kill_driver
from benchmarks.processes import killed_at_end
from tests.kafka.broker import Broker

NUMBERS = (1, 4, 2)
"""The numbers of replicas, one after the other."""

_AFTER = 15.0
"""Seconds after the request, or after its answer, within which a run is killed."""

_ANSWERED = 0.8
"""How many of the kills come after the answer."""


def is_scaled(ledger: Ledger) -> bool:
    """Return whether the request has reached the run."""
    return any(event["event"] == "streamlet-scaled" for event in ledger.run_events())


def has_read(ledger: Ledger, ref: str) -> bool:
    """Return whether a streamlet has read records in this run."""
    return any(event.get("streamlet") == ref and event.get("rows_in") for event in ledger.run_events())


def scale_and_kill(ledger: Ledger, dice: random.Random, ref: str, replicas: tuple[int, int]) -> str:
    """Run with a number of replicas, ask for another, and kill the run; return what was killed.

    Arguments:
        ref: the streamlet.
        replicas: its number at the start, and the number that is asked for.

    Raises:
        RuntimeError: the run has failed by itself.
    """
    first, second = replicas
    process = ledger.start(bounded=False, more=[f"{name}.replicas={first}" for name in ledger.queries])
    ledger.wait_until(process, lambda: has_read(ledger, ref), poll=0.2)
    ledger.feed(2)
    with killed_at_end(ledger.command_in_background("scale", ref, str(second))):
        if dice.random() < _ANSWERED:
            ledger.wait_until(process, lambda: is_scaled(ledger))
        end = time.monotonic() + dice.uniform(0, _AFTER)
        while time.monotonic() < end and process.poll() is None:
            time.sleep(0.02)
        states = [e["state"] for e in ledger.run_events() if e.get("streamlet") == ref and e.get("state")]
        what = kill_driver(process, alone=dice.random() < 0.5)
    when = f"`{ref}` {states[-1]}, {first} to {second}" if is_scaled(ledger) else f"before `{ref}` was to have {second}"
    return f"kill -9 of {what}, {when}"


def play_scaled(target: Target, ledger: Ledger, *refs: str) -> tuple[bool, str]:
    """Scale one of some streamlets to the next of `NUMBERS`, and kill the run."""
    played = int(target.memory.get("played", 0))
    target.memory["played"] = played + 1
    ledger.feed(2)
    numbers = NUMBERS[played % len(NUMBERS)], NUMBERS[(played + 1) % len(NUMBERS)]
    return True, scale_and_kill(ledger, target.dice, target.dice.choice(refs), numbers)


class Replicas(Topics):
    """The application on topics of the delta channel."""

    def rounds(self, each: int, kills: int) -> list[str]:
        """Return rounds with `kill -9` only."""
        return [KILL] * kills

    def play(self, round: str) -> tuple[bool, str]:
        """Scale and kill the application once."""
        return play_scaled(self, self.ledger, "numbers", "double", "sums", "archive")


class ReplicasOnKafka(Deduplicated):
    """The application on Kafka whose tables have each record once."""

    def rounds(self, each: int, kills: int) -> list[str]:
        """Return rounds with `kill -9` of the run only."""
        return [KILL] * kills

    def play(self, round: str, restart: Callable[[Broker], None] = Broker.start) -> tuple[bool, str]:
        """Scale and kill the application once."""
        return play_scaled(self, self.ledger, "numbers", "double", "archive", "append")
