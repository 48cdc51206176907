"""The descriptor that `--against` names: a file of `flow describe`, or the state directory of an application."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.application import existing

if TYPE_CHECKING:
    from blueprint.comparison import Described
    from blueprint.comparison.findings import Against
    from streamlets.runner.state_directory.directory import StateDirectory

CLASSES = ("safe", "new-records", "readers-first", "writers-first", "drain", "unknown", "state-loss", "breaking")
"""The classes of changes, which are the choices of `--allow`, from harmless to breaking."""


def against(path: Path, allow: str) -> Against:
    """Return the descriptor to compare with.

    Arguments:
        path: a descriptor file, the state directory of an application, or the parent directory of one or several.
        allow: the worst class of change to allow, one of `CLASSES`.

    Raises:
        click.UsageError: the path does not exist, cannot be read, or has no descriptor.
    """
    from blueprint.comparison import ChangeClass, DescriptorError, read_descriptor
    from blueprint.comparison.findings import Against
    from blueprint.hocon import shown_name

    state = _state(existing(path))
    file = state.descriptor_file if state is not None else path
    shown = shown_name(file)
    descriptor: Described | None
    try:
        if state is not None:
            from streamlets.runner.deployment import deployed

            descriptor = deployed(state)
        else:
            descriptor = read_descriptor(path.read_text(encoding="utf-8-sig"), shown)
    except DescriptorError as error:
        return Against(error.diagnostic, shown, ChangeClass(allow))
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"`{shown}` cannot be read: {read_error(error)}") from None
    if descriptor is None:
        raise click.UsageError(
            f"`{path}` has no descriptor; name a state directory that `flow run` has used, or a file of `flow describe`"
        )
    return Against(descriptor, shown, ChangeClass(allow))


def read_error(error: OSError | UnicodeDecodeError) -> str:
    """Return why a text file could not be read."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "it is not UTF-8 text"


def _state(path: Path) -> StateDirectory | None:
    """Return the state that a path names: the directory itself or the only one in it; None for a file.

    Raises:
        click.UsageError: the directory has the state of several applications.
    """
    from streamlets.runner.state_directory.directory import DESCRIPTOR, StateDirectory

    if not path.is_dir():
        return None
    applications = sorted(file.parent for file in path.glob(f"*/{DESCRIPTOR}"))
    is_state = (path / DESCRIPTOR).exists()
    if len(applications) > 1 and not is_state:
        names = ", ".join(f"`{directory}`" for directory in applications)
        raise click.UsageError(f"`{path}` has the state of several applications; name one of {names}")
    directory = applications[0] if applications and not is_state else path
    return StateDirectory(directory.absolute().parent, directory.absolute().name)
