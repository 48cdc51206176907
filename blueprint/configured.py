"""What blueprint, settings files and arguments together say of each streamlet and topic, as one `flow` tree."""

from __future__ import annotations

from dataclasses import replace

from blueprint.hocon.values import ObjectValue, Value
from blueprint.model import Blueprint


def configured(blueprint: Blueprint, flow: ObjectValue | None) -> ObjectValue:
    """The `flow` section with the blueprint's own blocks beneath it: settings win over the blueprint.

    Arguments:
        flow: the section as files and arguments together give it.
    """
    blocks = {ref: entry.settings for ref, entry in blueprint.streamlets.items() if entry.settings is not None}
    own: dict[str, Value] = {}
    if blocks:
        own["streamlets"] = ObjectValue(blocks, ())
    if blueprint.topics:
        own["topics"] = ObjectValue({id: entry.settings for id, entry in blueprint.topics.items()}, ())
    return overlaid(ObjectValue(own, ()), flow) if flow is not None else ObjectValue(own, ())


def overlaid(below: ObjectValue, above: ObjectValue) -> ObjectValue:
    """One object over another, as HOCON merges them; a value keeps the places of what it overrides."""
    fields: dict[str, Value] = dict(below.fields)
    for key, value in above.fields.items():
        fields[key] = _over(fields.get(key), value)
    return ObjectValue(fields, (*below.origins, *above.origins))


def _over(below: Value | None, above: Value) -> Value:
    if below is None:
        return above
    if isinstance(below, ObjectValue) and isinstance(above, ObjectValue):
        return overlaid(below, above)
    origins = (*below.origins, *above.origins)
    return replace(above, origins=origins)
