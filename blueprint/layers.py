"""The texts an application is configured by, in the order in which they win: blueprint, files, arguments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from blueprint.diagnostics import Sources
from blueprint.hocon import Layer, ListValue, ObjectValue, Value, parse_file, parse_text

ARGUMENTS = "<arguments>"
"""The name under which spans speak of `key=value` arguments, one a line."""


def read_layers(blueprint: Path, conf_files: Sequence[Path], arguments: Sequence[str], sources: Sources) -> list[Layer]:
    """Read all of them; what is wrong with one stands in its layer."""
    layers = [parse_file(blueprint), *map(parse_file, conf_files)]
    if arguments:
        text = "\n".join(argument.replace("\n", " ") for argument in arguments)
        sources.add(ARGUMENTS, text)
        layers.append(parse_text(text, ARGUMENTS))
    return layers


def count_settings(value: Value) -> int:
    """How many single values there are in a tree."""
    if isinstance(value, ObjectValue):
        return sum(map(count_settings, value.fields.values()))
    return sum(map(count_settings, value.items)) if isinstance(value, ListValue) else 1
