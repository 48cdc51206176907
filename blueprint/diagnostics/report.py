"""What renderers draw: findings, the texts they point into, and what was checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from blueprint.diagnostics.model import Diagnostic, Severity, Sources


@dataclass(frozen=True, slots=True)
class Checked:
    """How much was looked at.

    Arguments:
        streamlets: streamlets of the blueprint; topics: its topics.
        contracts: schemas of ports that were read.
        pairs: (writer, reader) pairs whose contracts were compared.
        settings: single values that were checked against a type.
        logic: streamlets whose logic was built; None when nobody asked.
        against: the older descriptor to compare with, "" when nobody asked.
        changes: changes that were found against it; None when errors stood in the way.
        silenced: findings that settings or comments silence.
    """

    streamlets: int = 0
    topics: int = 0
    contracts: int = 0
    pairs: int = 0
    settings: int = 0
    logic: int | None = None
    against: str = ""
    changes: int | None = None
    silenced: int = 0


class Report(Protocol):
    """Anything a renderer can draw; `Verification` is one."""

    @property
    def blueprint(self) -> str:
        """The blueprint's file as the user would name it."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The findings, sorted."""

    @property
    def sources(self) -> Sources:
        """The texts that spans point into."""

    @property
    def checked(self) -> Checked:
        """How much was looked at."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 topic`, `2 topics`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def verdict(diagnostics: Iterable[Diagnostic]) -> str:
    """How many findings of each severity, or that there are none."""
    severities = [diagnostic.severity for diagnostic in diagnostics]
    parts = [counted(severities.count(s), s.value) for s in Severity if s in severities]
    return ", ".join(parts) or "no findings"


def summary(report: Report) -> str:
    """One line: the verdict, what was checked, and what was not."""
    checked = report.checked
    if checked == Checked():
        return f"{report.blueprint}: {verdict(report.diagnostics)}; nothing more could be checked"
    looked = ", ".join(
        (
            counted(checked.streamlets, "streamlet") + _with_logic(checked),
            counted(checked.topics, "topic"),
            f"{counted(checked.contracts, 'contract')} in {counted(checked.pairs, 'writer-reader pair')}",
            counted(checked.settings, "setting"),
        )
    )
    compared = ""
    if checked.changes is not None:
        compared = f"; {counted(checked.changes, 'change')} against {checked.against}{_classes(report.diagnostics)}"
    left_out = " and ".join(filter(None, _left_out(checked)))
    rest = f"; not checked: {left_out}" if left_out else ""
    silenced = f", {checked.silenced} silenced" if checked.silenced else ""
    return f"{report.blueprint}: {verdict(report.diagnostics)}{silenced}; checked {looked}{compared}{rest}"


def _with_logic(checked: Checked) -> str:
    if not checked.logic:
        return ""
    if checked.logic < checked.streamlets:
        return f" and the logic of {checked.logic}"
    return " with its logic" if checked.streamlets == 1 else " with their logic"


def _classes(diagnostics: Iterable[Diagnostic]) -> str:
    """How many changes of each class."""
    classes = Counter(each.change_class for each in diagnostics if each.change_class is not None)
    return f" ({', '.join(f'{count} {name}' for name, count in sorted(classes.items()))})" if classes else ""


def _left_out(checked: Checked) -> Iterator[str]:
    """What was not looked at; logic is left out unless asked for, and where other findings stand in its way."""
    if checked.logic is None:
        yield "the streamlets' logic"
    elif checked.logic < checked.streamlets:
        yield f"the logic of {counted(checked.streamlets - checked.logic, 'streamlet')}"
    if checked.against and checked.changes is None:
        yield f"what changes against {checked.against}"
