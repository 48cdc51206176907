"""`flow config`: the effective settings, and every place that set them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from cli.application import Application, application, application_arguments
from cli.groups import imports_modules
from cli.options import format_option

if TYPE_CHECKING:
    from blueprint.diagnostics import Span
    from blueprint.settings.setting_sources import SettingSource
    from blueprint.verification.verify import Verification


@imports_modules()
@click.command()
@application_arguments
@click.option("--explain", metavar="KEY", help="Show every place that set KEY or a key below it; the last place wins.")
@click.option("--list", "every", is_flag=True, help="List every setting that exists, with its type and default.")
@format_option(help="The output format: for people, or a JSON list of settings.")
def config(arguments: Sequence[str], conf: Sequence[str], explain: str | None, every: bool, form: str) -> None:
    """Show the effective settings of an application.

    Later layers win: defaults of parameters, the blueprint, --conf files in order, KEY=VALUE arguments. With --explain,
    show every place that set a key, such as `flow.streamlets.<name>.parameters.<key>`. With --list, show the settings
    of every application and of all installed channels, which needs no blueprint.

    PATH is a blueprint or its directory (default: the working directory). Settings that cannot be read are reported as
    by `flow verify`.
    """
    if every:
        if arguments or conf or explain is not None:
            raise click.UsageError("--list shows the settings of every application: it has no other arguments")
        _list(form)
        return
    verification, settings = _verified(application(arguments, conf))
    known = list(settings)
    if explain is not None:
        from blueprint.settings.setting_sources import setting_defaults

        prefix = explain if explain.startswith("flow.") or explain == "flow" else f"flow.{explain}"
        selected = {key: sources for key, sources in settings.items() if key == prefix or key.startswith(f"{prefix}.")}
        settings = selected or setting_defaults(prefix, verification.known)
        if not settings:
            from blueprint.spelling import suggestion

            hint = suggestion(prefix, known, "run `flow config --list` to list all settings")
            raise click.UsageError(f"there is no setting `{prefix}`; {hint}")
    if form == "json":
        click.echo(json.dumps([_document(key, sources) for key, sources in settings.items()], indent=2))
    elif explain is None:
        for key, sources in settings.items():
            click.echo(f"{key} = {sources[-1].text}")
    else:
        click.echo("\n\n".join("\n".join(_explanation(key, sources)) for key, sources in settings.items()))


def _list(form: str) -> None:
    """Print every setting of the framework and of the installed channels, sorted by key."""
    from blueprint.settings.known_settings import every_setting
    from streamlets.project.catalog import ProjectCatalog

    settings = sorted(every_setting(ProjectCatalog().channels().values()), key=lambda setting: setting.path)
    if form == "json":
        documents = [
            {
                "key": f"flow.{setting.path}",
                "type": setting.type.expected,
                "choices": list(setting.type.choices),
                "default": setting.effect or None,
                "description": setting.doc,
                "secret": setting.secret,
            }
            for setting in settings
        ]
        click.echo(json.dumps(documents, indent=2))
        return
    for setting in settings:
        click.echo(f"flow.{setting.path}")
        click.echo(f"    {setting.doc}")
        click.echo(f"    type: {setting.type.expected}")
        if setting.effect:
            click.echo(f"    default: {setting.effect}")


def _document(key: str, sources: Sequence[SettingSource]) -> dict[str, object]:
    """Return a setting for programs; its last source is effective."""
    places = [
        {
            "value": source.text,
            "file": source.span.file if source.span is not None else None,
            "line": source.span.line if source.span is not None else None,
            "column": source.span.column if source.span is not None else None,
            "note": source.note or None,
        }
        for source in sources
    ]
    return {"key": key, "value": sources[-1].text, "sources": places}


def _explanation(key: str, sources: Sequence[SettingSource]) -> Iterator[str]:
    yield f"{key} = {sources[-1].text}"
    width = max(len(source.text) for source in sources)
    for index, source in enumerate(sources):
        notes = [source.note] if source.note else []
        if source.via is not None:
            notes.append(f"through the substitution at {_location(source.via)}")
        if index == len(sources) - 1 and source.span is not None:
            notes.append("effective")
        location = [_location(source.span)] if source.span is not None else []
        yield "    " + "  ".join((f"{source.text:{width}}", *location, *([", ".join(notes)] if notes else [])))


def _location(span: Span) -> str:
    return f"{span.file}:{span.line}:{span.column}"


def _verified(app: Application) -> tuple[Verification, dict[str, list[SettingSource]]]:
    """Return the verification of an application, and the sources of every setting by its key.

    Raises:
        SystemExit: a file cannot be read; the findings have been printed.
    """
    from blueprint.settings.setting_sources import setting_sources
    from cli.verification.findings import exit_code, report

    verification = app.verify()
    if verification.settings is None:
        click.echo(report(verification, err=True), err=True, nl=False)
        raise SystemExit(exit_code(app, verification))
    streamlets = verification.plan.streamlets if verification.plan is not None else ()
    descriptors = {streamlet.ref: streamlet.descriptor for streamlet in streamlets}
    return verification, setting_sources(verification.settings, verification.known, descriptors, verification.sources)
