"""Access to the attributes of a schema; an invalid attribute is a finding at its location."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from blueprint.avro.logical import logical_type
from blueprint.avro.model import Logical
from blueprint.diagnostics import Diagnostic, Label, Severity, Span
from blueprint.diagnostics.codes import finding
from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value, key_span_of, plain, span_of

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_full_name(text: str) -> bool:
    """Return whether a string consists of names joined by dots."""
    return all(NAME.fullmatch(part) for part in text.split("."))


@dataclass(slots=True)
class Attributes:
    """Reads attributes and collects findings.

    Arguments:
        problems: the findings, in the order in which they were made.
    """

    problems: list[Diagnostic] = field(default_factory=list)

    def texts(self, value: ObjectValue, key: str, owner: str) -> list[tuple[str, Span]]:
        """Return the strings of an attribute and their locations; anything but a list of strings is a finding.

        Arguments:
            value: the object that has the attribute.
            key: the name of the attribute.
            owner: the object, as messages show it.
        """
        items = value.fields.get(key)
        if items is None:
            return []
        if not isinstance(items, ListValue):
            self.bad("schema-bad-attribute", f"`{key}` of {owner} must be a list", items)
            return []
        texts = []
        for item in items.items:
            if isinstance(item, Scalar) and isinstance(item.value, str):
                texts.append((item.value, span_of(item)))
            else:
                self.bad("schema-bad-attribute", f"`{key}` of {owner} must contain only strings", item)
        return texts

    def logical(self, value: ObjectValue, type_name: str, size: int = 0) -> Logical | None:
        """Return the logical type of a schema; an invalid one is a warning, and ignored.

        Arguments:
            value: the schema.
            type_name: its underlying type.
            size: bytes of a fixed.
        """
        name = value.fields.get("logicalType")
        if name is None:
            return None
        attributes = {key: plain(value.fields[key]) for key in ("precision", "scale") if key in value.fields}
        known = logical_type(plain(name), type_name, size, attributes.get("precision"), attributes.get("scale"))
        if isinstance(known, Logical):
            return known
        headline = f"the logical type `{plain(name)}` is ignored: {known}"
        self.bad("schema-logical-type-ignored", headline, name, help=[f"the values are read as plain `{type_name}`"])
        return None

    def doc(self, value: ObjectValue) -> str:
        """Return the documentation, "" when there is none."""
        doc = value.fields.get("doc")
        return doc.value if isinstance(doc, Scalar) and isinstance(doc.value, str) else ""

    def errors(self) -> int:
        """Return the number of errors so far."""
        return sum(problem.severity is Severity.ERROR for problem in self.problems)

    def bad(
        self, code: str, headline: str, at: Value | Span, *, also: Iterable[Label] = (), help: Iterable[str] = ()
    ) -> None:
        """Add a finding at a value or location."""
        span = at if isinstance(at, Span) else span_of(at)
        self.problems.append(finding(code, headline, span, also=also, help=help))

    def missing(self, value: ObjectValue, key: str, owner: str, wanted: str = "") -> None:
        """Add a finding about a missing attribute, or one that is not what was expected (`wanted`)."""
        if key in value.fields:
            self.bad("schema-bad-attribute", f"`{key}` of {owner} is not {wanted}", value.fields[key])
        else:
            self.bad("schema-missing-attribute", f"{owner} has no `{key}`", key_span_of(value))

    def bad_name(self, at: Value | Span, owner: str, text: str | None = None) -> None:
        """Add a finding about an invalid name: `text`, or the value at `at`."""
        shown = text if text is not None else ("" if isinstance(at, Span) else str(plain(at)))
        advice = ["use letters, digits and `_`, starting with a letter or `_`"]
        self.bad("schema-bad-name", f"`{shown}` is not a valid name for {owner}", at, help=advice)
