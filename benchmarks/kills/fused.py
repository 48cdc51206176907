"""The application of the runner's tests with a topic that is fused, and stored again, between kills.

Each run fuses the topic `numbers` or stores it, by chance. A run that is refused, because a batch must be finished as
it was begun, is repeated like the run before.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.kills.ledger import Ledger, Topics, expected

_FUSED = 0.85
"""The share of the runs that are to fuse the topic. A run that finds unread records in it stores it nevertheless."""
NOT_FINISHED = "is not finished, and was begun with"


class FusedLedger(Ledger):
    """The application; its first two streamlets are one query in runs with `fuse`.

    Arguments:
        directory: the directory.
        options: additional options of `flow run`, for every run.

    Attributes:
        fuse: whether the next run fuses the topic.
    """

    topics: ClassVar[tuple[str, ...]] = ("doubled", "sums")

    def __init__(self, directory: Path, options: Sequence[str] = ()) -> None:
        super().__init__(directory, options=options)
        self.fuse = True

    @property
    def settings(self) -> dict[str, object]:
        """Settings of streamlets, without those by which an inlet needs a stored topic."""
        return {key: value for key, value in super().settings.items() if key != "double.inlets.in.max-records"}

    def command(self, *, bounded: bool = True, more: Sequence[str] = ()) -> list[str]:
        """Return the command of a run, which may fuse the topic."""
        fuse = ("flow.topics.numbers.durable=false", f"flow.fuse={'auto' if self.fuse else 'off'}")
        return [*super().command(bounded=bounded, more=more), *fuse, "--allow", "drain"]

    def fused(self) -> bool:
        """Return whether the topic was fused in the current or last run."""
        return any(event["event"] == "streamlets-fused" for event in self.run_events())

    def refused(self) -> bool:
        """Return whether a query of the current or last run had to finish its batch as it was begun."""
        return any(NOT_FINISHED in str(event.get("cause")) for event in self.run_events())


class Fused(Topics):
    """The application, which fuses a topic or stores it, by chance."""

    ledger: FusedLedger

    def applications(self, options: Sequence[str]) -> tuple[Ledger, Ledger]:
        """Return the application that is killed, and the undisturbed one."""
        disturbed, undisturbed = self.directory / "disturbed", self.directory / "undisturbed"
        return FusedLedger(disturbed, options), FusedLedger(undisturbed, options)

    def play(self, round: str) -> tuple[bool, str]:
        """Kill the application once, fused or not."""
        self.ledger.fuse = self.dice.random() < _FUSED
        try:
            hit, what = super().play(round)
        except RuntimeError:
            if not self.ledger.refused():
                raise
            self.ledger.fuse = not self.ledger.fuse
            self.ledger.require_success(self.ledger.run())
            return False, "finished a batch as it was begun"
        kind = "fused" if self.ledger.fused() else "stored"
        self.memory[kind] = self.memory.get(kind, 0) + hit
        return hit, f"{what}, {kind}"

    def finish(self) -> None:
        """Finish a batch as it was begun, and change to stored and to fused once more."""
        print(f"kills while fused {self.memory.get('fused', 0)}, while stored {self.memory.get('stored', 0)}")
        for fuse in (True, False, True):
            self.ledger.fuse = fuse
            self.ledger.run()

    def expected(self) -> dict[str, Any]:
        """Return the content that is known from the fed records, without the topic that may be fused."""
        return {name: rows for name, rows in expected(self.ledger.files).items() if name != "numbers"}
