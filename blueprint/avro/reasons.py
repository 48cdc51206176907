"""What a comparison of two schemas finds: rules, places, reasons. Data only; `resolution.check` makes it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from blueprint.diagnostics import Severity, Span

if TYPE_CHECKING:
    from blueprint.avro.changes import Change


class Rule(enum.StrEnum):
    """Which rule a pair breaks. The first six are the specification's; the others are warnings beyond it."""

    TYPES_DIFFER = "types-differ"  # "both schemas have same primitive type", or promotion, or both of one kind
    BRANCH_NOT_READ = "branch-not-read"  # "if writer's is a union, but reader's is not"
    NO_BRANCH = "no-branch"  # "if reader's is a union ... if none match, an error is signalled"
    NAMES_DIFFER = "names-differ"  # "whose (unqualified) names match"
    SIZES_DIFFER = "sizes-differ"  # "both schemas are fixed whose sizes ... match"
    SYMBOLS_MISSING = "symbols-missing"  # "if the writer's symbol is not present in the reader's enum"
    FIELD_WITHOUT_DEFAULT = "field-without-default"  # "has no default value, and writer's schema does not have a field"
    LOGICAL_TYPES_DIFFER = "logical-types-differ"
    DECIMALS_DIFFER = "decimals-differ"
    BYTES_AS_STRING = "bytes-as-string"
    PRECISION_LOST = "precision-lost"
    NAMESPACES_DIFFER = "namespaces-differ"
    NAME_AND_ALIAS = "name-and-alias"


WARNINGS = frozenset(
    (
        Rule.LOGICAL_TYPES_DIFFER,
        Rule.DECIMALS_DIFFER,
        Rule.BYTES_AS_STRING,
        Rule.PRECISION_LOST,
        Rule.NAMESPACES_DIFFER,
        Rule.NAME_AND_ALIAS,
    )
)
"""The rules beyond the specification."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a type stands in a schema: in which field of which record (full name), and which way inside.

    Arguments:
        steps: from the field's type inwards: `items`, `values`, or the number of a union's branch (from 0).
    """

    record: str
    field: str
    steps: tuple[str | int, ...] = ()

    def inside(self, step: str | int) -> Place:
        """The place one step further in."""
        return replace(self, steps=(*self.steps, step))


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that stands between a writer and a reader.

    Arguments:
        path: the field, by the reader's names from the root: `position.lat`, `tags[]` (items), `labels{}` (values),
            `value<string>` (a branch of the writer's union); "" for the record itself.
        rule: which rule is broken.
        writer_type, reader_type: the types as messages show them; the writer's is "" for a field it does not have.
        severity: error by the specification, or warning beyond it.
        message: one sentence.
        writer_span, reader_span: where the types were written, None where that is not known.
        writer_place, reader_place: the places in the schemas, None for the root record.
        writer_name, reader_name: full names of the two named types compared, "" when they are not named.
        changes: what would do, each alone: the reader's smallest change, then the writer's, as far as there is one.
    """

    path: str
    rule: Rule
    writer_type: str
    reader_type: str
    severity: Severity
    message: str
    writer_span: Span | None
    reader_span: Span | None
    writer_place: Place | None = None
    reader_place: Place | None = None
    writer_name: str = ""
    reader_name: str = ""
    changes: tuple[Change, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """What stays the same of a reason when a schema is changed elsewhere.

        Which rule a type breaks that is not read depends on what is around it; the others may stand at one place.
        """
        kinds = (Rule.TYPES_DIFFER, Rule.BRANCH_NOT_READ, Rule.NO_BRANCH)
        return self.path, self.writer_type if self.rule in kinds else self.rule.value


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a check found, in the order of the reader's fields."""

    reasons: tuple[Reason, ...]

    @property
    def compatible(self) -> bool:
        """Whether every record of the writer can be read."""
        return not self.errors

    @property
    def errors(self) -> tuple[Reason, ...]:
        """The reasons why some record cannot be read."""
        return tuple(reason for reason in self.reasons if reason.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Reason, ...]:
        """What the specification lets pass and may still surprise."""
        return tuple(reason for reason in self.reasons if reason.severity is Severity.WARNING)
