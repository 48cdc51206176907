"""The page of all settings, from the table of the language and the traits of the channels."""

from __future__ import annotations

from blueprint.setting import Scope
from blueprint.settings.known_settings import every_setting
from manual.reference.tables import code, table
from streamlets.channels.registry import CHANNEL_TYPES

SECTIONS = {
    Scope.APPLICATION: "Settings of an application",
    Scope.STREAMLET: "Settings of a streamlet",
    Scope.INLET: "Settings of an inlet",
    Scope.OUTLET: "Settings of an outlet",
    Scope.TOPIC: "Settings of a topic",
}

_INTRODUCTION = """\
# Settings

A setting is in the blueprint's `flow` section, in a file of `--conf`, or in an argument `key=value` of a command; later
ones win. Settings of a streamlet or topic may also be in its block of the blueprint. `flow config` shows the effective
values of an application, `flow config --explain KEY` the places that set one, and `flow config --list` this list with
the channels that are installed. Parts in angle brackets, such as `<ref>`, are names of yours. Values of secrets are
never shown.
"""


def settings_page() -> str:
    """Return the page."""
    settings = sorted(every_setting(kind.traits for kind in CHANNEL_TYPES.values()), key=lambda setting: setting.path)
    parts = [_INTRODUCTION]
    for scope, title in SECTIONS.items():
        rows = [
            (
                code(f"flow.{setting.path}"),
                setting.type.expected,
                code(setting.effect),
                setting.doc + (" Secret." if setting.secret else ""),
            )
            for setting in settings
            if setting.scope is scope
        ]
        parts.append(f"## {title}\n\n" + table(("setting", "value", "default", "meaning"), rows))
    return "\n".join(parts)
