"""What `--against` names: a file that `flow describe` wrote, or the state folder of an application that has run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.application import existing

if TYPE_CHECKING:
    from blueprint.comparison import Described
    from blueprint.comparison.findings import Against
    from streamlets.runner.state_directory.directory import StateDirectory

CLASSES = ("safe", "readers-first", "writers-first", "drain", "state-loss", "breaking")


def against(path: Path, allow: str) -> Against:
    """What to compare with.

    Arguments:
        path: the file, or the folder that holds an application's state or that of several; allow: one of `CLASSES`.

    Raises:
        click.UsageError: nothing is there, it cannot be read, or no application in the folder has a descriptor.
    """
    from blueprint.comparison import ChangeClass, DescriptorError, read_descriptor
    from blueprint.comparison.findings import Against
    from blueprint.hocon import shown_name

    state = _state(existing(path))
    file = state.descriptor_file if state is not None else path
    shown = shown_name(file)
    described: Described | None
    try:
        if state is not None:
            from streamlets.runner.deployment import deployed

            described = deployed(state)
        else:
            described = read_descriptor(path.read_text(encoding="utf-8-sig"), shown)
    except DescriptorError as error:
        return Against(error.diagnostic, shown, ChangeClass(allow))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is no UTF-8 text"
        raise click.UsageError(f"`{shown}` cannot be read: {reason}") from None
    if described is None:
        raise click.UsageError(f"`{path}` holds no descriptor: a run stores one; `flow describe` writes one to a file")
    return Against(described, shown, ChangeClass(allow))


def _state(path: Path) -> StateDirectory | None:
    """The application's folder that is meant: the folder itself, or the only one in it; None for a file."""
    from streamlets.runner.state_directory.directory import DESCRIPTOR, StateDirectory

    if not path.is_dir():
        return None
    inside = sorted(one.parent for one in path.glob(f"*/{DESCRIPTOR}"))
    own = (path / DESCRIPTOR).exists()
    if len(inside) > 1 and not own:
        names = ", ".join(f"`{one}`" for one in inside)
        raise click.UsageError(f"`{path}` holds several applications: name the folder of one, such as {names}")
    folder = inside[0] if inside and not own else path
    return StateDirectory(folder.absolute().parent, folder.absolute().name)
