"""The state folders that commands look into while nothing is verified: of which application, and what lies there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.application import blueprint_at, existing

if TYPE_CHECKING:
    from streamlets.channels.delta import DeltaTopic
    from streamlets.runner.state_folder.folder import StateFolder


def state_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--state-dir` and `--application`."""
    command = click.option(
        "--application", metavar="NAME", help="Which application, when the state folder holds several."
    )(command)
    return click.option(
        "--state-dir", type=click.Path(path_type=Path), metavar="FOLDER",
        help="Where applications keep their state (left out: `.flow` beside the blueprint).",
    )(command)  # fmt: skip


def path_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `[PATH]`: a blueprint or its folder, this one when left out."""
    return click.argument("path", type=click.Path(path_type=Path), default=Path())(command)


def state_folders(path: Path, state_dir: Path | None, application: str | None) -> tuple[StateFolder, ...]:
    """The applications' state folders, sorted by name.

    Raises:
        click.UsageError: there is no such path, no state, or no application of that name.
    """
    from streamlets.runner.state_folder.folder import STATE_FOLDER, StateFolder

    root = state_dir if state_dir is not None else blueprint_at(existing(path)).parent / STATE_FOLDER
    there = sorted(each.name for each in root.iterdir() if each.is_dir()) if root.is_dir() else []
    if not there:
        raise click.UsageError(f"{root} holds no application: `flow run` makes one, or see --state-dir")
    if application is not None and application not in there:
        raise click.UsageError(f"{root} holds no application `{application}`: there is {', '.join(there)}")
    wanted = there if application is None else [application]
    return tuple(StateFolder(root, name) for name in wanted)


def state_folder(path: Path, state_dir: Path | None, application: str | None) -> StateFolder:
    """The state folder of the one application that is meant.

    Raises:
        click.UsageError: as `state_folders`, and when there are several.
    """
    found = state_folders(path, state_dir, application)
    if len(found) > 1:
        names = ", ".join(each.application for each in found)
        raise click.UsageError(f"{found[0].root} holds several applications ({names}): choose with --application")
    return found[0]


def topic_folders(path: Path, state_dir: Path | None, application: str | None) -> dict[str, tuple[Path, ...]]:
    """The topics' folders by application, sorted.

    Raises:
        click.UsageError: as `state_folders`.
    """
    from streamlets.channels.delta.look import topics_in

    return {each.application: topics_in(each.topics) for each in state_folders(path, state_dir, application)}


def topics_of(state: StateFolder) -> tuple[DeltaTopic, ...]:
    """The application's topics on the embedded channel, as they lie there."""
    from blueprint.plan import TopicPlan
    from streamlets.channels.delta import DeltaChannel
    from streamlets.channels.delta.look import topics_in

    channel = DeltaChannel(state.topics)
    names = [folder.name for folder in topics_in(state.topics)]
    return tuple(channel.topic(TopicPlan(name, name, channel.name, False, (), (), {})) for name in names)


def named_topic(name: str, state: StateFolder) -> DeltaTopic:
    """The application's topic of a name.

    Raises:
        click.UsageError: there is none.
    """
    from blueprint.spelling import suggestion

    there = {topic.plan.name: topic for topic in topics_of(state)}
    if name not in there:
        raise click.UsageError(f"there is no topic `{name}`; {suggestion(name, there)}")
    return there[name]
