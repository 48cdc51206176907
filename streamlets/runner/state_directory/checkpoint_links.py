"""Checkpoints outside of the state directory, which has links to them: `checkpointLocation` of a query.

Everything that works on checkpoints finds them below the state directory, through the link. A file in the checkpoint
names the query that it belongs to, so that two queries, or two applications, never use the same one.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from streamlets.api.errors import StreamletError
from streamlets.ownership import NotTrustedError, require_trusted

OWNER = "streamlets-owner.json"
"""The file in a linked checkpoint that names its query."""

_METADATA = "metadata"  # the file of Spark by which a directory is a checkpoint


def link_checkpoint(directory: Path, location: Path, query: str) -> None:
    """Make a directory the checkpoint of a query, unless it is already.

    Arguments:
        directory: the place of the checkpoint in the state directory, `checkpoints/<streamlet>/<query>`.
        location: the directory outside. A checkpoint of Spark that is in it is continued.
        query: the name of the query in messages.

    Raises:
        StreamletError: the query has a checkpoint elsewhere, or the directory belongs to another query, has other
            files, or cannot be written.
    """
    try:
        _link(directory, location, query)
    except OSError as error:
        raise StreamletError(
            f"the checkpoint of `{query}` cannot be in {location}: {error.strerror or error}: correct the permissions, "
            "or choose another `checkpointLocation`"
        ) from error


def _link(directory: Path, location: Path, query: str) -> None:
    owner = {"application": str(directory.parents[2].absolute()), "query": query}
    if directory.is_symlink() and directory.readlink() == location:
        if not (location / OWNER).is_file():
            raise StreamletError(
                f"{location} does not have the checkpoint of `{query}` any more: mount or restore the directory; to "
                f"start with a new checkpoint, delete the link {directory}"
            )
        _require_own(location, query)
        _require_owner(location, owner)
        return
    if directory.is_symlink() or directory.exists():
        current = directory.readlink() if directory.is_symlink() else directory
        raise StreamletError(
            f"the checkpoint of `{query}` is in {current}, but `checkpointLocation` is {location}: to continue from "
            f"it, move it there, and remove {directory}; to start with a new checkpoint, run "
            f"`flow checkpoints reset {query}`"
        )
    location.mkdir(parents=True, exist_ok=True)
    _require_own(location, query)
    if not (location / OWNER).exists():
        if any(location.iterdir()) and not (location / _METADATA).is_file():
            raise StreamletError(
                f"the `checkpointLocation` of `{query}`, {location}, has files that are not a checkpoint: choose "
                "another directory"
            )
        with (location / OWNER).open("x", encoding="utf-8") as file:
            json.dump(owner, file)
    _require_owner(location, owner)
    directory.parent.mkdir(parents=True, exist_ok=True)
    directory.symlink_to(location, target_is_directory=True)


def delete_linked(directory: Path) -> None:
    """Delete the checkpoint that a link in the state directory refers to, but not the link.

    The checkpoint is moved away before it is deleted, so that a kill never leaves half of one.
    """
    location = directory.readlink()
    if location.is_dir():
        grave = Path(tempfile.mkdtemp(prefix=f".{location.name}-deleted-", dir=location.parent))
        location.rename(grave / location.name)
        shutil.rmtree(grave, ignore_errors=True)


def _require_own(location: Path, query: str) -> None:
    try:
        require_trusted(location)
    except NotTrustedError as error:
        raise StreamletError(
            f"the checkpoint of `{query}` cannot be in {location}: {error}: correct the owner and the mode, or choose "
            "another `checkpointLocation`"
        ) from None


def _require_owner(location: Path, owner: dict[str, str]) -> None:
    try:
        stored = json.loads((location / OWNER).read_text(encoding="utf-8"))
    except ValueError:
        stored = None
    if stored != owner:
        other = stored if isinstance(stored, dict) else {}
        raise StreamletError(
            f"the `checkpointLocation` of `{owner['query']}`, {location}, belongs to the query "
            f"`{other.get('query', '?')}` of the application in {other.get('application', '?')}: choose another "
            f"directory, or delete {location / OWNER} if that is this query, and its application was moved"
        )
