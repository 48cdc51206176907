"""The settings of topics in the state directory, for commands that have no blueprint. Secrets are not stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from blueprint.plan import TopicPlan
from blueprint.settings.secret_texts import SECRET
from blueprint.settings.secrets import hidden
from streamlets.storage import objects
from streamlets.storage.damage import read_whole

_FILE = "settings.json"


class _Stored(NamedTuple):
    """The settings of a topic and of its channel, and whether the application manages the topic."""

    options: dict[str, Any]
    channel_options: dict[str, Any]
    managed: bool


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
    stored = None if plan.options or plan.channel_options else _read(directory)
    return plan if stored is None else replace(plan, options=stored.options, channel_options=stored.channel_options)


def created(directory: Path) -> bool:
    """Return whether the application has created the topic of a directory, or found it as one that it manages."""
    stored = _read(directory)
    return stored is not None and stored.managed


def _read(directory: Path) -> _Stored | None:
    """Return the stored settings of a topic; None if there are none.

    Raises:
        DamagedFileError: the file is damaged.
    """
    remedy = "delete it: the next run writes it again, if the topic is still in the blueprint"
    return read_whole(directory / _FILE, _parsed, "the stored settings of a topic", remedy)


def _parsed(data: bytes) -> _Stored:
    options, channel_options, managed = json.loads(data)
    return _Stored(dict(options), dict(channel_options), managed is True)


def _shown(options: Mapping[str, object]) -> Any:
    return _without_secrets(hidden(options))


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_secrets(inner) for key, inner in value.items() if inner != SECRET}
    return value
