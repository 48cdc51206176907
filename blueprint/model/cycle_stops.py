"""The streamlets that stop cycles, read from the key `allow-cycles` of a blueprint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from blueprint.diagnostics import Diagnostic, finding
from blueprint.hocon.values import ObjectValue, Scalar, Value, key_span_of, span_of
from blueprint.model.blueprint import CycleStop
from blueprint.model.findings import misspelt_key, unknown_key, wrong_type
from blueprint.spelling import near

STOP_KEYS = {
    "stops": "How the streamlet stops a cycle, for readers of the blueprint.",
    "records": "The records that return into the cycle: a SQL expression over a record.",
    "else": "The outlet for the other records; default: the dead letters.",
}
"""The keys of an entry in its longer form, with what they mean."""

_FEWEST_WORDS = 2
"""A single word such as `yes` is not a description."""

_EXAMPLE = '`allow-cycles { my-streamlet = "drops a record after three attempts" }`'
_LONGER = '`allow-cycles { my-streamlet { stops = "after three attempts", records = "attempt <= 3" } }`'


def cycle_stops(value: Value | None) -> tuple[Mapping[str, CycleStop] | None, list[Diagnostic]]:
    """Read `allow-cycles { <streamlet> = <how it stops a cycle> }`, or `{ <streamlet> { stops, records, else } }`.

    Arguments:
        value: of the key; None when the blueprint does not have it.

    Returns:
        The entries by streamlet, None when the value is not an object; and what is wrong with them.
    """
    if value is None:
        return {}, []
    if not isinstance(value, ObjectValue):
        headline = "`allow-cycles` must be an object of streamlets and how they stop a cycle"
        return None, [finding("wrong-type", headline, span_of(value), help=(f"write {_EXAMPLE}",))]
    reader = _Reader()
    return {ref: reader.entry(ref, entry) for ref, entry in value.fields.items()}, reader.findings


@dataclass(slots=True)
class _Reader:
    """Reads entries, and collects what is wrong with them."""

    findings: list[Diagnostic] = field(default_factory=list)

    def entry(self, ref: str, value: Value) -> CycleStop:
        """Return the entry of a streamlet. What cannot be read is reported, and omitted."""
        if not isinstance(value, ObjectValue):
            return CycleStop(ref, self._description(ref, value, _EXAMPLE), key_span_of(value))
        fields = self._fields(ref, value)
        how = fields.get("stops")
        if how is None:
            headline = f"`{ref}` of `allow-cycles` does not describe how it stops a cycle"
            help = (f"add `stops`, such as {_LONGER}",)
            self.findings.append(finding("wrong-type", headline, key_span_of(value), help=help, streamlets=(ref,)))
        description = self._description(ref, how, _LONGER) if how is not None else ""
        records, otherwise = (self._text(ref, key, fields.get(key)) for key in ("records", "else"))
        if otherwise is not None and "records" not in fields:
            headline = f"`else` of `allow-cycles.{ref}` has no effect without `records`"
            help = ("add `records`, the condition under which records return into the cycle, or remove `else`",)
            self.findings.append(finding("wrong-type", headline, key_span_of(otherwise), help=help, streamlets=(ref,)))
        return CycleStop(ref, description, key_span_of(value), records, otherwise)

    def _fields(self, ref: str, block: ObjectValue) -> dict[str, Value]:
        """Return the fields of an entry by their keys; unknown keys are reported, and misspelt ones read."""
        where, fields = f"`allow-cycles.{ref}`", {key: block.fields[key] for key in STOP_KEYS if key in block.fields}
        for key, value in block.fields.items():
            if key in STOP_KEYS:
                continue
            close = near(key, [name for name in STOP_KEYS if name not in fields])
            if close:
                self.findings.append(misspelt_key(value, key, close[0], where, STOP_KEYS))
                fields[close[0]] = value
            else:
                self.findings.append(unknown_key(value, key, STOP_KEYS, where))
        return fields

    def _description(self, ref: str, how: Value, example: str) -> str:
        description = how.text.strip() if isinstance(how, Scalar) and isinstance(how.value, str) else ""
        if len(description.split()) < _FEWEST_WORDS:
            headline = f"`{ref}` of `allow-cycles` must describe in some words how the streamlet stops a cycle"
            help = (f"for example: {example}",)
            self.findings.append(finding("wrong-type", headline, span_of(how), help=help, streamlets=(ref,)))
        return description

    def _text(self, ref: str, key: str, value: Value | None) -> Scalar | None:
        """Return the value of a key with a text; None if there is none."""
        if value is None:
            return None
        if isinstance(value, Scalar) and isinstance(value.value, str) and value.text.strip():
            return value
        expected = "a SQL expression" if key == "records" else "the name of an outlet"
        self.findings.append(wrong_type(value, f"`{key}` of `allow-cycles.{ref}`", expected))
        return None
