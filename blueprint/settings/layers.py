"""The texts an application is configured by, in the order in which they win: blueprint, files, arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from blueprint.diagnostics import Diagnostic, Sources
from blueprint.hocon import Layer, ListValue, ObjectValue, Value, parse_file, parse_text
from blueprint.model.nearby import with_whereabouts

ARGUMENTS = "<arguments>"
"""The name under which spans speak of `key=value` arguments, one a line."""


def read_layers(
    blueprint: Path,
    conf_files: Sequence[Path],
    arguments: Sequence[str],
    sources: Sources,
    texts: Mapping[Path, str] = MappingProxyType({}),
) -> list[Layer]:
    """Read all of them, in place of some files their `texts`; what is wrong with one stands in its layer."""
    layers = [_blueprint(blueprint, texts), *(_settings(file, texts) for file in conf_files)]
    if arguments:
        text = "\n".join(argument.replace("\n", " ") for argument in arguments)
        sources.add(ARGUMENTS, text)
        layers.append(parse_text(text, ARGUMENTS))
    return layers


def _blueprint(path: Path, texts: Mapping[Path, str]) -> Layer:
    layer = parse_file(path, texts)
    return _missing(layer, lambda diagnostic: with_whereabouts(diagnostic, path, layer.file))


def _settings(path: Path, texts: Mapping[Path, str]) -> Layer:
    layer = parse_file(path, texts)
    headline = f"the settings file `{layer.file}` of `--conf` does not exist"
    return _missing(layer, lambda diagnostic: replace(diagnostic, headline=headline))


def _missing(layer: Layer, worded: Callable[[Diagnostic], Diagnostic]) -> Layer:
    """The layer of a file that the user named; that it does not exist is `worded` for its role."""
    findings = (
        worded(finding) if finding.code == "file-not-found" and finding.primary is None else finding
        for finding in layer.diagnostics
    )
    return replace(layer, diagnostics=tuple(findings))


def count_settings(value: Value) -> int:
    """How many single values there are in a tree."""
    if isinstance(value, ObjectValue):
        return sum(map(count_settings, value.fields.values()))
    return sum(map(count_settings, value.items)) if isinstance(value, ListValue) else 1
