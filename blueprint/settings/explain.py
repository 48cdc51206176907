"""Where a setting's value comes from: every layer that set it, for `flow config`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from blueprint.catalog import LoadFailure, StreamletDescriptor
from blueprint.diagnostics import Diagnostic, Severity, Sources, Span
from blueprint.hocon import ObjectValue, Scalar, Value, path_text, resolve, shown_name
from blueprint.hocon.paths import PathFault, read_path
from blueprint.model.loading import load
from blueprint.settings.checks import setting_findings, stray_findings
from blueprint.settings.layers import ARGUMENTS, read_layers
from blueprint.settings.table import SETTINGS, Setting, setting_of
from blueprint.settings.tree import configured
from blueprint.spelling import near

Kind = Literal["default", "blueprint", "file", "argument"]


@dataclass(frozen=True, slots=True)
class Place:
    """One layer that set a value.

    Arguments:
        kind: which sort of layer.
        text: what it says there: the source text of one line, or a default.
        span: where; None for a default of the framework's own.
        via: the substitution through which the value came.
    """

    kind: Kind
    text: str
    span: Span | None = None
    via: Span | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where a setting stands.

    Arguments:
        key: as one writes it, with the leading `flow`.
        setting: what it is; None for a name of the user's, or an option of Spark's or a channel's.
        value: in force; None when nothing sets it (then its default holds).
        places: every layer that set it, the one in force last.
        near: keys that may have been meant, when there is no such setting and no such value.
    """

    key: str
    setting: Setting | None
    value: Value | None
    places: tuple[Place, ...]
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of an application.

    Arguments:
        flow: what blueprint, files and arguments say under `flow`.
        blueprint: the blueprint's file.
        sources: the texts that spans point into.
        diagnostics: what is wrong with the texts or the settings.
    """

    flow: ObjectValue
    blueprint: str
    sources: Sources
    diagnostics: tuple[Diagnostic, ...]

    def explain(
        self, key: str, described: Mapping[str, StreamletDescriptor | LoadFailure] | None = None
    ) -> Explanation:
        """Where the value of a key comes from.

        Arguments:
            key: a path as HOCON writes it; the leading `flow.` may be left out.
            described: the streamlets as the catalog describes them, for the defaults of their parameters.
        """
        found = read_path(key.strip(), 0)
        path = () if isinstance(found, PathFault) else tuple(segment.key for segment in found[0])
        path = path[1:] if path[:1] == ("flow",) else path
        value = self.flow.get(*path) if path else None
        setting = setting_of(path) if path else None
        places = (*_defaults(path, setting, described or {}), *(self._places(value) if value is not None else ()))
        close = () if value is not None or setting is not None or places else self._near(path)
        return Explanation(path_text(("flow", *path)), setting, value, places, close)

    def values(self) -> Iterator[tuple[str, Value]]:
        """Every single value that is set, by its key, sorted."""
        return iter(sorted(_leaves(self.flow, ("flow",)), key=lambda pair: pair[0]))

    def _places(self, value: Value) -> Iterator[Place]:
        for origin in value.origins:
            span = origin.span
            kind: Kind = "file"
            if span.file == ARGUMENTS:
                kind = "argument"
            elif span.file == self.blueprint:
                kind = "blueprint"
            line = self.sources.line(span.file, span.line) or ""
            end = span.end_column - 1 if span.end_line == span.line else len(line)
            yield Place(kind, line[span.column - 1 : end], span, origin.via)

    def _near(self, path: Sequence[str]) -> tuple[str, ...]:
        known = [setting.key for setting in SETTINGS] + [key.removeprefix("flow.") for key, _ in self.values()]
        written = ".".join(path)
        filled = {_filled(key, path): None for key in known}
        return tuple(f"flow.{key}" for key in near(written, filled))


def load_settings(
    blueprint: Path, conf_files: Sequence[Path], arguments: Sequence[str], sources: Sources,
    environment: Mapping[str, str],
) -> Settings:  # fmt: skip
    """Read and merge all that sets anything.

    Arguments:
        blueprint, conf_files, arguments: as in `verify`; later ones win.
        sources: takes the texts that are no files.
        environment: what `${NAME}` falls back to.

    Returns:
        The settings; with syntax errors they are what could be read.
    """
    layers = read_layers(blueprint, conf_files, arguments, sources)
    found = [diagnostic for layer in layers for diagnostic in layer.diagnostics]
    tree, unresolved = resolve(layers, environment)
    found += unresolved
    model, _ = load(tree, shown_name(blueprint), str(blueprint.parent))
    flow = configured(model, model.settings)
    if not any(diagnostic.severity is Severity.ERROR for diagnostic in found):
        found += [*stray_findings(tree, ARGUMENTS), *setting_findings(flow)]
    return Settings(flow, shown_name(blueprint), sources, tuple(found))


def _defaults(
    path: Sequence[str], setting: Setting | None, described: Mapping[str, StreamletDescriptor | LoadFailure]
) -> Iterator[Place]:
    if len(path) == 4 and path[0] == "streamlets" and path[2] == "parameters":
        descriptor = described.get(path[1])
        for parameter in descriptor.parameters if isinstance(descriptor, StreamletDescriptor) else ():
            if parameter.key == path[3] and parameter.default is not None:
                yield Place("default", parameter.default, parameter.declared)
    elif setting is not None and setting.default:
        yield Place("default", setting.default)


def _leaves(value: Value, path: tuple[str, ...]) -> Iterator[tuple[str, Value]]:
    if isinstance(value, ObjectValue) and value.fields:
        for key, inner in value.fields.items():
            yield from _leaves(inner, (*path, key))
    elif not (isinstance(value, Scalar) and value.value is None) and len(path) > 1:
        yield path_text(path), value


def _filled(key: str, path: Sequence[str]) -> str:
    """A setting's key with the user's own names put in for `<...>`."""
    parts = key.split(".")
    return ".".join(
        path[index] if part.startswith("<") and index < len(path) else part for index, part in enumerate(parts)
    )
