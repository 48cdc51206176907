"""The state folders that commands look into while nothing is verified: of which application, and what lies there."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.application import Application, blueprint_at, existing

if TYPE_CHECKING:
    from streamlets.channels.delta import DeltaTopic
    from streamlets.runner.state_directory.directory import StateDirectory


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


def applications(path: Path, state_dir: Path | None, application: str | None) -> tuple[StateDirectory, ...]:
    """The state of the applications that keep it in one directory, sorted by name; where there is none, that of the
    blueprint's application, which has not run yet.

    Raises:
        click.UsageError: the path does not exist, or there is no such application and the blueprint names none.
    """
    from blueprint.spelling import suggestion
    from streamlets.runner.state_directory.directory import (
        STATE_DIRECTORY,
        StateDirectory,
        applications_in,
        is_application,
    )

    blueprint = blueprint_at(path if state_dir is not None else existing(path))
    root = state_dir if state_dir is not None else blueprint.parent / STATE_DIRECTORY
    _refuse_closed(root, application)
    found = applications_in(root)
    own = Application(blueprint, (), ()).name
    known = {*found, own} if own and (not found or own == application) else set(found)
    if not known and is_application(root):
        raise click.UsageError(f"{root} is the state of an application: --state-dir names the directory above it")
    if not known:
        raise click.UsageError(
            f"{blueprint} does not exist, and no application keeps its state in {root}: `flow run` starts one"
        )
    if application is not None and application not in known:
        hint = suggestion(application, known)
        raise click.UsageError(f"no application `{application}` keeps its state in {root}; {hint}")
    return tuple(StateDirectory(root, name) for name in (sorted(known) if application is None else [application]))


def _refuse_closed(root: Path, application: str | None) -> None:
    """Refuse directories that this user may not read: they look as if no application had run.

    Raises:
        click.UsageError: there is one, and it may be the one that is meant.
    """
    try:
        below = [folder for folder in root.iterdir() if application in (None, folder.name) and folder.is_dir()]
    except FileNotFoundError:
        return
    except (PermissionError, NotADirectoryError):
        below = [root] if root.is_dir() else []
    closed = next((folder for folder in below if not os.access(folder, os.R_OK | os.X_OK)), None)
    if closed is not None:
        raise click.UsageError(
            f"{closed} cannot be read: permission denied. Only the user who runs an application reads its state; "
            "`flow.state-access = group` in its settings lets the group of the directory read it, too"
        )


def state_directories(path: Path, state_dir: Path | None, application: str | None) -> tuple[StateDirectory, ...]:
    """The state of the applications that have run.

    Raises:
        click.UsageError: as `applications`, and when none has run.
    """
    from streamlets.runner.state_directory.directory import is_application

    known = applications(path, state_dir, application)
    if not any(is_application(each.directory) for each in known):
        raise click.UsageError(f"{known[0].application} has not run yet: `flow run` makes its state in {known[0].root}")
    return known


def state_directory(path: Path, state_dir: Path | None, application: str | None) -> StateDirectory:
    """The state folder of the one application that is meant.

    Raises:
        click.UsageError: as `state_directories`, and when there are several.
    """
    return only(state_directories(path, state_dir, application))


def only(states: Sequence[StateDirectory]) -> StateDirectory:
    """The application's, where there is no choice.

    Raises:
        click.UsageError: there is one.
    """
    if len(states) > 1:
        names = ", ".join(each.application for each in states)
        raise click.UsageError(
            f"several applications keep their state in {states[0].root}: choose with --application {names}"
        )
    return states[0]


def topic_folders(path: Path, state_dir: Path | None, application: str | None) -> dict[str, tuple[Path, ...]]:
    """The topics' folders by application, sorted.

    Raises:
        click.UsageError: as `state_directories`.
    """
    from streamlets.channels.delta.inspection import topics_in

    return {each.application: topics_in(each.topics) for each in state_directories(path, state_dir, application)}


def topics_of(state: StateDirectory) -> tuple[DeltaTopic, ...]:
    """The application's topics on the embedded channel, as they lie there."""
    from blueprint.plan import TopicPlan
    from streamlets.channels.delta import DeltaChannel
    from streamlets.channels.delta.inspection import topics_in

    channel = DeltaChannel(state.topics)
    names = [folder.name for folder in topics_in(state.topics)]
    return tuple(channel.topic(TopicPlan(name, name, channel.name, False, (), (), {})) for name in names)


def named_topic(name: str, state: StateDirectory) -> DeltaTopic:
    """The application's topic of a name.

    Raises:
        click.UsageError: there is none.
    """
    from blueprint.spelling import suggestion

    there = {topic.plan.name: topic for topic in topics_of(state)}
    if name not in there:
        raise click.UsageError(f"there is no topic `{name}`; {suggestion(name, there)}")
    return there[name]
