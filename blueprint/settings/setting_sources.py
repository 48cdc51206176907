"""Where the value of a setting comes from: every place that sets it, for `flow config`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from blueprint.catalog import StreamletDescriptor
from blueprint.diagnostics import Sources, Span
from blueprint.hocon import ObjectValue, Origin, Value, path_text, resolve, shown_name
from blueprint.model.loading import load
from blueprint.settings.layers import read_layers
from blueprint.settings.secrets import SECRET, is_secret, is_secret_path, masked
from blueprint.settings.table import SETTINGS
from blueprint.settings.tree import configured


@dataclass(frozen=True, slots=True)
class SettingSource:
    """A place that sets a value, or a default.

    Arguments:
        text: the source text of the value, without secrets.
        span: where it is; None for a default of the framework.
        note: what it is, for a default.
        via: the substitution through which the value came.
    """

    text: str
    span: Span | None
    note: str = ""
    via: Span | None = None


def read_settings(
    blueprint: Path,
    conf_files: Sequence[Path],
    arguments: Sequence[str],
    sources: Sources,
    environment: Mapping[str, str],
) -> ObjectValue | None:
    """Read the blueprint and all settings.

    Arguments:
        blueprint: the blueprint's file.
        conf_files: files of settings, later ones win.
        arguments: `key=value` settings, which win over files.
        sources: receives the texts that are not files.
        environment: the fallback of `${NAME}`.

    Returns:
        The `flow` section over the blocks of the blueprint; None when something cannot be read.
    """
    layers = read_layers(blueprint, conf_files, arguments, sources)
    tree, unresolved = resolve(layers, environment)
    if unresolved or any(layer.diagnostics for layer in layers):
        return None
    model, _ = load(tree, shown_name(blueprint), str(blueprint.parent))
    return configured(model, model.settings)


def setting_sources(
    flow: ObjectValue, streamlets: Mapping[str, StreamletDescriptor], sources: Sources
) -> dict[str, list[SettingSource]]:
    """Return the sources of every value that is set, and of parameters with a default.

    Arguments:
        flow: the settings.
        streamlets: the descriptors of streamlets, whose parameters may have defaults.
        sources: the texts that the spans of `flow` point into.

    Returns:
        The sources by key, sorted by key; those of a key in their order, the last is effective.
    """
    by_key = _parameter_defaults(streamlets)
    for key, value in _leaves(flow, "flow"):
        secret = is_secret_path(tuple(key.split(".")))
        by_key.setdefault(key, []).extend(_source(origin, sources, secret=secret) for origin in value.origins)
    return dict(sorted(by_key.items()))


def setting_defaults(key: str) -> dict[str, list[SettingSource]]:
    """Return the framework's defaults of the settings at or below a key that is not set.

    Arguments:
        key: begins with `flow.`; names that the user chooses match the `<...>` of the table.

    Returns:
        The default by key; `(not set)` when the key is that of a setting without a default.
    """
    path = key.split(".")[1:]
    defaults = {}
    for setting in SETTINGS:
        names = setting.key.split(".")
        matches = all(part == name or (name.startswith("<") and part) for part, name in zip(path, names, strict=False))
        if path and len(path) <= len(names) and matches and (setting.default or len(path) == len(names)):
            full_key = ".".join(("flow", *path, *names[len(path) :]))
            note = f"default. {setting.doc}" if setting.default else setting.doc
            defaults[full_key] = [SettingSource(setting.default or "(not set)", None, note)]
    return defaults


def _parameter_defaults(streamlets: Mapping[str, StreamletDescriptor]) -> dict[str, list[SettingSource]]:
    return {
        f"flow.streamlets.{ref}.parameters.{parameter.key}": [
            SettingSource(
                SECRET if is_secret(parameter.key) else masked(parameter.default), parameter.declared, "default"
            )
        ]
        for ref, descriptor in streamlets.items()
        for parameter in descriptor.parameters
        if parameter.default is not None
    }


def _leaves(value: ObjectValue, path: str) -> Iterator[tuple[str, Value]]:
    for key, inner in value.fields.items():
        inner_path = f"{path}.{path_text((key,))}"
        if isinstance(inner, ObjectValue):
            yield from _leaves(inner, inner_path)
        else:
            yield inner_path, inner


def _source(origin: Origin, sources: Sources, *, secret: bool) -> SettingSource:
    span = origin.span
    line = sources.line(span.file, span.line) or ""
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    text = line[span.column - 1 : end].strip()
    if secret and not text.startswith("${"):
        return SettingSource(SECRET, span, via=origin.via)
    text = masked(text)
    return SettingSource(text if span.end_line == span.line else f"{text} ...", span, via=origin.via)
