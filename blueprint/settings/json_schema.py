"""The JSON Schema of blueprints in YAML and JSON, for editors, made from the table of settings.

It accepts more than `flow verify`: plain keys of YAML may be paths (`parameters.rate`), whose values it does not check.
"""

from __future__ import annotations

from collections.abc import Iterable

from blueprint.model.cycle_stops import STOP_KEYS
from blueprint.setting import Setting, SettingNode, tree_of
from blueprint.setting_types import (
    BOOLEAN,
    FREE_FORM,
    NUMBER,
    OBJECT,
    PORT,
    POSITIVE,
    SCHEMA,
    TRIGGER,
    WHOLE,
    SettingType,
)

Json = dict[str, object]

_DOTTED = r"^[^.]+\..+$"
_PORTS: Json = {
    "type": ["array", "null"],
    "items": {"type": "string", "pattern": r"^\s*[^.\s]+(\.[^.\s]+)+\s*$"},
}
_OBJECT: Json = {"type": ["object", "null"]}
_SCALAR: Json = {"type": ["string", "number", "boolean", "null"]}
_TRIGGER: Json = {
    "anyOf": [
        {"enum": ["available-now", None]},
        {
            "type": "object",
            "properties": {"processing-time": {"type": "string"}, "real-time": {"type": "string"}},
            "patternProperties": {_DOTTED: {}},
            "additionalProperties": False,
            "maxProperties": 1,
        },
    ]
}


_CYCLE_STOP: Json = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {key: {"type": "string", "description": doc} for key, doc in STOP_KEYS.items()},
            "required": ["stops"],
            "additionalProperties": False,
        },
    ]
}
"""An entry of `allow-cycles`."""


def blueprint_schema(settings: Iterable[Setting]) -> Json:
    """Return the JSON Schema (draft 2020-12) of blueprint and settings files.

    Arguments:
        settings: the settings of every application and of all channels.
    """
    flow = tree_of(settings)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Blueprint of Streamlets",
        "type": "object",
        "properties": {
            "blueprint": _section(
                {
                    "streamlets": _named(_streamlet(_node(flow, "streamlets")), "The streamlets by name."),
                    "topics": _named(_topic(_node(flow, "topics")), "The topics by id."),
                    "allow-cycles": _named(_CYCLE_STOP, "The streamlets that stop cycles, and how."),
                },
                "Which streamlets run, and which topics join their ports.",
            ),
            "flow": _of(flow) | {"description": "Settings of the application, its streamlets and its topics."},
        },
    }


def _node(flow: SettingNode, section: str) -> SettingNode:
    node = flow.children[section].named
    assert node is not None
    return node


def _streamlet(node: SettingNode) -> Json:
    class_path: Json = {"type": "string", "description": "The class, as `module.Class`."}
    return {"anyOf": [class_path, _section({"class": class_path, **_properties(node)}) | {"required": ["class"]}]}


def _topic(node: SettingNode) -> Json:
    ports = {
        "producers": _PORTS | {"description": "The outlets that write the topic, as `streamlet.port`."},
        "consumers": _PORTS | {"description": "The inlets that read the topic, as `streamlet.port`."},
    }
    return _section({**ports, **_properties(node)})


def _section(properties: Json, description: str = "") -> Json:
    return {
        "type": ["object", "null"],
        **({"description": description} if description else {}),
        "properties": properties,
        "patternProperties": {_DOTTED: {}},
        "additionalProperties": False,
    }


def _named(each: Json, description: str = "") -> Json:
    described = {"description": description} if description else {}
    return {"type": ["object", "null"], **described, "additionalProperties": each}


def _properties(node: SettingNode) -> Json:
    return {key: _of(child) for key, child in sorted(node.children.items())}


def _of(node: SettingNode) -> Json:
    """Return the schema of a node: of a setting, of a section, or of both."""
    setting = node.setting
    description = {"description": _description(setting)} if setting is not None else {}
    free = setting is not None and setting.type in (*FREE_FORM, OBJECT)
    if setting is not None and not node.children and node.named is None:
        return _value(setting.type) | description
    section = _section(_properties(node))
    if node.named is not None:
        section["additionalProperties"] = _of(node.named)
    if free:
        section["additionalProperties"] = {}
    if setting is not None and not free:
        return {"anyOf": [_value(setting.type), section], **description}
    return section | description


def _description(setting: Setting) -> str:
    default = f" Default: {setting.effect}." if setting.effect else ""
    return f"{setting.doc} It must be {setting.type.expected}.{default}"


def _value(type: SettingType[object]) -> Json:
    if type is BOOLEAN:
        return {"enum": [True, False, "true", "false", None]}
    if type in (WHOLE, POSITIVE):
        return {"type": ["integer", "string", "null"], "minimum": int(type is POSITIVE), "pattern": "^[0-9]+$"}
    if type is PORT:
        return {"type": ["integer", "string", "null"], "minimum": 1, "maximum": 65_535, "pattern": "^[0-9]+$"}
    if type is NUMBER:
        return {"type": ["number", "string", "null"], "minimum": 0, "pattern": "^[0-9.eE+-]+$"}
    if type is TRIGGER:
        return _TRIGGER
    if type in (*FREE_FORM, OBJECT):
        return _OBJECT
    if type is SCHEMA:
        return {"type": ["string", "null"]}
    return {"enum": [*type.choices, None]} if type.choices else _SCALAR
