"""The places of a project: where it is, and where it was when parts of its state were written.

A state directory records them, so that an application goes on after its project was moved, or copied with its state:
what the state calls by a path below an earlier place is the same below the present one.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from blueprint.wording import counted
from streamlets.runner.state_directory.directory import PLACES, StateDirectory, is_application
from streamlets.storage.damage import damaged
from streamlets.storage.files import write_atomically

# What Hadoop leaves as it is in the path of a URL.
_UNQUOTED = "/!$&'()*+,;=:@-._~"


@dataclass(frozen=True, slots=True)
class Places:
    """The places of a project.

    Arguments:
        project: the directory of the project now; "" if it is not known, when nothing is translated.
        former: its earlier directories.
    """

    project: str = ""
    former: tuple[str, ...] = ()

    def portable(self, text: str) -> str:
        """Return a text that may begin with a path, relative to the project if that is below the project."""
        for place in self._all():
            if text.startswith(f"{place}{os.sep}"):
                return text[len(place) + 1 :]
        return text

    def present(self, value: Any) -> Any:
        """Return a value of JSON in which paths below an earlier place are paths below the present one.

        A file that is only at the earlier place is still meant there.
        """
        match value:
            case str():
                return self._present_path(value)
            case dict():
                return {key: self.present(item) for key, item in value.items()}
            case list():
                return [self.present(item) for item in value]
        return value

    def _present_path(self, path: str) -> str:
        if not self.former or path.startswith(f"{self.project}{os.sep}"):
            return path
        relative = self.portable(path)
        present = f"{self.project}{os.sep}{relative}"
        stays = relative == path or (os.path.lexists(path) and not os.path.lexists(present))
        return path if stays else present

    def _all(self) -> Iterator[str]:
        yield from (place for place in (self.project, *self.former) if place)


@dataclass(frozen=True, slots=True)
class StatePlace:
    """Where a state directory and its project are.

    Arguments:
        id: the id of the state, which a copy shares; "" if it has none yet.
        state: the state directory.
        places: the places of the project.
    """

    id: str
    state: str
    places: Places


def read_place(state: StateDirectory) -> StatePlace | None:
    """Return the recorded place of a state directory; None if there is no record.

    A state of an earlier version has none, but the arguments of its last run name the project.

    Raises:
        DamagedFileError: the record is damaged. What was at an earlier place would not be recognized without it.
        OSError: the record cannot be read.
    """
    file = state.directory / PLACES
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        blueprint = Path(next(iter(state.launched()), ""))
        return StatePlace("", "", Places(str(blueprint.parent))) if blueprint.is_absolute() else None
    try:
        data = json.loads(content)
        return StatePlace(data["id"], data["state"], Places(data["project"], tuple(data["former"])))
    except (ValueError, KeyError, TypeError):
        remedy = "delete it: tasks that were read before an earlier move of the project are then read again"
        raise damaged("the record of where the project is", file, content, remedy) from None


def places_of(state: Path) -> Places:
    """Return the places of the project of a state directory."""
    place = read_place(StateDirectory(state.parent, state.name))
    return place.places if place is not None else Places()


def take_place(state: StateDirectory, project: Path) -> str:
    """Record where a state directory and its project are. If they were elsewhere, have the state go on here.

    To be called by the owner, before anything reads the state. A repeated call after a kill completes the first one.

    Returns:
        What people should know of the change; "" if there is nothing.

    Raises:
        DamagedFileError: the record of the last place is damaged.
        OSError: the state cannot be written.
    """
    here, before = str(state.directory.absolute()), read_place(state)
    places, known = Places(str(project.absolute())), before or StatePlace("", "", Places())
    # A link to the same directory is another path, but nothing to report.
    moved = bool(known.places.project) and not _same(known.places.project, places.project)
    elsewhere = bool(known.state) and not _same(known.state, here)
    if known.places.project:
        former = dict.fromkeys((known.places.project, *known.places.former))
        places = replace(places, former=tuple(place for place in former if place != places.project))
    rewritten = _rewrite_sources(state, places) if places.former else 0
    if before is None or (known.state, known.places) != (here, places):
        place = {"id": known.id or uuid.uuid4().hex, "state": here, "project": places.project, "former": places.former}
        write_atomically(state.directory / PLACES, json.dumps(place), durable=True)
    if not moved and not elsewhere:
        return ""
    return _notice(known, StatePlace(known.id, here, places), rewritten)


def _same(one: str, other: str) -> bool:
    try:
        return one == other or Path(one).samefile(other)
    except OSError:
        return False


def _notice(before: StatePlace, now: StatePlace, rewritten: int) -> str:
    old, new = (
        (before.places.project, now.places.project)
        if before.places.project != now.places.project
        else (before.state, now.state)
    )
    lists = f" in {counted(rewritten, 'list')} of Spark" if rewritten else ""
    text = (
        f"its state was written at {old} and is used at {new} now: keys and tasks of batch sources, and files that "
        f"file sources have read{lists}, are found below the new place; other absolute paths, such as paths of sinks "
        "and of `checkpointLocation`, are used as they are"
    )
    original = Path(before.state or before.places.project)
    if before.state and original.is_dir() and is_application(original) and _id(original) in ("", before.id):
        text += (
            f". {original} still exists, so this is a copy: do not run both if they write to the same tables, files or "
            "Kafka topics, which take the batches of both for batches of one query, so that records are lost or mixed; "
            "start the copy from scratch with `--fresh`"
        )
    return text


def _id(state: Path) -> str:
    place = read_place(StateDirectory(state.parent, state.name))
    return place.id if place is not None else ""


def _rewrite_sources(state: StateDirectory, places: Places) -> int:
    """Have the lists of files that Spark's file sources have read name the files below the present place.

    Returns:
        The number of lists that have changed.
    """
    changed = 0
    for file in state.checkpoints.glob("*/*/sources/*/*"):
        if file.name.startswith(".") or not file.is_file():
            continue
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
        lines = "\n".join(_rewritten(line, places) for line in text.split("\n"))
        if lines != text:
            # Spark would compare the checksum of the earlier content.
            (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
            write_atomically(file, lines, durable=True)
            changed += 1
    return changed


def _rewritten(line: str, places: Places) -> str:
    """Return a line of a list of files with the present path of its file."""
    try:
        entry = json.loads(line)
        scheme, _, path = str(entry["path"]).partition("://")
    except (ValueError, KeyError, TypeError):
        return line
    before = unquote(path)
    if scheme != "file" or (now := places.present(before)) == before:
        return line
    return json.dumps(entry | {"path": f"file://{quote(now, safe=_UNQUOTED)}"}, separators=(",", ":"))
