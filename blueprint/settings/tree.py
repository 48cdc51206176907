"""The settings of all streamlets and topics, from blueprint, settings files and arguments, as one `flow` tree."""

from __future__ import annotations

from dataclasses import replace

from blueprint.hocon.values import ObjectValue, Scalar, Value
from blueprint.model.blueprint import Blueprint


def configured(blueprint: Blueprint, flow: ObjectValue | None) -> ObjectValue:
    """Return the `flow` section over the blocks of the blueprint: settings win over the blueprint.

    Before that, a port's short form `inlets.in = schema` becomes `inlets.in { schema = ... }` on both sides. So schema
    and other settings of a port are merged, wherever they come from.

    Arguments:
        blueprint: the model, with the blocks of streamlets and topics.
        flow: the section, merged from files and arguments; None when there is none.
    """
    blocks = {ref: entry.settings for ref, entry in blueprint.streamlets.items() if entry.settings is not None}
    own: dict[str, Value] = {}
    if blocks:
        own["streamlets"] = _with_long_ports(ObjectValue(blocks, ()))
    if blueprint.topics:
        own["topics"] = ObjectValue({id: entry.settings for id, entry in blueprint.topics.items()}, ())
    below = ObjectValue(own, ())
    if flow is None:
        return below
    above = dict(flow.fields)
    if isinstance(streamlets := above.get("streamlets"), ObjectValue):
        above["streamlets"] = _with_long_ports(streamlets)
    return overlaid(below, ObjectValue(above, flow.origins))


def overlaid(below: ObjectValue, above: ObjectValue) -> ObjectValue:
    """Return one object over another, merged as HOCON does; a value keeps the places of the values it overrides."""
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


def _with_long_ports(streamlets: ObjectValue) -> ObjectValue:
    fields = {
        ref: ObjectValue(
            {key: _long_form(value) if key in ("inlets", "outlets") else value for key, value in block.fields.items()},
            block.origins,
        )
        if isinstance(block, ObjectValue)
        else block
        for ref, block in streamlets.fields.items()
    }
    return ObjectValue(fields, streamlets.origins)


def _long_form(ports: Value) -> Value:
    """Return ports in their long form; `null` stays, because it unsets all settings of a port."""
    if not isinstance(ports, ObjectValue):
        return ports
    fields = {
        name: ObjectValue({"schema": port}, port.origins)
        if isinstance(port, Scalar) and port.value is not None
        else port
        for name, port in ports.fields.items()
    }
    return ObjectValue(fields, ports.origins)
