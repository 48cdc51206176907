"""The settings of topics in the state directory, for commands that have no blueprint. Secrets are not stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from blueprint.plan import TopicPlan
from blueprint.settings.secret_texts import SECRET
from blueprint.settings.secrets import hidden
from streamlets.storage import objects

_FILE = "settings.json"


def remember(plan: TopicPlan, directory: Path) -> None:
    """Store the settings of a topic, except for secrets.

    Arguments:
        plan: the name and the settings of the topic.
        directory: the directory of the topic in the state directory.
    """
    directory.mkdir(parents=True, exist_ok=True)
    content = json.dumps([_shown(plan.options), _shown(plan.channel_options), plan.managed]).encode()
    if objects.read(directory / _FILE) != content:
        objects.replace(directory / _FILE, content)


def remembered(plan: TopicPlan, directory: Path) -> TopicPlan:
    """Return a topic with its stored settings, unless it has settings of its own; see `remember` for the arguments."""
    data = None if plan.options or plan.channel_options else objects.read(directory / _FILE)
    if data is None:
        return plan
    options, channel_options, *_ = json.loads(data)
    return replace(plan, options=options, channel_options=channel_options)


def created(directory: Path) -> bool:
    """Return whether the application has created the topic of a directory, or found it as one that it manages."""
    data = objects.read(directory / _FILE)
    return data is not None and json.loads(data)[2:] == [True]


def _shown(options: Mapping[str, object]) -> Any:
    return _without_secrets(hidden(options))


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_secrets(inner) for key, inner in value.items() if inner != SECRET}
    return value
