"""Readers of HOCON, JSON and YAML: each value carries the places where it was set.

`parse_file` and `parse_text` read layers, `resolve` merges them and follows substitutions. `parse_json` reads strict
JSON, without layers and substitutions.
"""

from blueprint.hocon.files import empty_layer, parse_file, parse_text, shown_name
from blueprint.hocon.resolver import resolve
from blueprint.hocon.strict_json import parse_json
from blueprint.hocon.tree import Layer, path_text
from blueprint.hocon.values import (
    ListValue,
    ObjectValue,
    Origin,
    Scalar,
    Value,
    key_span_of,
    plain,
    span_of,
    type_names,
)

__all__ = [
    "Layer",
    "ListValue",
    "ObjectValue",
    "Origin",
    "Scalar",
    "Value",
    "empty_layer",
    "key_span_of",
    "parse_file",
    "parse_json",
    "parse_text",
    "path_text",
    "plain",
    "resolve",
    "shown_name",
    "span_of",
    "type_names",
]
