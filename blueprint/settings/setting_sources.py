"""Where the value of a setting comes from: every place that sets it, for `flow config`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from blueprint.catalog import StreamletDescriptor
from blueprint.diagnostics import Sources, Span
from blueprint.hocon import ObjectValue, Origin, Scalar, Value, path_text
from blueprint.setting import Setting, SettingNode
from blueprint.settings.secret_sources import secrets_in
from blueprint.settings.secret_texts import SECRET
from blueprint.settings.secrets import Secrets, is_reference, is_secret_path, shown_default


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


def setting_sources(
    flow: ObjectValue, known: SettingNode, streamlets: Mapping[str, StreamletDescriptor], sources: Sources
) -> dict[str, list[SettingSource]]:
    """Return the sources of every value that is set, and of parameters with a default.

    Arguments:
        flow: the settings.
        known: the settings that the application may have.
        streamlets: the descriptors of streamlets, whose parameters may have defaults.
        sources: the texts that the spans of `flow` point into.

    Returns:
        The sources by key, sorted by key. The sources of a key are in their order; the last one is effective.
    """
    by_key = _parameter_defaults(streamlets)
    secrets = secrets_in(flow, flow, known)
    for path, value in _leaves(flow, ()):
        secret = (is_secret_path(path) or _defined_as_secret(known, path)) and not is_reference(flow.get(*path[:-1]))
        texts = (_source(origin, value, sources, secrets, secret=secret) for origin in value.origins)
        by_key.setdefault(path_text(("flow", *path)), []).extend(texts)
    return dict(sorted(by_key.items()))


def _defined_as_secret(known: SettingNode, path: tuple[str, ...]) -> bool:
    nodes = (known.inner(*path[:length]) for length in range(1, len(path) + 1))
    return any(node is not None and node.setting is not None and node.setting.secret for node in nodes)


def setting_defaults(key: str, known: SettingNode) -> dict[str, list[SettingSource]]:
    """Return the defaults of the settings at or below a key that is not set.

    Arguments:
        key: begins with `flow.`.
        known: the settings that the application may have.

    Returns:
        The default by key; `(not set)` when the key belongs to a setting without a default.
    """
    path = key.split(".")[1:]
    node = known.inner(*path) if path else None
    defaults = {}
    for setting in _settings_below(node) if node is not None else ():
        below = setting.path.split(".")[len(path) :]
        if setting.effect or not below:
            note = f"default. {setting.doc}" if setting.effect else setting.doc
            defaults[".".join(("flow", *path, *below))] = [SettingSource(setting.effect or "(not set)", None, note)]
    return defaults


def _settings_below(node: SettingNode) -> Iterator[Setting]:
    if node.setting is not None:
        yield node.setting
    for inner in (*node.children.values(), *((node.named,) if node.named is not None else ())):
        yield from _settings_below(inner)


def _parameter_defaults(streamlets: Mapping[str, StreamletDescriptor]) -> dict[str, list[SettingSource]]:
    return {
        f"flow.streamlets.{ref}.parameters.{parameter.key}": [
            SettingSource(shown_default(parameter.key, parameter.default), parameter.declared, "default")
        ]
        for ref, descriptor in streamlets.items()
        for parameter in descriptor.parameters
        if parameter.default is not None
    }


def _leaves(value: ObjectValue, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Value]]:
    for key, inner in value.fields.items():
        if isinstance(inner, ObjectValue):
            yield from _leaves(inner, (*path, key))
        else:
            yield (*path, key), inner


def _source(origin: Origin, value: Value, sources: Sources, secrets: Secrets, *, secret: bool) -> SettingSource:
    """Return a source of a value; if the value is not written in the text, such as the name of a job, the value."""
    span = origin.span
    line = sources.line(span.file, span.line) or ""
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    text = line[span.column - 1 : end].strip()
    if (span.line, span.column) == (span.end_line, span.end_column) and isinstance(value, Scalar):
        text = value.text
    if secret and not text.startswith("${"):
        return SettingSource(SECRET, span, via=origin.via)
    text = secrets.masked(text)
    return SettingSource(text if span.end_line == span.line else f"{text} ...", span, via=origin.via)
