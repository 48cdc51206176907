"""`flow schema`: the JSON Schema of blueprints in YAML and JSON."""

from __future__ import annotations

import json

import click


@click.command()
def schema() -> None:
    """Write the JSON Schema of blueprints in YAML and JSON, with which editors complete and check them.

    It has the settings of all channels that are installed.
    """
    from blueprint.settings.json_schema import blueprint_schema
    from blueprint.settings.known_settings import every_setting
    from streamlets.project.catalog import ProjectCatalog

    settings = every_setting(ProjectCatalog().channels().values())
    click.echo(json.dumps(blueprint_schema(settings), indent=2, ensure_ascii=False))
