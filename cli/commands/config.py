"""`flow config`: the effective settings, and every place that set them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from cli.application import Application, application, application_arguments

if TYPE_CHECKING:
    from blueprint.diagnostics import Span
    from blueprint.settings.setting_sources import SettingSource
    from blueprint.verification.verify import Verification


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
    verification, settings = _verified(application(arguments, conf))
    if explain is None:
        for key, sources in settings.items():
            click.echo(f"{key} = {sources[-1].text}")
        return
    from blueprint.settings.setting_sources import setting_defaults

    prefix = explain if explain.startswith("flow.") or explain == "flow" else f"flow.{explain}"
    selected = {key: sources for key, sources in settings.items() if key == prefix or key.startswith(f"{prefix}.")}
    selected = selected or setting_defaults(prefix, verification.known)
    if not selected:
        from blueprint.spelling import suggestion

        hint = suggestion(prefix, settings, "run `flow config` to list all settings")
        raise click.UsageError(f"there is no setting `{prefix}`; {hint}")
    click.echo("\n\n".join("\n".join(_explanation(key, sources)) for key, sources in selected.items()))


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
