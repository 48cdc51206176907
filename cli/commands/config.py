"""`flow config`: the effective settings, and every place that set them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.application import Application, application, application_arguments

if TYPE_CHECKING:
    from blueprint.diagnostics import Sources, Span
    from blueprint.hocon import ObjectValue, Origin, Value
    from blueprint.plan import ApplicationPlan


@dataclass(frozen=True, slots=True)
class _Layer:
    """A value of a setting, and where it was set.

    Arguments:
        text: the value as it is written.
        place: where it is written; None for the framework's defaults.
        note: an explanation of the value.
        through: the substitution that the value came through.
    """

    text: str
    place: Span | None
    note: str = ""
    through: Span | None = None


@click.command()
@application_arguments
@click.option("--explain", metavar="KEY", help="Show every place that set KEY or a key below it; the last place wins.")
def config(arguments: Sequence[str], conf: Sequence[str], explain: str | None) -> None:
    """Show the effective settings of an application.

    Later layers win: defaults of parameters, the blueprint, --conf files in order, KEY=VALUE arguments. With --explain,
    show every place that set a key, such as `flow.streamlets.<name>.parameters.<key>`.

    PATH is a blueprint or its directory (default: the working directory). Settings that cannot be read are reported as
    by `flow verify`.
    """
    app = application(arguments, conf)
    settings = _settings(app)
    if explain is None:
        for key, layers in settings.items():
            click.echo(f"{key} = {layers[-1].text}")
        return
    prefix = explain if explain.startswith("flow.") or explain == "flow" else f"flow.{explain}"
    selected = {key: layers for key, layers in settings.items() if key == prefix or key.startswith(f"{prefix}.")}
    selected = selected or _unset(prefix)
    if not selected:
        from blueprint.spelling import suggestion

        hint = suggestion(prefix, settings, "run `flow config` to list all settings")
        raise click.UsageError(f"there is no setting `{prefix}`; {hint}")
    click.echo("\n\n".join("\n".join(_explanation(key, layers)) for key, layers in selected.items()))


def _unset(prefix: str) -> dict[str, list[_Layer]]:
    """Return the settings at or below a key that are not set, with their defaults; any name matches `<...>`."""
    from blueprint.settings.table import SETTINGS

    path = prefix.split(".")[1:]
    settings = {}
    for setting in SETTINGS:
        keys = setting.key.split(".")
        matches = all(name == key or (key.startswith("<") and name) for name, key in zip(path, keys, strict=False))
        if path and len(path) <= len(keys) and matches and (setting.default or len(path) == len(keys)):
            key = ".".join(("flow", *path, *keys[len(path) :]))
            note = f"default. {setting.doc}" if setting.default else setting.doc
            settings[key] = [_Layer(setting.default or "(not set)", None, note)]
    return settings


def _explanation(key: str, layers: Sequence[_Layer]) -> Iterator[str]:
    yield f"{key} = {layers[-1].text}"
    width = max(len(layer.text) for layer in layers)
    for index, layer in enumerate(layers):
        notes = [layer.note] if layer.note else []
        if layer.through is not None:
            notes.append(f"through the substitution at {_spot(layer.through)}")
        if index == len(layers) - 1 and layer.place is not None:
            notes.append("effective")
        spot = [_spot(layer.place)] if layer.place is not None else []
        yield "    " + "  ".join((f"{layer.text:{width}}", *spot, *([", ".join(notes)] if notes else [])))


def _spot(span: Span) -> str:
    return f"{span.file}:{span.line}:{span.column}"


def _settings(app: Application) -> dict[str, list[_Layer]]:
    """Return every setting's layers by its key, sorted, the effective one last.

    Raises:
        SystemExit: a file cannot be read; the findings have been printed.
    """
    from blueprint.diagnostics import Sources
    from blueprint.hocon import resolve, shown_name
    from blueprint.model.loading import load
    from blueprint.settings.layers import read_layers
    from blueprint.settings.secrets import is_secret_path
    from blueprint.settings.tree import configured
    from cli.verification.findings import exit_code, report

    verification = app.verify()
    directory = Path.cwd()
    sources = Sources(directory)
    texts = read_layers(directory / app.blueprint, [directory / file for file in app.conf], app.settings, sources)
    tree, unresolved = resolve(texts, os.environ)
    if unresolved or any(layer.diagnostics for layer in texts):
        click.echo(report(verification, err=True), err=True, nl=False)
        raise SystemExit(exit_code(app, verification))
    blueprint, _ = load(tree, shown_name(directory / app.blueprint), str(app.folder))
    settings = _defaults(verification.plan) if verification.plan else {}
    for key, value in _leaves(configured(blueprint, blueprint.settings), "flow"):
        secret = is_secret_path(tuple(key.split(".")))
        settings.setdefault(key, []).extend(_layer(origin, sources, secret=secret) for origin in value.origins)
    return dict(sorted(settings.items()))


def _defaults(plan: ApplicationPlan) -> dict[str, list[_Layer]]:
    from blueprint.settings.secrets import SECRET, is_secret, masked

    return {
        f"flow.streamlets.{streamlet.ref}.parameters.{parameter.key}": [
            _Layer(SECRET if is_secret(parameter.key) else masked(parameter.default), parameter.declared, "default")
        ]
        for streamlet in plan.streamlets
        for parameter in streamlet.descriptor.parameters
        if parameter.default is not None
    }


def _leaves(value: ObjectValue, path: str) -> Iterator[tuple[str, Value]]:
    from blueprint.hocon import ObjectValue, path_text

    for key, inner in value.fields.items():
        full_key = f"{path}.{path_text((key,))}"
        if isinstance(inner, ObjectValue):
            yield from _leaves(inner, full_key)
        else:
            yield full_key, inner


def _layer(origin: Origin, sources: Sources, *, secret: bool) -> _Layer:
    from blueprint.settings.secrets import SECRET, masked

    span = origin.span
    line = sources.line(span.file, span.line) or ""
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    text = line[span.column - 1 : end].strip()
    if secret and not text.startswith("${"):
        return _Layer(SECRET, span, "", origin.via)
    text = masked(text)
    return _Layer(text if span.end_line == span.line else f"{text} ...", span, "", origin.via)
