"""From the key `allow-cycles` of a blueprint to the streamlets that stop circles."""

from __future__ import annotations

from collections.abc import Mapping

from blueprint.diagnostics import Diagnostic, finding
from blueprint.hocon.values import ObjectValue, Scalar, Value, key_span_of, span_of
from blueprint.model.blueprint import CycleStop

_FEWEST_WORDS = 2
"""`yes` is no reason."""

_EXAMPLE = '`allow-cycles { my-streamlet = "gives a record up after three tries" }`'


def cycle_stops(value: Value | None) -> tuple[Mapping[str, CycleStop] | None, list[Diagnostic]]:
    """The entries of `allow-cycles { <streamlet> = <how it stops a circle> }`, and what is wrong with them.

    Arguments:
        value: of the key; None when it is not there.

    Gives None for entries when there is no telling which circles are meant.
    """
    if value is None:
        return {}, []
    if not isinstance(value, ObjectValue):
        what = "`allow-cycles` must name the streamlets that stop circles, and say how"
        return None, [finding("wrong-type", what, span_of(value), help=(f"write {_EXAMPLE}",))]
    stops, findings = {}, []
    for ref, how in value.fields.items():
        said = how.text.strip() if isinstance(how, Scalar) and isinstance(how.value, str) else ""
        stops[ref] = CycleStop(ref, said, key_span_of(how))
        if len(said.split()) < _FEWEST_WORDS:
            what = f"`{ref}` of `allow-cycles` must say in words how it stops a circle"
            findings.append(finding("wrong-type", what, span_of(how), help=(f"such as {_EXAMPLE}",)))
    return stops, findings
