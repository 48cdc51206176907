"""The streamlets that stop cycles, read from the key `allow-cycles` of a blueprint."""

from __future__ import annotations

from collections.abc import Mapping

from blueprint.diagnostics import Diagnostic, finding
from blueprint.hocon.values import ObjectValue, Scalar, Value, key_span_of, span_of
from blueprint.model.blueprint import CycleStop

_FEWEST_WORDS = 2
"""A single word such as `yes` is not a description."""

_EXAMPLE = '`allow-cycles { my-streamlet = "drops a record after three attempts" }`'


def cycle_stops(value: Value | None) -> tuple[Mapping[str, CycleStop] | None, list[Diagnostic]]:
    """Read `allow-cycles { <streamlet> = <how it stops a cycle> }`.

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
    stops, findings = {}, []
    for ref, how in value.fields.items():
        description = how.text.strip() if isinstance(how, Scalar) and isinstance(how.value, str) else ""
        stops[ref] = CycleStop(ref, description, key_span_of(how))
        if len(description.split()) < _FEWEST_WORDS:
            headline = f"`{ref}` of `allow-cycles` must describe how the streamlet stops a cycle"
            help = (f"for example: {_EXAMPLE}",)
            findings.append(finding("wrong-type", headline, span_of(how), help=help, streamlets=(ref,)))
    return stops, findings
