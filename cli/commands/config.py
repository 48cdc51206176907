"""`flow config`: the settings in force, and every place that set one of them."""

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
    """One place that gave a setting a value, None for the framework's defaults; `through` is the substitution it came
    by."""

    text: str
    place: Span | None
    what: str = ""
    through: Span | None = None


@click.command()
@application_arguments
@click.option(
    "--explain", metavar="KEY", help="Show every place that set KEY (or what is below it); the last one wins."
)
def config(given: Sequence[str], conf: Sequence[str], explain: str | None) -> None:
    """Show the settings in force: what blueprint, --conf files and arguments say, defaults of parameters beneath.

    PATH is a blueprint or its folder (left out: this folder). Keys are written as settings are:
    `flow.streamlets.<name>.parameters.<key>`. What cannot be read is told as `flow verify` tells it.
    """
    app = application(given, conf)
    settings = _settings(app)
    if explain is None:
        for key, layers in settings.items():
            click.echo(f"{key} = {layers[-1].text}")
        return
    wanted = explain if explain.startswith("flow.") or explain == "flow" else f"flow.{explain}"
    found = {key: layers for key, layers in settings.items() if key == wanted or key.startswith(f"{wanted}.")}
    if not found:
        found = _unset(wanted)
    if not found:
        from blueprint.spelling import suggestion

        hint = suggestion(wanted, settings, "`flow config` shows all that are")
        raise click.UsageError(f"nothing sets `{wanted}`; {hint}")
    click.echo("\n\n".join("\n".join(_explained(key, layers)) for key, layers in found.items()))


def _unset(wanted: str) -> dict[str, list[_Layer]]:
    """Settings at or below a key that nobody set, with the framework's defaults; names of the user's fit `<...>`."""
    from blueprint.settings.table import SETTINGS

    path = wanted.split(".")[1:]
    found = {}
    for setting in SETTINGS:
        keys = setting.key.split(".")
        fits = all(one == key or (key.startswith("<") and one) for one, key in zip(path, keys, strict=False))
        if path and len(path) <= len(keys) and fits and (setting.default or len(path) == len(keys)):
            key = ".".join(("flow", *path, *keys[len(path) :]))
            what = f"{'the default' if setting.default else 'nobody sets it'}. {setting.doc}"
            found[key] = [_Layer(setting.default or "(not set)", None, what)]
    return found


def _explained(key: str, layers: Sequence[_Layer]) -> Iterator[str]:
    yield f"{key} = {layers[-1].text}"
    width = max(len(layer.text) for layer in layers)
    for index, layer in enumerate(layers):
        notes = [layer.what] if layer.what else []
        if layer.through is not None:
            notes.append(f"through the substitution at {_spot(layer.through)}")
        if index == len(layers) - 1 and layer.place is not None:
            notes.append("in force")
        spot = [_spot(layer.place)] if layer.place is not None else []
        yield "    " + "  ".join((f"{layer.text:{width}}", *spot, *([", ".join(notes)] if notes else [])))


def _spot(span: Span) -> str:
    return f"{span.file}:{span.line}:{span.column}"


def _settings(app: Application) -> dict[str, list[_Layer]]:
    """Every setting's layers by its key, sorted, the one in force last.

    Raises:
        SystemExit: a text cannot be read; the findings have been told.
    """
    from blueprint.diagnostics import Sources
    from blueprint.hocon import resolve, shown_name
    from blueprint.model.loading import load
    from blueprint.settings.layers import read_layers
    from blueprint.settings.secrets import is_secret_path
    from blueprint.settings.tree import configured
    from cli.verifying import exit_code, report

    verification = app.verify()
    here = Path.cwd()
    sources = Sources(here)
    texts = read_layers(here / app.blueprint, [here / file for file in app.conf], app.settings, sources)
    tree, unresolved = resolve(texts, os.environ)
    if unresolved or any(layer.diagnostics for layer in texts):
        click.echo(report(verification, err=True), err=True, nl=False)
        raise SystemExit(exit_code(app, verification))
    blueprint, _ = load(tree, shown_name(here / app.blueprint), str(app.folder))
    found = _defaults(verification.plan) if verification.plan else {}
    for key, value in _leaves(configured(blueprint, blueprint.settings), "flow"):
        secret = is_secret_path(tuple(key.split(".")))
        found.setdefault(key, []).extend(_layer(origin, sources, secret=secret) for origin in value.origins)
    return dict(sorted(found.items()))


def _defaults(plan: ApplicationPlan) -> dict[str, list[_Layer]]:
    from blueprint.settings.secrets import SECRET, is_secret, masked

    return {
        f"flow.streamlets.{streamlet.ref}.parameters.{parameter.key}": [
            _Layer(SECRET if is_secret(parameter.key) else masked(parameter.default), parameter.declared, "the default")
        ]
        for streamlet in plan.streamlets
        for parameter in streamlet.descriptor.parameters
        if parameter.default is not None
    }


def _leaves(value: ObjectValue, path: str) -> Iterator[tuple[str, Value]]:
    from blueprint.hocon import ObjectValue, path_text

    for key, inner in value.fields.items():
        here = f"{path}.{path_text((key,))}"
        if isinstance(inner, ObjectValue):
            yield from _leaves(inner, here)
        else:
            yield here, inner


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
