"""Attributes of a schema read one by one; what is wrong with one is a finding at its place."""

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
    """Whether a text is names joined by dots."""
    return all(NAME.fullmatch(part) for part in text.split("."))


@dataclass(slots=True)
class Attributes:
    """Reads attributes.

    Arguments:
        problems: what was found, in the order in which it was met.
    """

    problems: list[Diagnostic] = field(default_factory=list)

    def texts(self, value: ObjectValue, key: str, owner: str) -> list[tuple[str, Span]]:
        """The strings of a list, each with its place; what is no list of strings is a finding."""
        items = value.fields.get(key)
        if items is None:
            return []
        if not isinstance(items, ListValue):
            self.bad("schema-bad-attribute", f"`{key}` of {owner} is no list", items)
            return []
        found = []
        for item in items.items:
            if isinstance(item, Scalar) and isinstance(item.value, str):
                found.append((item.value, span_of(item)))
            else:
                self.bad("schema-bad-attribute", f"`{key}` of {owner} holds what is no string", item)
        return found

    def logical(self, value: ObjectValue, type_name: str, size: int = 0) -> Logical | None:
        """The logical type of a schema of this type (and size, for a fixed); one that is wrong is warned of."""
        name = value.fields.get("logicalType")
        if name is None:
            return None
        attributes = {key: plain(value.fields[key]) for key in ("precision", "scale") if key in value.fields}
        known = logical_type(plain(name), type_name, size, attributes.get("precision"), attributes.get("scale"))
        if isinstance(known, Logical):
            return known
        headline = f"the logical type `{plain(name)}` is ignored: {known}"
        self.bad("schema-logical-type-ignored", headline, name, help=[f"records hold plain `{type_name}` here"])
        return None

    def doc(self, value: ObjectValue) -> str:
        """The documentation, "" when there is none."""
        doc = value.fields.get("doc")
        return doc.value if isinstance(doc, Scalar) and isinstance(doc.value, str) else ""

    def errors(self) -> int:
        """How many errors there are by now."""
        return sum(problem.severity is Severity.ERROR for problem in self.problems)

    def bad(
        self, code: str, headline: str, at: Value | Span, *, also: Iterable[Label] = (), help: Iterable[str] = ()
    ) -> None:
        """Take down a finding at a value or place."""
        span = at if isinstance(at, Span) else span_of(at)
        self.problems.append(finding(code, headline, span, also=also, help=help))

    def missing(self, value: ObjectValue, key: str, owner: str, wanted: str = "") -> None:
        """Take down that an attribute is not there, or is there and not what is wanted."""
        if key in value.fields:
            self.bad("schema-bad-attribute", f"`{key}` of {owner} is not {wanted}", value.fields[key])
        else:
            self.bad("schema-missing-attribute", f"{owner} has no `{key}`", key_span_of(value))

    def bad_name(self, at: Value | Span, owner: str, text: str | None = None) -> None:
        """Take down that a name (the value at `at`, unless given) cannot name its owner."""
        shown = text if text is not None else ("" if isinstance(at, Span) else str(plain(at)))
        advice = ["names are letters, digits and `_`, and begin with a letter or `_`"]
        self.bad("schema-bad-name", f"`{shown}` cannot name {owner}", at, help=advice)
