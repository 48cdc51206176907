"""The state directories of applications, and what is in them, for commands that verify nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.application import Application, blueprint_at, existing_blueprint
from cli.application import application as application_of
from cli.options import DirectoryType
from cli.output.errors import fail

if TYPE_CHECKING:
    from streamlets.channels.base import TopicResource
    from streamlets.runner.state_directory.directory import StateDirectory


def state_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--state-dir` and `--application`."""
    command = click.option(
        "--application", metavar="NAME", help="The application, if the state directory has several."
    )(command)
    return click.option(
        "--state-dir", type=DirectoryType(path_type=Path), metavar="DIRECTORY",
        help="The parent directory of the applications' state (default: .flow next to the blueprint).",
    )(command)  # fmt: skip


def applications(path: Path, state_dir: Path | None, application: str | None) -> tuple[StateDirectory, ...]:
    """Return the state of the applications in one directory, sorted by name.

    If the directory has none, the result is the state of the blueprint's application, which has not run yet.

    Arguments:
        path: a blueprint or its directory.
        state_dir: the directory; None for the one next to the blueprint.
        application: the name of the only application to return; None for all.

    Raises:
        click.UsageError: the path or the application does not exist, or the state cannot be read.
    """
    from blueprint.spelling import suggestion
    from streamlets.runner.state_directory.directory import (
        STATE_DIRECTORY,
        StateDirectory,
        applications_in,
        is_application,
    )

    blueprint = blueprint_at(path if state_dir is not None else existing_blueprint(path))
    root = state_dir if state_dir is not None else blueprint.parent / STATE_DIRECTORY
    _check_permissions(root, application)
    stored = applications_in(root)
    own = Application(blueprint, (), ()).name
    known = {*stored, own} if own and (not stored or own == application) else set(stored)
    if not known and is_application(root):
        raise click.UsageError(f"{root} is the state of one application; --state-dir takes its parent directory")
    if not known:
        raise click.UsageError(
            f"there is no blueprint {blueprint}, and {root} has no application's state; start one with `flow run`"
        )
    if application is not None and application not in known:
        hint = suggestion(application, known)
        raise click.UsageError(f"{root} has no state of the application `{application}`; {hint}")
    return tuple(StateDirectory(root, name) for name in (sorted(known) if application is None else [application]))


def _check_permissions(root: Path, application: str | None) -> None:
    """Check that the state can be read: a directory that cannot looks as if no application had run.

    Raises:
        click.UsageError: a directory cannot be read that may have the application's state.
    """
    try:
        directories = [path for path in root.iterdir() if application in (None, path.name) and path.is_dir()]
    except FileNotFoundError:
        return
    except (PermissionError, NotADirectoryError):
        directories = [root] if root.is_dir() else []
    closed = next((path for path in directories if not os.access(path, os.R_OK | os.X_OK)), None)
    if closed is not None:
        raise click.UsageError(
            f"{closed} cannot be read: permission denied. By default, only the user who runs an application can read "
            "its state. To let the directory's group read it, too, set `flow.state-access = group`"
        )


def state_directories(path: Path, state_dir: Path | None, application: str | None) -> tuple[StateDirectory, ...]:
    """Return the state of the applications of which at least one has run.

    Raises:
        click.UsageError: as `applications`, and when none has run.
    """
    from streamlets.runner.state_directory.directory import is_application

    states = applications(path, state_dir, application)
    if not any(is_application(state.directory) for state in states):
        raise click.UsageError(
            f"{states[0].application} has not run yet: {states[0].root} has no state of it; start it with `flow run`"
        )
    return states


def state_directory(path: Path, state_dir: Path | None, application: str | None) -> StateDirectory:
    """Return the state of one application; of several in a directory, of the blueprint's.

    Raises:
        click.UsageError: as `state_directories`, and when there are several others.
    """
    return only(state_directories(path, state_dir, application), path)


def own_state_directory(path: Path, state_dir: Path | None, application: str | None) -> StateDirectory:
    """Return the state of one application, for a command that changes it.

    Raises:
        click.UsageError: as `state_directory`.
        SystemExit: 1, when another user can change the state; an error has been printed.
    """
    return require_own(state_directory(path, state_dir, application))


def require_own(state: StateDirectory) -> StateDirectory:
    """Return the state of an application, which no other user can change.

    Raises:
        SystemExit: 1, when another user can; an error has been printed.
    """
    from streamlets.runner.state_directory.trust import StateError, require_own_state

    try:
        require_own_state(state.directory)
    except StateError as error:
        fail(str(error), error.help)
    return state


