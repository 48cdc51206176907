"""The input of renderers: findings, the texts that they refer to, and what was checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from blueprint.diagnostics.model import Diagnostic, Severity, Sources
from blueprint.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The amounts of what was checked.

    Arguments:
        streamlets: the number of streamlets in the blueprint.
        topics: the number of its topics.
        fused: the number of topics that can be fused, unless the logic of their streamlets does not allow it.
        contracts: the number of port schemas that were read.
        pairs: the number of (writer, reader) pairs whose contracts were compared.
        settings: the number of single values that were checked against a type.
        logic: the number of streamlets whose logic was built; None when this was not requested.
        no_logic: the number of streamlets that have no logic, such as spouts.
        samples: the number of outlets of sources that were compared with samples of their data.
        against: the older descriptor to compare with, "" when this was not requested.
        changes: the number of changes against it; None when errors prevented the comparison.
        silenced: the number of findings that settings or comments silence.
    """

    streamlets: int = 0
    topics: int = 0
    fused: int = 0
    contracts: int = 0
    pairs: int = 0
    settings: int = 0
    logic: int | None = None
    no_logic: int = 0
    samples: int = 0
    against: str = ""
    changes: int | None = None
    silenced: int = 0


class Report(Protocol):
    """The interface of reports that renderers accept, such as `Verification`."""

    @property
    def blueprint(self) -> str:
        """Return the path of the blueprint as the user would name it."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the findings, sorted."""

    @property
    def sources(self) -> Sources:
        """Return the texts that spans refer to."""

    @property
    def checked(self) -> Checked:
        """Return the amounts of what was checked."""


def verdict(diagnostics: Iterable[Diagnostic]) -> str:
    """Return the number of findings of each severity, or `no findings`."""
    severities = [diagnostic.severity for diagnostic in diagnostics]
    parts = [counted(severities.count(s), s.value) for s in Severity if s in severities]
    return ", ".join(parts) or "no findings"


def summary(report: Report) -> str:
    """Return one line with the verdict, what was checked, and what was not."""
    checked = report.checked
    if checked == Checked():
        return f"{report.blueprint}: {verdict(report.diagnostics)}; nothing more could be checked"
    amounts = ", ".join(
        (
            counted(checked.streamlets, "streamlet") + _with_logic(checked),
            counted(checked.topics, "topic") + (f" ({checked.fused} to be fused)" if checked.fused else ""),
            f"{counted(checked.contracts, 'contract')} in {counted(checked.pairs, 'writer-reader pair')}",
            counted(checked.settings, "setting"),
            *((counted(checked.samples, "sample"),) if checked.samples else ()),
        )
    )
    compared = ""
    if checked.changes is not None:
        compared = f"; {counted(checked.changes, 'change')} against {checked.against}{_classes(report.diagnostics)}"
    unchecked = " and ".join(_unchecked(checked))
    rest = f"; not checked: {unchecked}" if unchecked else ""
    silenced = f", {checked.silenced} silenced" if checked.silenced else ""
    return f"{report.blueprint}: {verdict(report.diagnostics)}{silenced}; checked {amounts}{compared}{rest}"


def _with_logic(checked: Checked) -> str:
    if not checked.logic:
        return ""
    if checked.logic < checked.streamlets:
        return f" and the logic of {checked.logic}"
    return " with its logic" if checked.streamlets == 1 else " with their logic"


def _classes(diagnostics: Iterable[Diagnostic]) -> str:
    """Return the number of changes of each class."""
    classes = Counter(change.change_class for change in diagnostics if change.change_class is not None)
    return f" ({', '.join(f'{count} {name}' for name, count in sorted(classes.items()))})" if classes else ""


def _unchecked(checked: Checked) -> Iterator[str]:
    """Yield the unchecked parts: logic, unless requested and not prevented by other findings, and changes."""
    if checked.logic is None:
        yield "the streamlets' logic"
    elif (unchecked := checked.streamlets - checked.logic - checked.no_logic) > 0:
        yield f"the logic of {counted(unchecked, 'streamlet')}"
    if checked.against and checked.changes is None:
        yield f"changes against {checked.against}"
