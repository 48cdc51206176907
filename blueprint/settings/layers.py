"""The layers of an application's settings: blueprint, files, arguments. Later layers win."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from blueprint.diagnostics import Sources
from blueprint.hocon import Layer, ListValue, ObjectValue, Value, parse_file, parse_text
from blueprint.model.source import Source

ARGUMENTS = "<arguments>"
"""The file name that spans have for `key=value` arguments; each argument is a line."""


def read_layers(
    source: Source,
    conf_files: Sequence[Path],
    arguments: Sequence[str],
    sources: Sources,
    texts: Mapping[Path, str] = MappingProxyType({}),
) -> list[Layer]:
    """Read all layers; a layer has the findings about its text.

    Arguments:
        source: the blueprint.
        conf_files: files of settings.
        arguments: `key=value` settings.
        sources: receives the texts that are not files.
        texts: the content of files, by resolved path, that is read instead of the files.
    """
    layers = [source.layer(sources, texts), *(_settings(file, texts) for file in conf_files)]
    if arguments:
        text = "\n".join(argument.replace("\n", " ") for argument in arguments)
        sources.add(ARGUMENTS, text)
        layers.append(parse_text(text, ARGUMENTS))
    return layers


def _settings(path: Path, texts: Mapping[Path, str]) -> Layer:
    """Read a file of settings; the finding that it does not exist names the option that asked for it."""
    layer = parse_file(path, texts)
    headline = f"the settings file `{layer.file}` of `--conf` does not exist"
    findings = (
        replace(finding, headline=headline) if finding.code == "file-not-found" and finding.primary is None else finding
        for finding in layer.diagnostics
    )
    return replace(layer, diagnostics=tuple(findings))


def count_settings(value: Value) -> int:
    """Return the number of single values in a tree."""
    if isinstance(value, ObjectValue):
        return sum(map(count_settings, value.fields.values()))
    return sum(map(count_settings, value.items)) if isinstance(value, ListValue) else 1