def own_of(states: Sequence[StateDirectory], path: Path) -> StateDirectory | None:
    """Return the state of a blueprint's application if it is among several.

    Arguments:
        states: the state of each application in a directory.
        path: a blueprint or its directory.
    """
    name = Application(blueprint_at(path), (), ()).name if len(states) > 1 else None
    return next((state for state in states if state.application == name), None)


def only(states: Sequence[StateDirectory], path: Path) -> StateDirectory:
    """Return the only state, or the state of the blueprint's application; see `own_of` for the arguments.

    Raises:
        click.UsageError: there are several others.
    """
    if (own := own_of(states, path)) is not None:
        return own
    if len(states) > 1:
        names = ", ".join(state.application for state in states)
        raise click.UsageError(f"{states[0].root} has several applications; choose one with --application: {names}")
    return states[0]


def with_running_settings(app: Application, state: StateDirectory) -> Application:
    """Return the application with the settings of its last run, unless it has settings of its own."""
    if app.conf or app.settings:
        return app
    running = application_of(*_split(state.launched()))
    return Application(app.blueprint, running.conf, running.settings)


def _split(arguments: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return positional arguments, and the files of `--conf`."""
    positional: list[str] = []
    conf: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--conf":
            conf.append(next(rest))
        else:
            positional.append(argument)
    return tuple(positional), tuple(conf)


def topics_of(state: StateDirectory, path: Path | None = None) -> tuple[TopicResource, ...]:
    """Return all topics of an application, sorted by channel and name.

    Topics on servers have the settings of the blueprint, with its secrets, if there is one at the path that is valid.

    Arguments:
        state: the state directory of the application.
        path: a blueprint or its directory; None for topics with the settings that their channels have stored.
    """
    from streamlets.runner.topics import stored_channels, stored_topics

    remote = path is not None and any(channel.topics() is None for channel in stored_channels(state).values())
    app = with_running_settings(Application(blueprint_at(path), (), ()), state) if path is not None and remote else None
    plan = app.verify().plan if app is not None and app.exists else None
    return stored_topics(state, plan.topics if plan is not None and plan.name == state.application else ())


def unreadable_topics(state: StateDirectory) -> list[str]:
    """Return a line for each channel of the last run that is not installed: its topics cannot be read."""
    from blueprint.spelling import listing
    from streamlets.runner.topics import topics_without_channel

    return [
        f"cannot read {listing(names)}: the channel `{channel}` is not installed"
        for channel, names in topics_without_channel(state).items()
    ]


def warn_of_unreadable_topics(states: Iterable[StateDirectory]) -> None:
    """Print on the standard error which topics of applications cannot be read, see `unreadable_topics`."""
    for state in states:
        for line in unreadable_topics(state):
            click.echo(f"{state.application}: {line}", err=True)


def require_channel(name: str, states: Iterable[StateDirectory]) -> None:
    """Require that the channel of a topic is installed, if it is known as a topic of the last run of an application.

    Raises:
        click.UsageError: it is not installed.
    """
    from streamlets.runner.topics import topics_without_channel

    for state in states:
        for channel, names in topics_without_channel(state).items():
            if name in names:
                raise click.UsageError(f"cannot read the topic `{name}`: the channel `{channel}` is not installed")


def named_topic(name: str, state: StateDirectory, path: Path | None = None) -> TopicResource:
    """Return the application's topic with a name, or with an id in the blueprint; see `topics_of` for the arguments.

    Raises:
        click.UsageError: it does not exist, or its channel is not installed.
    """
    from blueprint.spelling import suggestion

    topics = topics_of(state, path)
    matching = having_name(name, topics)
    if not matching:
        require_channel(name, [state])
        raise click.UsageError(f"there is no topic `{name}`; {suggestion(name, names_of(topics))}")
    return matching[0]


def having_name(name: str, topics: Iterable[TopicResource]) -> list[TopicResource]:
    """Return the topics whose name on their channel is given, or else those with that id in the blueprint."""
    known = list(topics)
    return [topic for topic in known if topic.plan.name == name] or [topic for topic in known if topic.plan.id == name]


def names_of(topics: Iterable[TopicResource]) -> list[str]:
    """Return the names and the ids of topics."""
    return sorted({name for topic in topics for name in (topic.plan.name, topic.plan.id)})
