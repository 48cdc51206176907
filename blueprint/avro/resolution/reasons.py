"""The result of a comparison of two schemas: rules, places, reasons. Data only; `checking.check` creates it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blueprint.diagnostics import Severity, Span

if TYPE_CHECKING:
    from blueprint.avro.resolution.changes import Change
    from blueprint.avro.resolution.places import Place


class Rule(enum.StrEnum):
    """The rules of schema resolution. The specification's come first; the others are warnings."""

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
"""The rules that are not in the specification."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason why a reader cannot read a writer's records, or may misinterpret them.

    Arguments:
        path: the field, by the reader's names from the root: `position.lat`, `tags[]` (items), `labels{}` (values),
            `value<string>` (a branch of the writer's union); "" for the record itself.
        rule: the broken rule.
        writer_type: the writer's type as messages show it, "" for a missing field.
        reader_type: the reader's type as messages show it.
        severity: an error for rules of the specification, otherwise a warning.
        message: one sentence.
        writer_span: the location of the writer's type, None if it is not known.
        reader_span: the location of the reader's type, None if it is not known.
        writer_place: the place in the writer's schema, None for the root record.
        reader_place: the place in the reader's schema, None for the root record.
        writer_name: the full name of the writer's type, "" if it has none.
        reader_name: the full name of the reader's type, "" if it has none.
        changes: alternative changes that fix the error: the smallest of the reader, then of the writer, if any.
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
        """The identity of a reason, independent of changes elsewhere in a schema.

        Which of the three rules about types is broken depends on the enclosing union; other rules are independent.
        """
        kinds = (Rule.TYPES_DIFFER, Rule.BRANCH_NOT_READ, Rule.NO_BRANCH)
        return self.path, self.writer_type if self.rule in kinds else self.rule.value


@dataclass(frozen=True, slots=True)
class Resolution:
    """The result of a check: its reasons, in the order of the reader's fields."""

    reasons: tuple[Reason, ...]

    @property
    def compatible(self) -> bool:
        """Whether the reader can read every record of the writer."""
        return not self.errors

    @property
    def errors(self) -> tuple[Reason, ...]:
        """The reasons why the reader cannot read some records."""
        return tuple(reason for reason in self.reasons if reason.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Reason, ...]:
        """The reasons that the specification allows, but that may be unexpected."""
        return tuple(reason for reason in self.reasons if reason.severity is Severity.WARNING)
