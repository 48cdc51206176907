"""The state folders that `flow topics` and `flow tail` look into: nothing is verified, nothing is changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cli.application import blueprint_at, existing


def state_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--state-dir` and `--application`."""
    command = click.option(
        "--application", metavar="NAME", help="Which application, when the state folder holds several."
    )(command)
    return click.option(
        "--state-dir", type=click.Path(path_type=Path), metavar="FOLDER",
        help="Where applications keep their state (left out: `.flow` beside the blueprint).",
    )(command)  # fmt: skip


def topic_folders(path: Path, state_dir: Path | None, application: str | None) -> dict[str, tuple[Path, ...]]:
    """The topics' folders by application, sorted.

    Raises:
        click.UsageError: there is no such path, no state, or no application of that name.
    """
    from streamlets.channels.delta.look import topics_in
    from streamlets.runner.state import STATE_FOLDER, StateFolder

    root = state_dir if state_dir is not None else blueprint_at(existing(path)).parent / STATE_FOLDER
    there = sorted(each.name for each in root.iterdir() if each.is_dir()) if root.is_dir() else []
    if not there:
        raise click.UsageError(f"{root} holds no application: `flow run` makes one, or see --state-dir")
    if application is not None and application not in there:
        raise click.UsageError(f"{root} holds no application `{application}`: there is {', '.join(there)}")
    wanted = there if application is None else [application]
    return {name: topics_in(StateFolder(root, name).topics) for name in wanted}
